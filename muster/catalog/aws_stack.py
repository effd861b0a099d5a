"""What the AWS stack is made with where the spec leaves it open, each with its source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from muster.catalog.citing import Citations, read_mapping, read_sources, validate
from muster.catalog.model import Entry

_HERE = Path(__file__).parent
_FILE = "aws_stack.yaml"

Positive = Annotated[int, Field(gt=0)]


class _Cited(Entry):
    source: str


class UserData(_Cited):
    """The most that an instance may be told at its first boot."""

    most_bytes: Positive


class RootDisk(_Cited):
    """The volume that a node boots from."""

    kind: str


class Metadata(_Cited):
    """Hops of the instance metadata service's answers."""

    slurm_hops: Positive
    kubernetes_hops: Positive


class BlockDrain(_Cited):
    """When the nodes of a Capacity Block are let go."""

    minutes_before_warning: Positive


class FileSystemMinutes(_Cited):
    """How long each step of a file system may take."""

    create: Positive
    update: Positive
    delete: Positive


class Lustre(_Cited):
    """The Lustre that new file systems speak."""

    version: str


class Retries(_Cited):
    """How patient the provider is."""

    most: Positive


class ManagedPolicies(_Cited):
    """Policies of AWS, by who has them."""

    node: tuple[str, ...]
    kubernetes_node: tuple[str, ...]
    kubernetes_cluster: tuple[str, ...]


class AwsStackFacts(Entry):
    """All that stacks/aws reads."""

    user_data: UserData
    root_disk: RootDisk
    metadata: Metadata
    block_drain: BlockDrain
    file_system_minutes: FileSystemMinutes
    lustre: Lustre
    retries: Retries
    managed_policies: ManagedPolicies

    def cited(self) -> Iterator[str]:
        """Give the source of every section."""
        yield from (section.source for _, section in self)


@cache
def load_aws_stack(directory: Path = _HERE) -> AwsStackFacts:
    """Read and check aws_stack.yaml.

    Raises:
        CatalogError: a wrong value, or one without a listed source.

    """
    facts = validate(AwsStackFacts, read_mapping(directory / _FILE), _FILE)
    citations = Citations(read_sources(directory))
    for source in facts.cited():
        citations.fact(None, source, _FILE)
    return facts
