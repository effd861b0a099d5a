"""What a head node must have, how names may look, what is waited for, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "nodes.yaml"

Positive = Annotated[int, Field(gt=0)]


class Cited(Entry):
    """A section with the key of its source."""

    source: str


class HeadMemory(Cited):
    """Memory that the scheduler needs: so much for every node, up to what is enough for all."""

    nodes_per_gb: float = Field(gt=0)
    base_gb: float = Field(gt=0)
    enough_gb: float = Field(gt=0)

    def needed_gb(self, nodes: int) -> float:
        """Return what so many nodes need."""
        return min(nodes / self.nodes_per_gb + self.base_gb, self.enough_gb)


class Length(Cited):
    """Characters of a part of a name."""

    length: Positive


class NameLimit(Cited):
    """The most characters of one kind of name, and what it is made of."""

    of: Literal["stack", "pool"]
    most: Positive
    scheduler: Literal["slurm", "kubernetes"] | None = None
    """None where both have it."""


class Names(Entry):
    """Names of what a stack makes."""

    random_suffix: Length
    word: Length
    most: Mapping[str, NameLimit] = Field(min_length=1)


class BucketNames(Cited):
    """What a bucket's name must not have."""

    not_within: tuple[str, ...]
    not_first: tuple[str, ...]
    not_last: tuple[str, ...]


class Time(Cited):
    """A time that we chose."""

    seconds: float = Field(gt=0)


class Waits(Entry):
    """How long a fleet is waited for after a launch, at most."""

    launch: Time
    host_key: Time
    placement: Time
    look_again: Time
    """Between two looks."""


class Options(Cited):
    """Options of mount(8) for one kind of file system."""

    options: str = Field(pattern=r"^[a-z0-9_=,.-]+$")


class MountOptions(Entry):
    """How file systems of a cloud are mounted."""

    nfs: Options
    lustre: Options


class NodeFacts(Entry):
    """All that rules about head nodes and names judge by."""

    head_memory: HeadMemory
    names: Names
    bucket_names: BucketNames
    waits: Waits
    mount_options: MountOptions

    def cited(self) -> Iterator[Cited]:
        """Give every section that cites a source."""
        yield from (self.head_memory, self.bucket_names, self.names.random_suffix, self.names.word)
        yield from self.names.most.values()
        yield from (self.waits.launch, self.waits.host_key)
        yield from (self.waits.placement, self.waits.look_again)
        yield from (self.mount_options.nfs, self.mount_options.lustre)


@cache
def load_node_facts(directory: Path = _HERE) -> NodeFacts:
    """Read and check nodes.yaml.

    Raises:
        CatalogError: a wrong value, or one without a listed source.

    """
    return load_cited(
        NodeFacts, directory / _FILE, lambda facts: ((row.source, "") for row in facts.cited())
    )
