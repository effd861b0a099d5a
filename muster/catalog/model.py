"""What the catalog knows: instance types and accelerators, each value with its source and date."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from muster.catalog.limits import Limit, Quantity
from muster.errors import MusterError

if TYPE_CHECKING:
    from muster.catalog.prices_file import RegionPrices

Target = Literal["aws", "hosts", "lab"]
Purchase = Literal["onDemand", "spot", "capacityBlock"]


class Entry(BaseModel):
    """A row of a catalog file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(Entry):
    """Where facts come from. `as_of` is the day they were true; None for an undated source."""

    title: str = Field(min_length=1)
    url: str = ""
    read: date
    as_of: date | None = None
    note: str = ""

    @model_validator(mode="after")
    def _dates_in_order(self) -> Self:
        if self.as_of and self.as_of > self.read:
            message = f"as_of {self.as_of} is after it was read ({self.read})"
            raise ValueError(message)
        return self


class Fact(Entry):
    """One value, the key of its source, and the day it was true."""

    value: Any
    source: str
    as_of: date | None
    read: date


class RailFact(Entry):
    """One interface to the compute network.

    `interface` is None where the operating system names it by bus address; `rate_mbit` is None
    where no source states it.
    """

    interface: str | None = Field(default=None, min_length=1, max_length=15)
    rate_mbit: int | None = Field(default=None, gt=0)


class Gpu(Entry):
    """An accelerator model. `tdp_w` is None where no source states one figure."""

    model: str
    vendor: Literal["nvidia", "amd", "aws", "muster"]
    tdp_w: int | None = Field(default=None, gt=0)
    memory_gb_per_s: float | None = Field(default=None, gt=0)
    bf16_tflops: float | None = Field(default=None, gt=0)
    note: str = ""
    facts: Mapping[str, Fact] = Field(default_factory=dict, repr=False)


class InstanceType(Entry):
    """One type of node. None means that no source states the value; it is never a guess."""

    name: str
    target: Target
    arch: Literal["x86_64", "arm64"]
    gpu_count: int = Field(ge=0)
    gpu_model: str
    gpu_memory_mib: int | None = Field(default=None, gt=0)
    """Memory of each accelerator."""
    vcpus: int = Field(ge=1)
    shared_cpus: bool = False
    """True where the node shares its cores with others, so the count it sees is not its own."""
    memory_mib: int = Field(gt=0)
    local_disk_count: int | None = Field(default=None, ge=0)
    local_disk_gb: int | None = Field(default=None, ge=0)
    """Size of each local disk; 0 with a count of 0."""
    network_gbps: float | None = Field(default=None, gt=0)
    network_cards: int | None = Field(default=None, ge=1)
    efa_interfaces: int | None = Field(default=None, ge=0)
    efa_cards: tuple[int, ...] | None = None
    """Network cards that have EFA, where it is neither all nor all but the first."""
    address_cards: tuple[int, ...] | None = None
    """Cards that may carry a second interface with an address, for bandwidth beside EFA."""
    efa_version: int | None = Field(default=None, ge=1)
    efa_rate_mbit: int | None = Field(default=None, gt=0)
    """Rate of each EFA interface."""
    rdma_read: bool | None = None
    rdma_write: bool | None = None
    enis_per_card: int | None = Field(default=None, ge=1)
    ipv4_per_eni: int | None = Field(default=None, ge=1)
    boot_modes: tuple[Literal["legacy-bios", "uefi"], ...] | None = None
    purchase: tuple[Purchase, ...] | None = None
    domain_sizes: tuple[int, ...] | None = None
    """How many nodes are sold as one, as an UltraServer; None where nodes are sold one by one."""
    on_demand_usd_per_hour: float | None = Field(default=None, gt=0)
    capacity_block_usd_per_hour: float | None = Field(default=None, gt=0)
    spot_usd_per_hour: float | None = Field(default=None, gt=0)
    min_nofile: int | None = Field(default=None, gt=0)
    """Open files that a job must be allowed."""
    memlock_unlimited: bool | None = None
    """Must a job be allowed to lock all memory?"""
    rails: tuple[RailFact, ...] = ()
    gpu_tdp_w: int | None = None
    note: str = ""
    facts: Mapping[str, Fact] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _rails_from_efa(cls, data: Any) -> Any:
        """Each EFA interface is a rail; types of other targets list their rails."""
        if isinstance(data, dict) and "rails" not in data and data.get("efa_interfaces"):
            rail = {"rate_mbit": data.get("efa_rate_mbit")}
            return {**data, "rails": [rail] * int(data["efa_interfaces"])}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.network_cards is not None and (self.efa_interfaces or 0) > self.network_cards:
            message = f"{self.efa_interfaces} EFA interfaces on {self.network_cards} network cards"
            raise ValueError(message)
        total_mbit = sum(rail.rate_mbit or 0 for rail in self.rails)
        if self.network_gbps is not None and total_mbit > self.network_gbps * 1000:
            message = f"the rails add up to {total_mbit} Mbit/s, above the node's line rate"
            raise ValueError(message)
        if self.target == "lab" and any(not r.interface or not r.rate_mbit for r in self.rails):
            message = "every rail of a lab type needs interface and rate_mbit"
            raise ValueError(message)
        return self

    @property
    def scopes(self) -> tuple[str, ...]:
        """Where limits for this type may stand, the narrowest first."""
        return (f"type:{self.name}", f"gpu:{self.gpu_model}", f"target:{self.target}", "any")

    @property
    def node_tdp_w(self) -> int | None:
        """Power of all accelerators; the rest of the node comes on top."""
        return None if self.gpu_tdp_w is None else self.gpu_tdp_w * self.gpu_count


class CatalogError(MusterError):
    """A file of the catalog is wrong; the message names file and entry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """Everything muster knows about hardware, prices and limits, with provenance."""

    types: Mapping[str, InstanceType]
    gpus: Mapping[str, Gpu]
    sources: Mapping[str, Source]
    quantities: Mapping[str, Quantity]
    limits: tuple[Limit, ...]
    region_prices: tuple[RegionPrices, ...] = ()
    """What was read from AWS, by region; it comes before what the types state."""

    def prices_in(self, zone_id: str) -> RegionPrices | None:
        """Return what was read from AWS for the region of a zone."""
        found = (prices for prices in self.region_prices if prices.holds_in(zone_id))
        return next(found, None)

    def instance_type(self, name: str) -> InstanceType:
        """Return a type by name.

        Raises:
            CatalogError: the catalog has no such type.

        """
        if name not in self.types:
            raise CatalogError(f"no instance type {name!r}", where="catalog")
        return self.types[name]

    def types_of(self, target: str) -> tuple[str, ...]:
        """Return the names of the types that a target offers."""
        return tuple(name for name, found in self.types.items() if found.target == target)

    def limit(self, quantity: str, type_name: str, **conditions: Any) -> Limit | None:
        """Return the enforced limit for a type: its own first, then its GPU's, then a general one.

        A limit with conditions (as nodes, locality) applies only where all of them are given alike.
        """
        found = self.instance_type(type_name)
        for scope in found.scopes:
            for limit in self.limits:
                if limit.enforced and limit.applies(quantity, scope, conditions):
                    return limit
        return None
