"""Prices that were read from AWS for one region: stacks/prices/<region>.yaml.

The catalog that muster ships is never written to; these files lie beside the stacks, and what they
state comes before what the catalog states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, model_validator

from muster.catalog.citing import read_mapping, validate
from muster.catalog.model import CatalogError, Entry, Source
from muster.catalog.prices import Usd
from muster.catalog.prices_queries import Item
from muster.files import write_atomic

Way = Literal["on_demand_usd_per_hour", "spot_usd_per_hour", "capacity_block_usd_per_hour"]
"""Ways to buy an instance, named as the catalog's fields."""

_HEAD = """\
# Prices of AWS in one region, written by `muster catalog refresh`; not to be edited by hand.
# Commit it, so that every plan of this project is priced alike.
---
"""


class Row(Entry):
    """One price and where it is from."""

    usd: Usd
    source: str
    as_of: date
    note: str = ""


class InstancePrices(Entry):
    """What an hour of an instance type costs; by zone id where the zones differ."""

    on_demand: Row | None = None
    spot: Mapping[str, Row] = Field(default_factory=dict)
    capacity_block: Mapping[str, Row] = Field(default_factory=dict)

    def of(self, way: Way, zone_id: str) -> Row | None:
        """Return the price in a zone."""
        if way == "on_demand_usd_per_hour":
            return self.on_demand
        return (self.spot if way == "spot_usd_per_hour" else self.capacity_block).get(zone_id)

    def rows(self) -> Iterator[tuple[str, str, Row]]:
        """Yield the way, the zone (empty for all zones) and the row."""
        if self.on_demand:
            yield "on_demand", "", self.on_demand
        yield from (("spot", zone, row) for zone, row in self.spot.items())
        yield from (("capacity_block", zone, row) for zone, row in self.capacity_block.items())


class RegionPrices(Entry):
    """One file."""

    apiVersion: Literal["muster/v1"] = "muster/v1"  # noqa: N815 - the key as it stands in the file
    kind: Literal["Prices"] = "Prices"
    region: str = Field(min_length=1)
    zones: str = Field(pattern=r"^[a-z]+[0-9]$")
    """What the ids of the region's zones begin with."""
    sources: Mapping[str, Source]
    instances: Mapping[str, InstancePrices] = Field(default_factory=dict)
    items: Mapping[Item, Row] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for where, zone, row in self.rows():
            if row.source not in self.sources:
                message = f"{where} cites source {row.source!r}, which is not listed"
                raise ValueError(message)
            if row.as_of > self.sources[row.source].read:
                message = f"{where} is of {row.as_of}, after it was read"
                raise ValueError(message)
            if zone and not zone.startswith(f"{self.zones}-"):
                message = f"{where}: zone {zone} is not of {self.region}"
                raise ValueError(message)
        return self

    def holds_in(self, zone_id: str) -> bool:
        """Is the zone of this region? A local zone, with prices of its own, is not."""
        return zone_id.startswith(f"{self.zones}-az")

    def instance(self, type_name: str, way: Way, zone_id: str) -> Row | None:
        """Return the price of an instance type in a zone."""
        found = self.instances.get(type_name)
        return found.of(way, zone_id) if found else None

    def item(self, name: str) -> Row | None:
        """Return the price of something else; None where it was not read."""
        return {str(item): row for item, row in self.items.items()}.get(name)

    def rows(self) -> Iterator[tuple[str, str, Row]]:
        """Yield the place, the zone (empty for all) and the row of each price."""
        for name, prices in self.instances.items():
            for way, zone, row in prices.rows():
                yield f"{name} {way}{f' {zone}' if zone else ''}", zone, row
        yield from ((name, "", row) for name, row in self.items.items())


def load_region_prices(directory: Path | None) -> tuple[RegionPrices, ...]:
    """Read and check the files of all regions; none where there is no such folder.

    Raises:
        CatalogError: a file has a wrong value, a price of no source, or another region's name.

    """
    if directory is None:
        return ()
    return tuple(_load(path) for path in sorted(directory.glob("*.yaml")))


def write_region_prices(directory: Path, prices: RegionPrices) -> Path:
    """Write one region's file in one step; returns its path."""
    path = directory / f"{prices.region}.yaml"
    content = prices.model_dump(mode="json", exclude_defaults=True)
    head = {"apiVersion": prices.apiVersion, "kind": prices.kind}
    text = yaml.safe_dump({**head, **content}, sort_keys=False, width=100)
    write_atomic(path, _HEAD + text)
    return path


def _load(path: Path) -> RegionPrices:
    found = validate(RegionPrices, read_mapping(path), path.name)
    if path.stem != found.region:
        raise CatalogError(f"holds prices of {found.region}", where=path.name)
    return found
