"""How many more instances the simulated cloud has room for, and how many the account may run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.catalog.quotas import VcpuQuota, load_quotas
from papercloud.cloud.live import live_instances
from papercloud.cloud.reservation_book import reservations
from papercloud.cloud.types import row_for, vcpus
from papercloud.cloud.world import World

_PLENTY = 1_000_000
_CLASS = re.compile(r"[a-z]+")


def free_places(world: World, instance_type: str, zone: str) -> int:
    """Return the places that are left outside of all reservations.

    On-demand reservations hold theirs, used or not; Capacity Blocks have capacity of their own.
    """
    limit = row_for(world.scenario.capacity, instance_type, zone)
    if limit is None:
        return _PLENTY
    taken: int = sum(
        instance.instance_type == instance_type
        and instance.availability_zone == zone
        and not getattr(instance, "capacity_reservation_id", None)
        for instance in live_instances(world)
    )
    for found in reservations(world).values():
        same = found.type == instance_type and found.zone == zone and not found.block
        if same and found.state(world.now()) in {"active", "pending"}:
            taken += found.count
    return max(0, int(limit) - taken)


def quota_value(world: World, code: str) -> float:
    """Return what the account was granted."""
    return world.scenario.quotas.get(code, world.scenario.quota_otherwise)


def quota_of(instance_type: str, market: str) -> VcpuQuota | None:
    """Return the quota that counts a launch; None for a market that none counts."""
    buying = {"": "onDemand", "spot": "spot"}.get(market)
    letters = _CLASS.match(instance_type)
    for quota in load_quotas().vcpus:
        if quota.buying == buying and letters and letters.group() in quota.classes:
            return quota
    return None


def allowed_by_quota(world: World, instance_type: str, market: str) -> int:
    """Return how many more instances of a type the quota for vCPUs lets run."""
    quota = quota_of(instance_type, market)
    size = vcpus(instance_type)
    if quota is None or not size:
        return _PLENTY
    used = sum(vcpus(kind) for kind, bought in _running(world) if quota_of(kind, bought) == quota)
    return max(0, int(quota_value(world, quota.code) - used) // size)


def _running(world: World) -> Iterator[tuple[str, str]]:
    for instance in live_instances(world):
        yield instance.instance_type, instance.lifecycle or ""
