"""What a stack's reservations and Capacity Blocks hold, and what lies idle. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muster.catalog import Catalog
from muster.findings import Outcome
from muster.plan.price import UnitPrice, instance_price
from muster.spec import ClusterSpec

_LIVE = {"active": Outcome.PASS, "scheduled": Outcome.PASS, "pending": Outcome.PASS}
_GONE = {"expired", "cancelled", "failed", "payment-failed", "unsupported", "unavailable"}


@dataclass(frozen=True, slots=True)
class Named:
    """A reservation, block or group that a pool of the spec names."""

    pool: str
    kind: str
    """reservation, block or resourceGroup, as the spec calls it."""
    id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """One reservation or block of a pool; None is unknown."""

    pool: str
    id: str
    state: str
    outcome: Outcome
    type: str = ""
    zone_id: str = ""
    block: bool = False
    total: int | None = None
    free: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    idle_usd_per_hour: float | None = None
    """Price of what is free and billed by the hour; a block was paid before, so 0."""
    note: str = ""

    @property
    def used(self) -> int | None:
        """Instances that run in it."""
        return None if self.total is None or self.free is None else self.total - self.free


def named_in(spec: ClusterSpec) -> Iterator[Named]:
    """Yield what the pools name."""
    for pool in spec.pools:
        if pool.capacity is None:
            continue
        ways = {
            "reservation": pool.capacity.reservation,
            "block": pool.capacity.block,
            "resourceGroup": pool.capacity.resource_group,
        }
        yield from (Named(pool.name, kind, value) for kind, value in ways.items() if value)


def not_read(named: Named, why: str) -> Holding:
    """Return what could not be looked at."""
    return Holding(pool=named.pool, id=named.id, state="unknown", outcome=Outcome.UNKNOWN, note=why)


def not_there(named: Named) -> Holding:
    """Return what the account does not have."""
    note = "this account has none of that id in this region"
    return Holding(pool=named.pool, id=named.id, state="not found", outcome=Outcome.FAIL, note=note)


def holding(named: Named, row: Mapping[str, Any], catalog: Catalog) -> Holding:
    """Read one answer of DescribeCapacityReservations."""
    state = str(row.get("State", "unknown"))
    block = row.get("ReservationType") == "capacity-block"
    kind, zone = str(row.get("InstanceType", "")), str(row.get("AvailabilityZoneId", ""))
    free = _count(row.get("AvailableInstanceCount"))
    billed = not block and state == "active"
    price = _price(catalog, kind, zone) if billed else None
    each = price.usd_per_hour if price else None if billed else 0.0
    return Holding(
        pool=named.pool,
        id=str(row.get("CapacityReservationId", named.id)),
        state=state,
        outcome=Outcome.FAIL if state in _GONE else _LIVE.get(state, Outcome.UNKNOWN),
        type=kind,
        zone_id=zone,
        block=block,
        total=_count(row.get("TotalInstanceCount")),
        free=free,
        start=_time(row.get("StartDate")),
        end=_time(row.get("EndDate")),
        idle_usd_per_hour=None if each is None or free is None else each * free,
        note="paid up front" if block else price.note if price else "",
    )


def _price(catalog: Catalog, kind: str, zone: str) -> UnitPrice | None:
    found = catalog.types.get(kind)
    return instance_price(catalog, found, "on_demand_usd_per_hour", zone) if found else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _time(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) else None
