"""What a planned stack costs, as far as the catalog and the prices read from AWS know.

Pure but for the catalog's own file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from math import fsum

from muster.catalog import Catalog, InstanceType, Source
from muster.catalog.prices import Prices, RegionPrice, Service, load_prices
from muster.catalog.prices_file import Row, Way
from muster.plan.aws.model import AwsPlan, Buying, FileSystemPlan, PoolPlan

HOURS_A_MONTH = 730
"""A year's hours by twelve; what a price by the month is brought to the hour with."""

_ROOT_DISKS = "root disks"
NOT_COUNTED = (
    _ROOT_DISKS,
    "buckets and what is stored in them",
    "traffic",
    "backups",
    "licences of operating systems",
    "taxes and discounts",
)
"""What no line stands for, because it hangs on use or on a contract."""

_ON_DEMAND: Way = "on_demand_usd_per_hour"
_BLOCK: Way = "capacity_block_usd_per_hour"
_SPOT: Way = "spot_usd_per_hour"
_WAYS: dict[Buying, Way] = {
    "onDemand": _ON_DEMAND,
    "reservation": _ON_DEMAND,
    "resourceGroup": _ON_DEMAND,
    "block": _BLOCK,
    "spot": _SPOT,
}
_BOUGHT: dict[Buying, str] = {
    "onDemand": "on demand, billed while it runs",
    "reservation": "reserved, billed at the on-demand price whether used or not",
    "resourceGroup": "reserved, billed at the on-demand price whether used or not",
    "block": "Capacity Block, paid up front; this is an hour's share, not billed again",
    "spot": "spot, the price moves",
}
_NO_PRICE = "no source states a price"
_NO_QUANTITY = "how much of it is not known"
_ALL_METADATA = "all of them; what AWS may include is not taken off"
_OWN_METADATA = "AWS decides how many, and no source states how many it bills"


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitPrice:
    """What one of something costs, who says so, and what to know about it."""

    usd_per_hour: float
    source: str
    as_of: date | None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceLine:
    """One thing that costs. None is unknown, and never nothing."""

    what: str
    quantity: int | None
    unit: str
    """What is counted, as "instances" or "GiB"."""
    unit_usd_per_hour: float | None
    source: str = ""
    """Key of the catalog's source; empty where there is no price."""
    as_of: date | None = None
    """The day that the price was true; None where its source is undated."""
    note: str = ""

    @property
    def hourly_usd(self) -> float | None:
        """Price of all of it."""
        if self.unit_usd_per_hour is None or self.quantity is None:
            return None
        return self.unit_usd_per_hour * self.quantity


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolComparison:
    """What a pool would cost an hour, bought each way; None where no source states it."""

    pool: str
    type: str
    instances: int
    buying: Buying
    on_demand: float | None
    capacity_block: float | None
    spot: float | None
    sources: tuple[str, ...] = ()
    """Keys of the catalog's sources for these prices."""

    @property
    def cheapest(self) -> str:
        """The way that costs least, of those whose price is known; empty for none."""
        ways = {
            "on demand": self.on_demand,
            "Capacity Block": self.capacity_block,
            "spot": self.spot,
        }
        known = {way: usd for way, usd in ways.items() if usd is not None}
        return min(known, key=lambda way: known[way]) if known else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceSheet:
    """All that a stack costs, at list price."""

    lines: tuple[PriceLine, ...]
    pools: tuple[PoolComparison, ...]
    sources: Mapping[str, Source]
    """Those that the lines name."""
    not_counted: tuple[str, ...] = NOT_COUNTED

    @property
    def hourly_usd(self) -> float:
        """Sum of the known prices; what is unknown comes on top."""
        return fsum(line.hourly_usd or 0.0 for line in self.lines)

    @property
    def monthly_usd(self) -> float:
        """The same for 730 hours."""
        return self.hourly_usd * HOURS_A_MONTH

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the lines without a price."""
        return tuple(line.what for line in self.lines if line.hourly_usd is None)


def price_of(plan: AwsPlan, catalog: Catalog, prices: Prices | None = None) -> PriceSheet:
    """Price a plan with the catalog; what exists already and is only used costs nothing more."""
    pricing = _Pricing(plan, catalog, prices or load_prices())
    lines = tuple(pricing.lines())
    pools = tuple(pricing.comparison(pool) for pool in plan.pools)
    cited = {line.source for line in lines if line.source}
    cited |= {source for pool in pools for source in pool.sources}
    counted = {line.what for line in lines}
    return PriceSheet(
        lines=lines,
        pools=pools,
        sources={key: catalog.sources[key] for key in sorted(cited)},
        not_counted=tuple(what for what in NOT_COUNTED if what not in counted),
    )


def instance_price(
    catalog: Catalog,
    kind: InstanceType,
    way: Way,
    zone_id: str,
    prices: Prices | None = None,
) -> UnitPrice | None:
    """Return what an hour of an instance costs: as read from AWS for the zone, else as shipped.

    A value that cites no source is none.
    """
    region = catalog.prices_in(zone_id)
    row = region.instance(kind.name, way, zone_id) if region else None
    if row:
        return _as_read(row)
    usd: float | None = getattr(kind, way)
    if usd is None or way not in kind.facts:
        return None
    fact = kind.facts[way]
    shipped = (prices or load_prices()).instances_on_demand
    note = _elsewhere(shipped, zone_id) if way == _ON_DEMAND else ""
    return UnitPrice(usd_per_hour=usd, source=fact.source, as_of=fact.as_of, note=note)


def _as_read(row: Row, hours: float = 1) -> UnitPrice:
    return UnitPrice(
        usd_per_hour=row.usd / hours, source=row.source, as_of=row.as_of, note=row.note
    )


@dataclass(frozen=True, slots=True)
class _Pricing:
    """The lines of one plan's sheet."""

    plan: AwsPlan
    catalog: Catalog
    prices: Prices

    def comparison(self, pool: PoolPlan) -> PoolComparison:
        """Price a pool bought each way."""
        zone = self.plan.network.zone_id
        found = {
            way: instance_price(self.catalog, pool.type, way, zone, self.prices)
            for way in (_ON_DEMAND, _BLOCK, _SPOT)
        }
        usd = {way: price.usd_per_hour * pool.size for way, price in found.items() if price}
        return PoolComparison(
            pool=pool.name,
            type=pool.type.name,
            instances=pool.size,
            buying=pool.capacity.buying,
            on_demand=usd.get(_ON_DEMAND),
            capacity_block=usd.get(_BLOCK),
            spot=usd.get(_SPOT),
            sources=tuple(sorted({price.source for price in found.values() if price})),
        )

    def lines(self) -> Iterator[PriceLine]:
        for pool in self.plan.pools:
            yield self._instances(f"pool {pool.name}", pool.type, pool.size, pool.capacity.buying)
        if self.plan.head is not None:
            yield self._instances("head", self.plan.head.type, 1, "onDemand")
        yield from self._root_disks()
        for system in self.plan.file_systems:
            if system.is_new:
                yield from self._file_system(system)
        if self.plan.network.public_cidr is not None:
            yield self._service("NAT gateway", 1, "natGateway")
        if self.plan.network.internet == "endpoints":
            yield self._service("interface endpoints", None, "interfaceEndpoint")
        if self.plan.kubernetes is not None:
            yield self._service("EKS control plane", 1, "eksControlPlane")

    def _instances(self, what: str, kind: InstanceType, count: int, buying: Buying) -> PriceLine:
        zone = self.plan.network.zone_id
        price = instance_price(self.catalog, kind, _WAYS[buying], zone, self.prices)
        line = PriceLine(
            what=what, quantity=count, unit=kind.name, unit_usd_per_hour=None, note=_BOUGHT[buying]
        )
        return _priced(line, price)

    def _root_disks(self) -> Iterator[PriceLine]:
        """Price the root disks where somebody states what a disk costs."""
        gib = sum(pool.root_gib * pool.size for pool in self.plan.pools)
        gib += self.plan.head.root_gib if self.plan.head else 0
        price = self._read("ebs.gp3", HOURS_A_MONTH)
        if price and gib:
            line = PriceLine(
                what=_ROOT_DISKS, quantity=gib, unit="GiB", unit_usd_per_hour=None, note="gp3"
            )
            yield _priced(line, price)

    def _read(self, item: str, hours: float = 1) -> UnitPrice | None:
        """Return what was read from AWS for the stack's region."""
        region = self.catalog.prices_in(self.plan.network.zone_id)
        row = region.item(item) if region else None
        return _as_read(row, hours) if row else None

    def _file_system(self, system: FileSystemPlan) -> Iterator[PriceLine]:
        """Price the capacity, and the metadata operations that are provisioned apart from it."""
        lustre = self.prices.fsx_lustre if system.kind == "fsxLustre" else None
        usd = lustre.of_capacity(system.deployment, system.throughput) if lustre else None
        capacity = PriceLine(
            what=f"file system {system.mount}",
            quantity=system.capacity_gib,
            unit="GiB",
            unit_usd_per_hour=None,
            note=_kind_of(system),
        )
        read = self._read(_item_of(system), HOURS_A_MONTH)
        yield _priced(capacity, read or self._shipped(_hourly(usd), lustre))
        if lustre is None or system.deployment == "scratch2":
            return
        given = system.metadata_iops is not None
        metadata = PriceLine(
            what=f"metadata of {system.mount}",
            quantity=system.metadata_iops,
            unit="IOPS",
            unit_usd_per_hour=None,
            note=_ALL_METADATA if given else _OWN_METADATA,
        )
        usd = lustre.of_metadata(system.deployment)
        yield _priced(metadata, self._shipped(_hourly(usd), lustre))

    def _service(self, what: str, quantity: int | None, service: Service) -> PriceLine:
        row = self.prices.services.get(service)
        usd = row.usd_per_hour if row else None
        line = PriceLine(what=what, quantity=quantity, unit="each", unit_usd_per_hour=None)
        return _priced(line, self._read(service) or self._shipped(usd, row))

    def _shipped(self, usd_per_hour: float | None, row: RegionPrice | None) -> UnitPrice | None:
        """Return a price of the catalog's own, with where it is from and where it holds."""
        if usd_per_hour is None or row is None:
            return None
        return UnitPrice(
            usd_per_hour=usd_per_hour,
            source=row.source,
            as_of=self.catalog.sources[row.source].as_of,
            note=_elsewhere(row, self.plan.network.zone_id),
        )


def _elsewhere(row: RegionPrice, zone_id: str) -> str:
    """Say so where the price is that of another region than the stack's."""
    return "" if row.holds_in(zone_id) else f"the price is that of {row.region}, not of {zone_id}"


def _priced(line: PriceLine, price: UnitPrice | None) -> PriceLine:
    """Say what it costs and who says so, or what is missing."""
    if price is None:
        return _noted(line, _NO_PRICE)
    line = replace(
        line, unit_usd_per_hour=price.usd_per_hour, source=price.source, as_of=price.as_of
    )
    return _noted(line, _NO_QUANTITY if line.quantity is None else "", price.note)


def _item_of(system: FileSystemPlan) -> str:
    """Return the name under which prices of its capacity are read."""
    if system.kind == "efs":
        return "efs.standard"
    return f"{system.kind}.{system.deployment}.{system.throughput}"


def _hourly(usd_per_month: float | None) -> float | None:
    return None if usd_per_month is None else usd_per_month / HOURS_A_MONTH


def _kind_of(system: FileSystemPlan) -> str:
    if system.kind != "fsxLustre":
        return system.kind
    per = "MB/s per TiB" if system.deployment == "persistent2" else "MB/s"
    speed = "" if system.throughput is None else f" of {system.throughput} {per}"
    return f"{system.kind} {system.deployment}{speed}"


def _noted(line: PriceLine, *more: str) -> PriceLine:
    return replace(line, note="; ".join(note for note in (line.note, *more) if note))
