"""What file systems may look like: sizes, steps, ports and mount points, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "storage.yaml"

Positive = Annotated[int, Field(gt=0)]
MountPoint = Annotated[str, Field(pattern=r"^(/[a-z0-9_-]+)+$")]
PortRange = Annotated[str, Field(pattern=r"^\d{1,5}(-\d{1,5})?$")]


class Cited(Entry):
    """A section with the key of its source."""

    source: str


class Sizes(Entry):
    """Capacities that can be had: the first, and every multiple of the step."""

    first_gib: Positive
    step_gib: Positive

    def holds(self, gib: int) -> bool:
        """Can it be had?"""
        return gib == self.first_gib or gib % self.step_gib == 0

    def least_for(self, gib: int) -> int:
        """Return the smallest that holds as much."""
        return self.first_gib if gib <= self.first_gib else -(-gib // self.step_gib) * self.step_gib

    def __str__(self) -> str:
        """Name them."""
        return f"{self.first_gib} or a multiple of {self.step_gib} GiB"


class Choice(Entry):
    """Values that can be had: some by name, and multiples of a step up to the most."""

    values: tuple[Positive, ...] = ()
    step: Positive | None = None
    most: Positive | None = None
    required: bool = False
    """Does AWS choose none by itself?"""

    @model_validator(mode="after")
    def _something_to_choose(self) -> Self:
        if not self.values and self.step is None:
            message = "neither values nor a step"
            raise ValueError(message)
        if (self.step is None) != (self.most is None):
            message = "step and most need each other"
            raise ValueError(message)
        return self

    def holds(self, value: int) -> bool:
        """Can it be had?"""
        if self.step is None or self.most is None:
            return value in self.values
        return value in self.values or (value <= self.most and value % self.step == 0)

    def __str__(self) -> str:
        """Name them."""
        named = ", ".join(map(str, self.values))
        stepped = f"a multiple of {self.step} up to {self.most}" if self.step else ""
        return " or ".join(part for part in (named, stepped) if part)


class LustreClass(Cited):
    """One deployment of FSx for Lustre; None where there is nothing to choose."""

    capacity: Sizes | None
    throughput: Choice | None
    metadata_iops: Choice | None
    data_repository: bool
    efa: bool | None
    """None where no source states it."""
    efa_step_gib: Mapping[int, Positive]
    """Least capacity over EFA, and its step, by throughput."""

    @model_validator(mode="after")
    def _efa_steps_are_sizes(self) -> Self:
        for throughput, step in self.efa_step_gib.items():
            if self.throughput is None or not self.throughput.holds(throughput):
                message = f"efa_step_gib: no throughput {throughput}"
                raise ValueError(message)
            if self.capacity is None or not self.capacity.holds(step):
                message = f"efa_step_gib: {step} GiB is no capacity"
                raise ValueError(message)
        return self


class OpenZfs(Cited):
    """FSx for OpenZFS; throughput in MB/s by deployment type."""

    least_gib: Positive
    most_gib: Positive
    throughput: Mapping[str, tuple[Positive, ...]] = Field(min_length=1)


class EfaClients(Cited):
    """Who may reach a file system over EFA."""

    least_efa_version: Positive
    not_families: tuple[str, ...]
    most: Positive


class Ports(Cited):
    """Ports between a file system and its clients."""

    tcp: tuple[PortRange, ...] = Field(min_length=1)
    udp: tuple[PortRange, ...] = ()

    def __str__(self) -> str:
        """Name them."""
        tcp = f"tcp {', '.join(self.tcp)}"
        return f"{tcp} and udp {', '.join(self.udp)}" if self.udp else tcp


class Mounts(Cited):
    """Directories that no file system may hide."""

    taken_below: tuple[MountPoint, ...]
    """With all that is below."""
    taken: tuple[MountPoint, ...]


class StorageFacts(Entry):
    """All that rules about storage judge by."""

    fsx_lustre: Mapping[Literal["scratch2", "persistent2", "intelligentTiering"], LustreClass]
    fsx_openzfs: OpenZfs
    efa_clients: EfaClients
    ports: Mapping[Literal["fsxLustre", "fsxOpenZfs", "efs"], Ports]
    mounts: Mounts

    @model_validator(mode="after")
    def _nothing_left_out(self) -> Self:
        if len(self.fsx_lustre) < 3 or len(self.ports) < 3:  # noqa: PLR2004 - as their keys say
            message = "fsx_lustre or ports leaves a kind out"
            raise ValueError(message)
        return self

    def cited(self) -> Iterator[Cited]:
        """Give every section that cites a source."""
        yield from self.fsx_lustre.values()
        yield from self.ports.values()
        yield from (self.fsx_openzfs, self.efa_clients, self.mounts)


@cache
def load_storage(directory: Path = _HERE) -> StorageFacts:
    """Read and check storage.yaml.

    Raises:
        CatalogError: a wrong value, or one without a listed source.

    """
    return load_cited(
        StorageFacts, directory / _FILE, lambda facts: ((row.source, "") for row in facts.cited())
    )
