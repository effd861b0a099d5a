"""Which limit of the catalog holds for a type of node? Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muster.catalog.limits import Limit
from muster.catalog.model import Catalog, InstanceType

_BASE_UNITS = {"GFLOP/s": 1e9, "GB/s": 1e9, "MB/s": 1e6}
_LOCALITY = {"intra": "same-leaf", "cross": "cross-leaf"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A floor in FLOP/s or B/s; None where the catalog has none."""

    value: float | None
    source: str = ""


def enforced(
    catalog: Catalog, quantity: str, kind: InstanceType, locality: str = ""
) -> Limit | None:
    """Find the row to judge by: that of the type, else of its target, else of any."""
    for scope in (f"type:{kind.name}", f"target:{kind.target}", "any"):
        for row in catalog.limits:
            if row.enforced and row.applies(quantity, scope, {"locality": locality}):
                return row
    return None


def local_floor(catalog: Catalog, check: str, kind: InstanceType) -> Floor:
    """Return the floor of a node's own benchmark; its quantity has the name of the check."""
    row = enforced(catalog, check, kind)
    if row is None:
        return Floor(value=None)
    return Floor(value=row.value * _BASE_UNITS[row.unit], source=row.where)


def memory_share_min(catalog: Catalog, kind: InstanceType) -> float | None:
    """Return the least share of the type's memory that a node must see."""
    row = enforced(catalog, "memory-size", kind)
    return None if row is None else row.value


def rail_floors_bps(catalog: Catalog, kinds: Sequence[InstanceType]) -> dict[str, float] | None:
    """Return the least a rail must carry, by kind of pair; None where a line rate is not known."""
    floors: dict[str, float] = {}
    for kind in kinds:
        rates = [rail.rate_mbit for rail in kind.rails]
        known = [rate for rate in rates if rate is not None]
        if not known or len(known) < len(rates):
            return None
        for place, locality in _LOCALITY.items():
            row = enforced(catalog, "rail-bandwidth", kind, locality)
            if row is None:
                return None
            floor = min(known) * 1e6 / 8 * row.value
            floors[place] = min(floor, floors.get(place, floor))
    return floors
