"""What was read from AWS, merged into a region's file; a price that jumped is held back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

from muster.catalog.citing import validate
from muster.catalog.model import InstanceType, Source
from muster.catalog.prices_file import RegionPrices, Row
from muster.catalog.prices_products import Found, NoPrice, Price

Kind = Literal["on_demand", "spot", "capacity_block", "item"]

_SOURCES: dict[Kind, tuple[str, str, str]] = {
    "on_demand": (
        "price-list",
        "AWS Price List API, Linux, on demand",
        "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html",
    ),
    "spot": (
        "spot",
        "Amazon EC2 DescribeSpotPriceHistory, Linux",
        "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html",
    ),
    "capacity_block": (
        "capacity-blocks",
        "Amazon EC2 DescribeCapacityBlockOfferings, fee by instance-hours",
        "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html",
    ),
    "item": (
        "price-list-items",
        "AWS Price List API",
        "https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/price-changes.html",
    ),
}


class Place(NamedTuple):
    """What a price is of; the zone is empty where it holds in the whole region."""

    kind: Kind
    name: str
    zone: str = ""

    def __str__(self) -> str:
        """Name it."""
        where = f" in {self.zone}" if self.zone else ""
        return f"{self.name}{where}" if self.kind == "item" else f"{self.name} {self.kind}{where}"


Reading = Mapping[Place, Found]


@dataclass(frozen=True, slots=True)
class Jumped:
    """A price that moved further than is taken unasked."""

    place: Place
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Merged:
    """The region's prices after a reading, and what a person should know of it."""

    prices: RegionPrices
    taken: tuple[Place, ...]
    unknown: tuple[tuple[Place, str], ...]
    jumped: tuple[Jumped, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """Whose prices they are, and when they were read."""

    name: str
    zones: str
    read: date


def merge(
    region: Region,
    reading: Reading,
    before: RegionPrices | None,
    known: Callable[[Place], float | None],
    *,
    jump: float,
) -> Merged:
    """Put a reading into a region's file.

    What was asked for and has no price now is taken out; what was not asked for stays. A price
    that moved by more than `jump` is left as it was; give infinity to take it.
    """
    old = dict(_rows_of(before)) if before else {}
    asked = {(place.kind, place.name) for place in reading}
    rows = {place: row for place, row in old.items() if (place.kind, place.name) not in asked}
    jumped = []
    for place, found in reading.items():
        if isinstance(found, NoPrice):
            continue
        last = old[place].usd if place in old else known(place)
        if last is not None and not last / jump <= found.usd <= last * jump:
            jumped.append(Jumped(place, last, found.usd))
            rows |= {place: old[place]} if place in old else {}
            continue
        rows[place] = _row(place, found, region)
    held = {found.place for found in jumped}
    return Merged(
        prices=_file(region, rows, before),
        taken=tuple(p for p, f in reading.items() if isinstance(f, Price) and p not in held),
        unknown=tuple((p, f.why) for p, f in reading.items() if isinstance(f, NoPrice)),
        jumped=tuple(jumped),
    )


def shipped_price(types: Mapping[str, InstanceType], place: Place) -> float | None:
    """Return what the catalog itself states, whatever region it is of, to compare with."""
    found = types.get(place.name)
    usd: float | None = getattr(found, f"{place.kind}_usd_per_hour", None)
    return usd


def _rows_of(prices: RegionPrices) -> Iterator[tuple[Place, Row]]:
    for name, found in prices.instances.items():
        if found.on_demand:
            yield Place("on_demand", name), found.on_demand
        yield from ((Place("spot", name, zone), row) for zone, row in found.spot.items())
        blocks = found.capacity_block.items()
        yield from ((Place("capacity_block", name, zone), row) for zone, row in blocks)
    yield from ((Place("item", name), row) for name, row in prices.items.items())


def _row(place: Place, price: Price, region: Region) -> Row:
    key = f"{region.name}-{_SOURCES[place.kind][0]}-{region.read}"
    # A publication date ahead of this machine's day is a clock's difference, not a later truth.
    as_of = min(price.as_of, region.read)
    return Row(usd=price.usd, source=key, as_of=as_of, note=price.note)


def _file(region: Region, rows: Mapping[Place, Row], before: RegionPrices | None) -> RegionPrices:
    instances: dict[str, dict[str, Any]] = {}
    items: dict[str, Row] = {}
    for place, row in sorted(rows.items()):
        if place.kind == "item":
            items[place.name] = row
        elif place.zone:
            instances.setdefault(place.name, {}).setdefault(place.kind, {})[place.zone] = row
        else:
            instances.setdefault(place.name, {})[place.kind] = row
    made = {
        f"{region.name}-{key}-{region.read}": (what, url) for key, what, url in _SOURCES.values()
    }
    sources: dict[str, Source] = dict(before.sources) if before else {}
    for key, (what, url) in made.items():
        title = f"{what}, {region.name}"
        sources[key] = Source(title=title, url=url, read=region.read, as_of=region.read)
    cited = {row.source for row in rows.values()}
    content = {
        "region": region.name,
        "zones": region.zones,
        "sources": {key: source for key, source in sorted(sources.items()) if key in cited},
        "instances": instances,
        "items": items,
    }
    return validate(RegionPrices, content, f"{region.name}.yaml")
