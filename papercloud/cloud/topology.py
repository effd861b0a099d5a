"""DescribeInstanceTopology: where running instances sit in the simulated network."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

from muster.catalog import load_catalog
from papercloud.cloud.boots import boot_of
from papercloud.cloud.calls import Call, handles
from papercloud.cloud.reservation_book import reservations
from papercloud.cloud.types import zone_ids
from papercloud.cloud.world import World

# Types that the API answers for (EC2 user guide, "Amazon EC2 topology", prerequisites).
_SUPPORTED = ("g6e.*", "g7e.*", "hpc*", "p3dn.*", "p4d*", "p5*", "p6*", "trn*", "paper.*")
_FOUR_LEVELS = ("p6-b200.*", "p6-b300.*")
_LEAF = 4
"""Instances under one switch: small, so that few instances already span several."""
_PAGE = 100


@dataclass
class _Places:
    """The seat of each instance in its placement group, or in its zone."""

    seats: dict[str, tuple[str, int]] = field(default_factory=dict)


@handles("ec2", "DescribeInstanceTopology")
def _describe(call: Call) -> dict[str, Any]:
    named = call.get("InstanceIds") or ()
    if named and call.get("MaxResults"):
        what = "The parameter MaxResults cannot be used with the parameter InstanceIds"
        raise call.refuse("InvalidParameterCombination", what)
    for instance_id in named:
        call.backend.get_instance(instance_id)  # raises InvalidInstanceID.NotFound
    found = [_row(call.world, one) for one in call.backend.all_instances() if _shown(call, one)]
    start, size = int(call.get("NextToken") or 0), int(call.get("MaxResults") or _PAGE)
    more = {"NextToken": str(start + size)} if len(found) > start + size else {}
    return {"Instances": found[start : start + size], **more}


def _shown(call: Call, instance: Any) -> bool:
    named, groups = call.get("InstanceIds") or (), call.get("GroupNames") or ()
    boot = boot_of(call.world, instance.id)
    lag = timedelta(seconds=call.world.scenario.topology_visible_after)
    late = boot is None or boot.running_at is None or call.world.now() < boot.running_at + lag
    values = {
        "instance-type": instance.instance_type,
        "availability-zone": instance.availability_zone,
        "zone-id": zone_ids().get(instance.availability_zone, ""),
    }
    return (
        instance.state == "running"
        and not late
        and any(fnmatchcase(instance.instance_type, pattern) for pattern in _SUPPORTED)
        and (not named or instance.id in named)
        and (not groups or instance.placement.group_name in groups)
        and all(
            any(fnmatchcase(values[name], pattern) for pattern in patterns)
            for name, patterns in call.filters().items()
            if name in values
        )
    )


def _row(world: World, instance: Any) -> dict[str, Any]:
    group = instance.placement.group_name
    domain = _domain(world, instance)
    return {
        "InstanceId": instance.id,
        "InstanceType": instance.instance_type,
        "AvailabilityZone": instance.availability_zone,
        "ZoneId": zone_ids()[instance.availability_zone],
        "NetworkNodes": _network_nodes(world, instance),
        **({"GroupName": group} if group else {}),
        **({"CapacityBlockId": domain} if domain else {}),
    }


def _network_nodes(world: World, instance: Any) -> list[str]:
    """Return the switches above an instance, the top first."""
    boot = boot_of(world, instance.id)
    if boot and boot.network_nodes:
        return list(boot.network_nodes)
    where, seat = _seat(world, instance)
    levels = 4 if any(fnmatchcase(instance.instance_type, kind) for kind in _FOUR_LEVELS) else 3
    steps = [seat // _LEAF ** (levels - level) for level in range(levels)]
    return [_node(f"{where}/{level}/{step}") for level, step in enumerate(steps)]


def _seat(world: World, instance: Any) -> tuple[str, int]:
    """Return the seat of an instance; a new one takes the first that no running one has."""
    seats = world.state(_Places).seats
    if instance.id not in seats:
        where = instance.placement.group_name or str(instance.availability_zone)
        running = {one.id for one in world.backend("ec2").all_instances() if one.state == "running"}
        taken = {seat for one, (place, seat) in seats.items() if place == where and one in running}
        seats[instance.id] = (where, next(n for n in range(len(taken) + 1) if n not in taken))
    return seats[instance.id]


def _domain(world: World, instance: Any) -> str:
    """Return the id of the UltraServer, for types that are sold as such."""
    found = load_catalog().types.get(instance.instance_type)
    if found is None or not found.domain_sizes:
        return ""
    reservation = getattr(instance, "capacity_reservation_id", None) or ""
    size = min(found.domain_sizes)
    if reservation in reservations(world):
        count = reservations(world)[reservation].count
        size = max((one for one in found.domain_sizes if one <= count), default=size)
    _where, seat = _seat(world, instance)
    return f"cb-{_digest(f'{reservation}/{seat // size}')}"


def _node(text: str) -> str:
    return f"nn-{_digest(text)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:17]
