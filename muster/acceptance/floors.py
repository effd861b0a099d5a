"""How little may a node's own benchmarks give? Pure: rows of the catalog's limits."""

from __future__ import annotations

from dataclasses import dataclass

from muster.catalog.load import load_catalog
from muster.catalog.model import Catalog, InstanceType

_BASE_UNITS = {"GFLOP/s": 1e9, "GB/s": 1e9, "MB/s": 1e6}


@dataclass(frozen=True, kw_only=True, slots=True)
class Floor:
    """A floor in FLOP/s or B/s; None where the catalog has none."""

    value: float | None
    source: str = ""


def local_floor(check: str, kind: InstanceType, catalog: Catalog | None = None) -> Floor:
    """Find the enforced floor of a check for a type, else for its target, else none."""
    rows = (catalog or load_catalog()).limits
    for scope in (f"type:{kind.name}", f"target:{kind.target}", "any"):
        for row in rows:
            if row.enforced and (row.quantity, row.scope) == (check, scope):
                return Floor(value=row.value * _BASE_UNITS[row.unit], source=row.where)
    return Floor(value=None)
