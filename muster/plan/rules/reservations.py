"""Rules on reservations, resource groups and Capacity Blocks."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from muster.catalog import InstanceType
from muster.catalog.quotas import load_quotas
from muster.plan.aws.model import PoolPlan
from muster.plan.cloud_view import Reservation, Unread, look_up
from muster.plan.rules.model import Rule, Said, View, failed, passed, untold

_Place = tuple[int, PoolPlan]
"""A pool and its number in the spec."""

_KEYS = {"reservation": "reservation", "resourceGroup": "resourceGroup", "block": "block"}
_SHOWN = (
    "State,InstanceType,AvailabilityZoneId,AvailableInstanceCount,StartDate,EndDate,"
    "PlacementGroupArn"
)


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
        path = _path(places[0])
        ways = sorted({pool.capacity.buying for _, pool in places})
        types = sorted({pool.type.name for _, pool in places})
        if len(ways) > 1:
            what = f"{held_id} is named as {' and as '.join(ways)} by pools {_names(places)}"
            yield failed(what, path, "Name it one way in all pools.")
        elif len(types) > 1 and ways != ["resourceGroup"]:
            what = f"{held_id} holds one type, but pools {_names(places)} are {', '.join(types)}"
            yield failed(what, path, "Name one reservation for each type.")
        else:
            yield _usable(view, held_id, places)


def _usable(view: View, held_id: str, places: list[_Place]) -> Said:
    path, zone = _path(places[0]), view.plan.network.zone_id
    types = sorted({pool.type.name for _, pool in places})
    found = _members(view, held_id)
    if isinstance(found, Unread):
        what = f"whether {held_id} is active, of {', '.join(types)} and in {zone} is not known"
        do = "It must be active, of that type and zone, and in no other placement group"
        return untold(what, path, f"{do}: {_look_at(held_id)}", found)
    if not found:
        what = f"{held_id} does not exist in {view.cloud.region}, or holds no reservation"
        do = "Correct the id or the region, or have it shared with this account."
        return failed(what, path, do)
    block = places[0][1].capacity.buying == "block"
    for name in types:
        wrong = [_wrong(view, one, name, block=block) for one in found.values()]
        if all(wrong):
            first = next(iter(found)) if len(found) == 1 else held_id
            return failed(f"{first} {wrong[0]}", path, f"Look: {_look_at(held_id)}")
    return passed(f"{held_id} is active, of {', '.join(types)} and in {zone}", path)


def _members(view: View, held_id: str) -> dict[str, Reservation] | Unread:
    """Return the reservations behind an id; none where it does not exist."""
    names: tuple[str, ...] = (held_id,)
    if held_id.startswith("arn:"):
        group = look_up(view.cloud.groups, held_id)
        if isinstance(group, Unread):
            return group
        names = group or ()
    found: dict[str, Reservation] = {}
    for name in names:
        one = look_up(view.cloud.reservations, name)
        if isinstance(one, Unread):
            return one
        if one is not None:
            found[name] = one
    return found


def _wrong(view: View, found: Reservation, type_name: str, *, block: bool) -> str:
    """Say what keeps nodes of a type out of a reservation; empty for nothing."""
    zone = view.plan.network.zone_id
    if found.type != type_name:
        return f"is of {found.type}, not {type_name}"
    if found.zone_id != zone:
        return f"is in {found.zone_id}, not {zone}"
    if found.block != block:
        return "is a Capacity Block: name it as block" if found.block else "is no Capacity Block"
    if found.tenancy != "default":
        return f"is of {found.tenancy} tenancy; nodes are of the default one"
    if found.state == "active" and not (found.starts and found.starts > view.now):
        return ""
    begins = f", begins {_time(found.starts)}" if found.starts else ""
    return f"is {found.state}{begins}; nodes can start once it is active"


def _group_agrees(view: View) -> Iterator[Said]:
    """A reservation in a placement group takes only nodes of that group."""
    for held_id, places in _held(view).items():
        found = _members(view, held_id)
        if isinstance(found, Unread):
            continue  # the rule on its use says why
        for name, one in found.items():
            yield from _agrees(name, one, places)


def _agrees(name: str, found: Reservation, places: list[_Place]) -> Iterator[Said]:
    path = f"pools[{places[0][0]}].placement"
    if not found.placement_group:
        yield _ungrouped(name, places, path)
        return
    group = found.placement_group.rpartition("/")[2]
    what = f"{name} is in placement group {group}"
    do = "Make the reservation without a group, or name one that is in none."
    if found.own_group is None:
        why = Unread("whose it is was not read")
        yield untold(what, path, f"It must be this stack's own. {do}", why)
    elif found.own_group:
        yield passed(f"{what} of this stack", path)
    else:
        yield failed(f"{what}; nodes of other groups, or of none, do not start in it", path, do)


def _ungrouped(name: str, places: list[_Place], path: str) -> Said:
    kinds = {pool.placement for _, pool in places}
    if kinds & {"spread", "partition"}:
        what = f"{name} holds nothing for spread or partition placement groups"
        return failed(what, path, "Use cluster, or buy these nodes on demand.")
    if "cluster" in kinds and not any(pool.capacity.buying == "block" for _, pool in places):
        what = f"{name} is in no placement group, the pool's nodes are: the two may not meet"
        do = "If nodes do not start though some are free, ask AWS for a reservation in one place."
        return failed(what, path, do, severity="warning")
    return passed(f"{name} is in no placement group, nor are its nodes", path)


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
            yield _holds(view, held_id, places, what)


def _holds(view: View, held_id: str, places: list[_Place], what: str) -> Said:
    """Each type needs room of its own: in a resource group, reservations are of several."""
    path, found = _path(places[0]), _members(view, held_id)
    room = found if isinstance(found, Unread) else _room(view, found)
    if isinstance(room, Unread):
        nodes = sum(pool.size for _, pool in places)
        do = f"{nodes} must be available, less those that this stack already runs in it"
        what = f"{what}; how many are free is not known"
        return untold(what, path, f"{do}: {_look_at(held_id)}", room)
    for name in sorted({pool.type.name for _, pool in places}):
        wanted = sum(pool.size for _, pool in places if pool.type.name == name)
        free, own = room.get(name, (0, 0))
        if wanted > free + own:
            what = f"{what}; of {name} {free} are free and {own} run already, {wanted} are wanted"
            do = "Enlarge the reservation, or ask for fewer nodes and spares."
            return failed(what, path, f"{do} Look: {_look_at(held_id)}")
    return passed(f"{what}, which has room", path)


def _room(view: View, found: Mapping[str, Reservation]) -> dict[str, tuple[int, int]] | Unread:
    """Return, by type, how many are free and how many nodes of this stack run already."""
    room: dict[str, tuple[int, int]] = {}
    for name, one in found.items():
        own = view.cloud.own_nodes(name)
        if isinstance(own, Unread):
            return own
        free, before = room.get(one.type, (0, 0))
        in_zone = one.zone_id == view.plan.network.zone_id and one.state == "active"
        room[one.type] = (free + (one.available if in_zone else 0), before + own)
    return room


def _block_has_time(view: View) -> Iterator[Said]:
    for place in enumerate(view.plan.pools):
        number, pool = place
        if pool.capacity.buying != "block":
            continue
        if pool.spares:
            what = f"{pool.spares} spares in a Capacity Block, whose size is fixed and paid"
            yield failed(what, f"pools[{number}].spares", "Remove spares, or lower count by them.")
        yield _time_left(place, view)


def _time_left(place: _Place, view: View) -> Said:
    number, pool = place
    path, said = f"pools[{number}].capacity.ends", pool.capacity.ends
    found = look_up(view.cloud.reservations, pool.capacity.id)
    really = found.ends if isinstance(found, Reservation) else None
    if said and really and said != really:
        what = f"{pool.capacity.id} ends {_time(really)}, not {_time(said)}"
        return failed(what, path, f"Set ends to {really:%Y-%m-%dT%H:%MZ}.")
    ends = really or said
    if ends is None:
        do = f"Set ends to its EndDate: {_look_at(pool.capacity.id)}"
        why = found if isinstance(found, Unread) else Unread("the block is not there to ask")
        return untold(f"when {pool.capacity.id} ends is not said", path, do, why)
    return _judge_end(pool, ends, view.now, path)


def _judge_end(pool: PoolPlan, ends: datetime, now: datetime, path: str) -> Said:
    limits, margin = load_quotas().block, load_quotas().block_time_left
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


RULES: tuple[Rule, ...] = (
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
        id="placement-agrees",
        title="A reservation in a placement group is in that of its pool",
        source="EC2 user guide, capacity reservations in cluster placement groups",
        ask=_group_agrees,
    ),
)
