"""What a planned stack costs, as far as the catalog knows. Pure but for the catalog's own file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from math import fsum

from muster.catalog import Catalog, InstanceType, Source
from muster.catalog.prices import Prices, RegionPrice, Service, load_prices
from muster.plan.aws.model import AwsPlan, Buying, FileSystemPlan, PoolPlan

HOURS_A_MONTH = 730
"""A year's hours by twelve; what a price by the month is brought to the hour with."""

NOT_COUNTED = (
    "root disks",
    "buckets and what is stored in them",
    "traffic",
    "backups",
    "licences of operating systems",
    "taxes and discounts",
)
"""What no line stands for, because it hangs on use or on a contract."""

_ON_DEMAND = "on_demand_usd_per_hour"
_BLOCK = "capacity_block_usd_per_hour"
_SPOT = "spot_usd_per_hour"
_FIELD: dict[Buying, str] = {
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
    lines = tuple(_Pricing(plan, catalog, prices or load_prices()).lines())
    cited = sorted({line.source for line in lines if line.source})
    return PriceSheet(
        lines=lines,
        pools=tuple(_comparison(pool) for pool in plan.pools),
        sources={key: catalog.sources[key] for key in cited},
    )


def _comparison(pool: PoolPlan) -> PoolComparison:
    def whole(field: str) -> float | None:
        usd = _unit_price(pool.type, field)
        return None if usd is None else usd * pool.size

    return PoolComparison(
        pool=pool.name,
        type=pool.type.name,
        instances=pool.size,
        buying=pool.capacity.buying,
        on_demand=whole(_ON_DEMAND),
        capacity_block=whole(_BLOCK),
        spot=whole(_SPOT),
    )


def _unit_price(kind: InstanceType, field: str) -> float | None:
    """Return a type's price; a value that cites no source is none."""
    usd: float | None = getattr(kind, field)
    return usd if field in kind.facts else None


@dataclass(frozen=True, slots=True)
class _Pricing:
    """The lines of one plan's sheet."""

    plan: AwsPlan
    catalog: Catalog
    prices: Prices

    def lines(self) -> Iterator[PriceLine]:
        for pool in self.plan.pools:
            yield self._instances(f"pool {pool.name}", pool.type, pool.size, pool.capacity.buying)
        if self.plan.head is not None:
            yield self._instances("head", self.plan.head.type, 1, "onDemand")
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
        field = _FIELD[buying]
        usd = _unit_price(kind, field)
        row = self.prices.instances_on_demand if field == _ON_DEMAND else None
        line = PriceLine(
            what=what, quantity=count, unit=kind.name, unit_usd_per_hour=usd, note=_BOUGHT[buying]
        )
        if usd is None:
            return _noted(line, _NO_PRICE)
        fact = kind.facts[field]
        line = replace(line, source=fact.source, as_of=fact.as_of)
        return _noted(line, self._elsewhere(row) if row else "")

    def _file_system(self, system: FileSystemPlan) -> Iterator[PriceLine]:
        """Price the capacity, and the metadata operations that are provisioned apart from it."""
        lustre = self.prices.fsx_lustre if system.kind == "fsxLustre" else None
        usd = lustre.of_capacity(system.deployment, system.throughput) if lustre else None
        capacity = PriceLine(
            what=f"file system {system.mount}",
            quantity=system.capacity_gib,
            unit="GiB",
            unit_usd_per_hour=_hourly(usd),
            note=_kind_of(system),
        )
        yield self._sourced(capacity, lustre)
        if lustre is None or system.deployment == "scratch2":
            return
        given = system.metadata_iops is not None
        metadata = PriceLine(
            what=f"metadata of {system.mount}",
            quantity=system.metadata_iops,
            unit="IOPS",
            unit_usd_per_hour=_hourly(lustre.of_metadata(system.deployment)),
            note=_ALL_METADATA if given else _OWN_METADATA,
        )
        yield self._sourced(metadata, lustre)

    def _service(self, what: str, quantity: int | None, service: Service) -> PriceLine:
        row = self.prices.services.get(service)
        usd = row.usd_per_hour if row else None
        line = PriceLine(what=what, quantity=quantity, unit="each", unit_usd_per_hour=usd)
        return self._sourced(line, row)

    def _sourced(self, line: PriceLine, row: RegionPrice | None) -> PriceLine:
        """Say where its price is from and where it holds, or what is missing."""
        if line.unit_usd_per_hour is None or row is None:
            return _noted(line, _NO_PRICE)
        as_of = self.catalog.sources[row.source].as_of
        line = replace(line, source=row.source, as_of=as_of)
        missing = _NO_QUANTITY if line.quantity is None else ""
        return _noted(line, missing, self._elsewhere(row))

    def _elsewhere(self, row: RegionPrice) -> str:
        """Say so where the price is that of another region than the stack's."""
        zone = self.plan.network.zone_id
        return "" if row.holds_in(zone) else f"the price is that of {row.region}, not of {zone}"


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
