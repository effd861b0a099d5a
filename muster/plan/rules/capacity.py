"""Rules on what is bought: types in the zone, reservations, Capacity Blocks and quotas."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.catalog import InstanceType
from muster.catalog.quotas import VcpuQuota, load_quotas
from muster.plan.aws.model import Buying, PoolPlan
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown

_Place = tuple[int, PoolPlan]
"""A pool and its number in the spec."""

_SOLD_AS = {
    "onDemand": "onDemand",
    "spot": "spot",
    "reservation": "onDemand",
    "resourceGroup": "onDemand",
    "block": "capacityBlock",
}
_KEYS = {"reservation": "reservation", "resourceGroup": "resourceGroup", "block": "block"}
_SHOWN = (
    "State,InstanceType,AvailabilityZoneId,AvailableInstanceCount,StartDate,EndDate,"
    "PlacementGroupArn"
)


def _zone_offers_types(view: View) -> Iterator[Said]:
    types = {pool.type.name for pool in view.plan.pools}
    if view.plan.head:
        types.add(view.plan.head.type.name)
    if not types:
        return
    zone, names = view.plan.network.zone_id, ",".join(sorted(types))
    what = f"whether {zone} offers {names.replace(',', ', ')} is known only to the cloud"
    filters = f"Name=location,Values={zone} Name=instance-type,Values={names}"
    command = (
        "aws ec2 describe-instance-type-offerings --location-type availability-zone-id "
        f"--filters {filters} --query 'InstanceTypeOfferings[].InstanceType'"
    )
    yield unknown(what, "network.zoneId", f"In the zone's region, all must be listed: {command}")


def _held(view: View) -> Mapping[str, list[_Place]]:
    """Pools by the reservation, block or group that they name."""
    found: dict[str, list[_Place]] = defaultdict(list)
    for place in enumerate(view.plan.pools):
        if place[1].capacity.id:
            found[place[1].capacity.id].append(place)
    return found


def _path(place: _Place) -> str:
    number, pool = place
    return f"pools[{number}].capacity.{_KEYS[pool.capacity.buying]}"


def _names(places: list[_Place]) -> str:
    return ", ".join(pool.name for _, pool in places)


def _look_at(held_id: str) -> str:
    """The command that shows what stands behind an id."""
    if held_id.startswith("arn:"):
        return f"aws resource-groups list-group-resources --group {shlex.quote(held_id)}"
    query = f"--query 'CapacityReservations[].[{_SHOWN}]'"
    return f"aws ec2 describe-capacity-reservations --capacity-reservation-ids {held_id} {query}"


def _reservation_is_usable(view: View) -> Iterator[Said]:
    for held_id, places in _held(view).items():
        path, zone = _path(places[0]), view.plan.network.zone_id
        ways = sorted({pool.capacity.buying for _, pool in places})
        types = sorted({pool.type.name for _, pool in places})
        if len(ways) > 1:
            what = f"{held_id} is named as {' and as '.join(ways)} by pools {_names(places)}"
            yield failed(what, path, "Name it one way in all pools.")
        elif len(types) > 1 and ways != ["resourceGroup"]:
            what = f"{held_id} holds one type, but pools {_names(places)} are {', '.join(types)}"
            yield failed(what, path, "Name one reservation for each type.")
        else:
            what = f"whether {held_id} is active, of {', '.join(types)} and in {zone} is not known"
            do = "It must be active, of that type and zone, and in no other placement group"
            yield unknown(what, path, f"{do}: {_look_at(held_id)}")


def _reservation_holds_pools(view: View) -> Iterator[Said]:
    most = load_quotas().block.instances_max
    for held_id, places in _held(view).items():
        nodes = sum(pool.size for _, pool in places)
        what = f"{nodes} nodes of {_names(places)} are to run in {held_id}"
        path = _path(places[0])
        if places[0][1].capacity.buying == "block" and nodes > most:
            do = f"Split the nodes over pools with a block each, of at most {most}."
            yield failed(f"{what}; a Capacity Block has at most {most}", path, do)
        else:
            do = f"{nodes} must be available, less those that this stack already runs in it"
            yield unknown(
                f"{what}; how many are free is not known", path, f"{do}: {_look_at(held_id)}"
            )


def _block_has_time(view: View) -> Iterator[Said]:
    for place in enumerate(view.plan.pools):
        number, pool = place
        if pool.capacity.buying != "block":
            continue
        if pool.spares:
            what = f"{pool.spares} spares in a Capacity Block, whose size is fixed and paid"
            yield failed(what, f"pools[{number}].spares", "Remove spares, or lower count by them.")
        yield _time_left(place, view.now)


def _time_left(place: _Place, now: datetime) -> Said:
    number, pool = place
    path = f"pools[{number}].capacity.ends"
    if pool.capacity.ends is None:
        do = f"Set ends to its EndDate: {_look_at(pool.capacity.id)}"
        return unknown(f"when {pool.capacity.id} ends is not said", path, do)
    limits, margin = load_quotas().block, load_quotas().block_time_left
    ends = pool.capacity.ends
    usable = ends - _early(pool.type)
    left = usable - now
    latest = now + timedelta(days=limits.days_ahead_max + limits.days_max)
    what = f"{pool.capacity.id} ends {_time(ends)} and is usable until {_time(usable)}"
    extend = "Extend the block, or buy another."
    if left <= timedelta(0):
        return failed(f"{what}, which is past", path, extend)
    if left < timedelta(hours=margin.hours_min):
        return failed(f"{what}, in less than {margin.hours_min} h", path, extend)
    if ends > latest:
        what = f"{what}; no block sold today ends after {_time(latest)}"
        return failed(what, path, f"Correct ends: {_look_at(pool.capacity.id)}")
    if left < timedelta(hours=margin.hours_wanted):
        what = f"{what}, in less than {margin.hours_wanted} h"
        return failed(what, path, extend, severity="warning")
    return passed(what, path)


def _early(found: InstanceType) -> timedelta:
    """How long before the end EC2 warns that it ends the instances; nothing should start then."""
    limits = load_quotas().block
    whole = found.domain_sizes is not None
    ended = limits.ultraserver_ended_minutes_before if whole else limits.ended_minutes_before
    return timedelta(minutes=ended + limits.warned_minutes_before_that)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _domains_are_whole(view: View) -> Iterator[Said]:
    for number, pool in enumerate(view.plan.pools):
        sizes = pool.type.domain_sizes
        if sizes is None:
            continue
        path, shown = f"pools[{number}].count", " or ".join(map(str, sizes))
        what = f"{pool.size} nodes of {pool.type.name}, sold as UltraServers of {shown}"
        if any(pool.size % size == 0 for size in sizes):
            yield passed(what, path)
        else:
            yield failed(what, path, f"Set count to a multiple of {min(sizes)}.")


def _sold_this_way(view: View) -> Iterator[Said]:
    for number, pool in enumerate(view.plan.pools):
        yield _sold(pool.type, pool.capacity.buying, f"pools[{number}].capacity")
    if view.plan.head:
        yield _sold(view.plan.head.type, "onDemand", "head.type")


def _sold(found: InstanceType, buying: Buying, path: str) -> Said:
    what = f"{found.name} bought as {buying}"
    if found.purchase is None:
        do = f"aws ec2 describe-instance-types --instance-types {found.name} --query"
        query = "'InstanceTypes[].SupportedUsageClasses'"
        return unknown(f"{what}: no source says how it is sold", path, f"Ask: {do} {query}")
    if _SOLD_AS[buying] not in found.purchase:
        offers = ", ".join(found.purchase)
        return failed(f"{what}; it is sold as {offers}", path, f"Buy it as {offers}.")
    return passed(what, path)


@dataclass(slots=True)
class _Need:
    """vCPUs that one quota counts, or may count."""

    free: int = 0
    reserved: int = 0
    block: int = 0

    def add(self, vcpus: int, buying: Buying) -> None:
        if buying == "block":
            self.block += vcpus
        elif buying in {"reservation", "resourceGroup"}:
            self.reserved += vcpus
        else:
            self.free += vcpus

    def __str__(self) -> str:
        parts = [f"{self.free + self.reserved} vCPUs"]
        if self.reserved:
            parts.append(f"{self.reserved} of them in reservations, which may count already")
        if self.block:
            parts.append(f"{self.block} more if Capacity Blocks count, which is not confirmed")
        return ", ".join(parts)


def _vcpu_quotas(view: View) -> Iterator[Said]:
    needs: dict[VcpuQuota, _Need] = defaultdict(_Need)
    unlisted: dict[tuple[str, str], _Need] = defaultdict(_Need)
    for found, nodes, buying in _instances(view):
        market = "spot" if buying == "spot" else "onDemand"
        quota = load_quotas().vcpu_quota(found.name, market)
        need = needs[quota] if quota else unlisted[found.name, market]
        need.add(nodes * found.vcpus, buying)
    path = "pools" if view.plan.pools else "head"
    for quota, need in needs.items():
        note = f" {quota.note}" if quota.note else ""
        do = f"The quota must be that much above what runs already: {quota.command}"
        yield unknown(f"{quota.name}: {need}.{note}", path, do)
    for (name, market), need in unlisted.items():
        what = f"{name}, {market}: {need}; no source says which quota counts them"
        yield unknown(what, path, "Look: aws service-quotas list-service-quotas --service-code ec2")


def _instances(view: View) -> Iterator[tuple[InstanceType, int, Buying]]:
    for pool in view.plan.pools:
        yield pool.type, pool.size, pool.capacity.buying
    if view.plan.head:
        yield view.plan.head.type, 1, "onDemand"


RULES: tuple[Rule, ...] = (
    Rule(
        id="zone-offers-types",
        title="The zone offers every instance type of the stack",
        source="EC2 DescribeInstanceTypeOfferings",
        ask=_zone_offers_types,
    ),
    Rule(
        id="reservation-usable",
        title="Each reservation is active, and of the pool's type and zone",
        source="EC2 DescribeCapacityReservations",
        ask=_reservation_is_usable,
    ),
    Rule(
        id="reservation-size",
        title="Each reservation has room for all pools that name it",
        source="EC2 user guide, Capacity Blocks for ML",
        ask=_reservation_holds_pools,
    ),
    Rule(
        id="block-time",
        title="A Capacity Block has no spares and time left",
        source="EC2 user guide, Capacity Blocks for ML",
        ask=_block_has_time,
    ),
    Rule(
        id="whole-domains",
        title="UltraServers are taken whole",
        source="EC2 Capacity Blocks, price page",
        ask=_domains_are_whole,
    ),
    Rule(
        id="sold-this-way",
        title="Each type is sold the way it is bought",
        source="EC2 DescribeInstanceTypes",
        ask=_sold_this_way,
    ),
    Rule(
        id="vcpu-quotas",
        title="The account's quotas hold the vCPUs of all pools and the head",
        source="Service Quotas, EC2",
        ask=_vcpu_quotas,
    ),
)
