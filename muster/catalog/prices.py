"""Prices of what is not an instance, each with its region and source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "prices.yaml"

Service = Literal["natGateway", "interfaceEndpoint", "eksControlPlane"]
Deployment = Literal["scratch2", "persistent2", "intelligentTiering"]
Usd = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class RegionPrice(Entry):
    """Where prices hold, and who says so."""

    region: str = Field(min_length=1)
    zones: str = Field(pattern=r"^[a-z]+[0-9]$")
    """What the ids of the region's zones begin with."""
    source: str

    def holds_in(self, zone_id: str) -> bool:
        """Is the zone of this region? A local zone, with prices of its own, is not."""
        return zone_id.startswith(f"{self.zones}-az")


class LustrePrices(RegionPrice):
    """FSx for Lustre; a kind or a throughput that is not listed has no known price."""

    capacity_usd_per_gb_month: Mapping[Deployment, Mapping[int, Usd]]
    metadata_iops_usd_per_month: Mapping[Deployment, Usd]

    def of_capacity(self, deployment: str | None, throughput: int | None) -> float | None:
        """Return USD per GB and month."""
        tiers = {str(kind): prices for kind, prices in self.capacity_usd_per_gb_month.items()}
        return None if throughput is None else tiers.get(deployment or "", {}).get(throughput)

    def of_metadata(self, deployment: str | None) -> float | None:
        """Return USD per provisioned metadata operation a second, and month."""
        kinds = {str(kind): usd for kind, usd in self.metadata_iops_usd_per_month.items()}
        return kinds.get(deployment or "")


class ServicePrice(RegionPrice):
    """Something that costs by the hour that it exists."""

    usd_per_hour: Usd


class Prices(Entry):
    """All of prices.yaml."""

    instances_on_demand: RegionPrice
    """Where the on-demand prices of the instance types hold."""
    fsx_lustre: LustrePrices
    services: Mapping[Service, ServicePrice]

    def rows(self) -> tuple[RegionPrice, ...]:
        """Return whatever cites a source."""
        return (self.instances_on_demand, self.fsx_lustre, *self.services.values())


@cache
def load_prices(directory: Path = _HERE) -> Prices:
    """Read and check the prices.

    Raises:
        CatalogError: a price of no listed source, a price of nothing, a wrong type.

    """
    return load_cited(
        Prices, directory / _FILE, lambda prices: ((row.source, "") for row in prices.rows())
    )
