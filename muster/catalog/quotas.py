"""What an AWS account, a zone, a subnet and a Capacity Block hold, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "quotas.yaml"
_CLASS = re.compile(r"[a-z]+")

Class = Annotated[str, Field(pattern=r"^[a-z]+$")]
Positive = Annotated[int, Field(gt=0)]


class Cited(Entry):
    """A row with the key of its source."""

    source: str


class Quota(Cited):
    """A limit of an account in a region, which AWS raises on request."""

    name: str = Field(min_length=1)
    service: Literal["ec2", "vpc", "fsx"]
    code: str = Field(pattern=r"^L-[0-9A-F]{8}$")
    note: str = ""

    @property
    def command(self) -> str:
        """The command that says what the account has."""
        codes = f"--service-code {self.service} --quota-code {self.code}"
        return f"aws service-quotas get-service-quota {codes} --query Quota.Value"


class VcpuQuota(Quota):
    """How many vCPUs may run at one time, of the types of some classes bought in one way."""

    buying: Literal["onDemand", "spot"]
    classes: tuple[Class, ...] = Field(min_length=1)


class InterfaceQuota(Quota):
    """How many network interfaces a region may have; `default` is that of a new account."""

    default: Positive


class RegionalQuota(Quota):
    """How much of one thing a region may have over all stacks."""

    of: Literal["addresses", "vpcs", "lustrePersistent2Gib", "lustreScratchGib", "openZfsMbps"]


class SubnetLimits(Cited):
    """What AWS keeps of each subnet."""

    reserved_addresses: int = Field(ge=0)


class PlacementLimits(Cited):
    """What a placement group holds."""

    spread_nodes_per_zone: Positive


class EfaIslands(Cited):
    """Families that reach only each other over EFA."""

    islands: tuple[tuple[str, ...], ...]


class BlockLimits(Cited):
    """The size of a Capacity Block, and when its instances end."""

    ended_minutes_before: Positive
    ultraserver_ended_minutes_before: Positive
    warned_minutes_before_that: Positive
    instances_max: Positive
    days_ahead_max: Positive
    days_max: Positive


class BlockTimeLeft(Cited):
    """How many usable hours a Capacity Block must have left, and how many it should have."""

    hours_min: Positive
    hours_wanted: Positive

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.hours_wanted < self.hours_min:
            message = f"hours_wanted {self.hours_wanted} is below hours_min {self.hours_min}"
            raise ValueError(message)
        return self


class LustreServers(Cited):
    """What one server of FSx for Lustre carries; each has one address."""

    gib_per_server: Positive
    tiering_mbps_per_server: Positive
    metadata_iops_per_server: Positive
    automatic_gib_per_metadata_server: Positive


class EfsAddresses(Cited):
    """Addresses of one mount target."""

    addresses: Positive


class Endpoints(Cited):
    """Interface endpoints, by the last part of the service's name."""

    services: tuple[str, ...]


class Quotas(Entry):
    """All of quotas.yaml."""

    vcpus: tuple[VcpuQuota, ...]
    network_interfaces: InterfaceQuota
    regional: tuple[RegionalQuota, ...]
    subnet: SubnetLimits
    placement: PlacementLimits
    efa: EfaIslands
    block: BlockLimits
    block_time_left: BlockTimeLeft
    lustre: LustreServers
    efs: EfsAddresses
    endpoints: Endpoints

    @model_validator(mode="after")
    def _one_quota_each(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for quota in self.vcpus:
            for name in quota.classes:
                if (quota.buying, name) in seen:
                    message = f"class {name} has two quotas for {quota.buying}"
                    raise ValueError(message)
                seen.add((quota.buying, name))
        return self

    def vcpu_quota(self, type_name: str, buying: str) -> VcpuQuota | None:
        """Return the quota that counts an instance of that type; None where no source says."""
        found = _CLASS.match(type_name)
        for quota in self.vcpus:
            if found and quota.buying == buying and found[0] in quota.classes:
                return quota
        return None

    def rows(self) -> Iterator[Cited]:
        """Return whatever cites a source."""
        yield from self.vcpus
        yield from self.regional
        yield from (row for _, row in self if isinstance(row, Cited))


@cache
def load_quotas(directory: Path = _HERE) -> Quotas:
    """Read and check the quotas.

    Raises:
        CatalogError: a row of no listed source, two quotas for one class, a wrong type.

    """
    return load_cited(
        Quotas, directory / _FILE, lambda quotas: ((row.source, "") for row in quotas.rows())
    )
