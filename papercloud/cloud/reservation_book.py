"""Which reservations and Capacity Blocks the account has, and what state time puts them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muster.catalog import load_catalog
from muster.catalog.quotas import load_quotas
from papercloud.cloud.live import live_instances
from papercloud.cloud.scenario import Reservation as Given
from papercloud.cloud.world import World


@dataclass(kw_only=True, slots=True)
class Reservation:
    """Places for instances of one type in one zone."""

    id: str
    type: str
    zone: str
    count: int
    begins: datetime
    made: datetime
    ends: datetime | None = None
    block: bool = False
    match: str = "open"
    platform: str = "Linux/UNIX"
    tenancy: str = "default"
    ebs_optimized: bool = False
    placement_group: str | None = None
    cancelled: bool = False

    def state(self, now: datetime) -> str:
        """Return AWS' word for its state at a time."""
        if self.cancelled:
            return "cancelled"
        if self.ends is not None and now >= self.ends:
            return "expired"
        if now < self.begins:
            return "scheduled" if self.block else "pending"
        return "active"

    @property
    def usable_until(self) -> datetime | None:
        """When EC2 begins to end the instances of a Capacity Block; None for other kinds."""
        if not self.block or self.ends is None:
            return None
        limits = load_quotas().block
        found = load_catalog().types.get(self.type)
        is_domain = found is not None and found.domain_sizes is not None
        minutes = (
            limits.ultraserver_ended_minutes_before if is_domain else limits.ended_minutes_before
        )
        return self.ends - timedelta(minutes=minutes)


@dataclass
class _Book:
    reservations: dict[str, Reservation] = field(default_factory=dict)
    given: dict[str, Given] = field(default_factory=dict)


def reservations(world: World) -> dict[str, Reservation]:
    """Return all reservations by id; first, those that the scenario brings are written down."""
    book = world.state(_Book)
    for row in world.scenario.reservations:
        if book.given.get(row.id) != row:
            book.given[row.id] = row
            book.reservations[row.id] = _given(row, world)
    return book.reservations


def held_instances(world: World, reservation_id: str) -> list[str]:
    """Return the ids of the live instances that sit in a reservation."""
    return [
        instance.id
        for instance in live_instances(world)
        if getattr(instance, "capacity_reservation_id", None) == reservation_id
    ]


def free_in(world: World, reservation: Reservation) -> int:
    """Return how many more instances can be launched into a reservation now."""
    if reservation.state(world.now()) != "active":
        return 0
    until = reservation.usable_until
    if until is not None and world.now() >= until:
        return 0
    return max(0, reservation.count - len(held_instances(world, reservation.id)))


def open_for(world: World, instance_type: str, zone: str) -> Iterator[Reservation]:
    """Find the open reservations with room for an instance that names none."""
    for found in reservations(world).values():
        fits = found.type == instance_type and found.zone == zone and found.match == "open"
        if fits and not found.block and free_in(world, found):
            yield found


def _given(row: Given, world: World) -> Reservation:
    start = world.scenario_set + timedelta(seconds=row.starts_in_s)
    ends = None if row.ends_in_s is None else timedelta(seconds=row.ends_in_s)
    return Reservation(
        id=row.id,
        type=row.type,
        zone=row.zone,
        count=row.count,
        begins=start,
        made=min(start, world.scenario_set),
        ends=None if ends is None else world.scenario_set + ends,
        block=row.block,
        match=row.match,
    )
