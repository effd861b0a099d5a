"""Rules on what is bought: types in the zone, how they are sold, whole domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muster.catalog import InstanceType
from muster.plan.aws.model import Buying
from muster.plan.cloud_view import Unread
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown, untold

_SOLD_AS = {
    "onDemand": "onDemand",
    "spot": "spot",
    "reservation": "onDemand",
    "resourceGroup": "onDemand",
    "block": "capacityBlock",
}
_USAGE = {"onDemand": "on-demand", "spot": "spot", "capacityBlock": "capacity-block"}
"""EC2's words for how a type is sold."""


def _zone_offers_types(view: View) -> Iterator[Said]:
    types = {pool.type.name for pool in view.plan.pools}
    if view.plan.head:
        types.add(view.plan.head.type.name)
    if not types:
        return
    zone, names = view.plan.network.zone_id, ",".join(sorted(types))
    offers = view.cloud.offers
    if not isinstance(offers, Unread):
        yield _offered(zone, sorted(types), offers)
        return
    what = f"whether {zone} offers {names.replace(',', ', ')} is known only to the cloud"
    filters = f"Name=location,Values={zone} Name=instance-type,Values={names}"
    command = (
        "aws ec2 describe-instance-type-offerings --location-type availability-zone-id "
        f"--filters {filters} --query 'InstanceTypeOfferings[].InstanceType'"
    )
    do = f"In the zone's region, all must be listed: {command}"
    yield untold(what, "network.zoneId", do, offers)


def _offered(zone: str, types: list[str], offers: Mapping[str, frozenset[str]]) -> Said:
    zones = [offers.get(name, frozenset()) for name in types]
    missing = [name for name, found in zip(types, zones, strict=True) if zone not in found]
    if not missing:
        return passed(f"{zone} offers {', '.join(types)}", "network.zoneId")
    good = sorted(frozenset.intersection(*zones))
    do = f"Zones with all types: {', '.join(good)}." if good else "No zone of the region has all."
    what = f"{zone} does not offer {', '.join(missing)}"
    return failed(what, "network.zoneId", do)


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
        path = f"pools[{number}].capacity"
        yield _sold(pool.type, pool.capacity.buying, path, _ways(view, pool.type))
    if view.plan.head:
        found = view.plan.head.type
        yield _sold(found, "onDemand", "head.type", _ways(view, found))


def _ways(view: View, found: InstanceType) -> list[str] | None:
    """How a type is sold: what the cloud says today, else the catalog; None where neither does."""
    types = view.cloud.types
    if not isinstance(types, Unread) and found.name in types:
        usage = types[found.name].usage
        return [way for way, name in _USAGE.items() if name in usage]
    return None if found.purchase is None else list(found.purchase)


def _sold(found: InstanceType, buying: Buying, path: str, ways: list[str] | None) -> Said:
    what = f"{found.name} bought as {buying}"
    if ways is None:
        do = f"aws ec2 describe-instance-types --instance-types {found.name} --query"
        query = "'InstanceTypes[].SupportedUsageClasses'"
        return unknown(f"{what}: no source says how it is sold", path, f"Ask: {do} {query}")
    if _SOLD_AS[buying] not in ways:
        offers = ", ".join(ways) or "nothing"
        return failed(f"{what}; it is sold as {offers}", path, f"Buy it as {offers}.")
    return passed(what, path)


RULES: tuple[Rule, ...] = (
    Rule(
        id="zone-offers-types",
        title="The zone offers every instance type of the stack",
        source="EC2 DescribeInstanceTypeOfferings",
        ask=_zone_offers_types,
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
)
