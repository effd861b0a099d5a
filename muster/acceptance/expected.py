"""What should a node be? Pure: its instance type and its place in the fleet."""

from __future__ import annotations

from dataclasses import dataclass

from muster.acceptance.floors import memory_share_min
from muster.catalog.model import Catalog, InstanceType
from muster.fleet import Node


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedRail:
    """One compute-network interface; the rate is None where no source states it."""

    index: int
    interface: str
    address: str
    rate_mbit: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """All that static checks compare with; a None is a value that no source states."""

    node: str
    serial: str
    shape: str
    gpu_count: int
    gpu_model: str
    cpus: int | None
    """None where the node shares its cores, so that its own count says nothing."""
    memory_min_mib: float
    rails: tuple[ExpectedRail, ...]
    memlock_unlimited: bool
    min_nofile: int


_MIN_NOFILE = 1024
"""Where the catalog states none: the least that any Linux login has."""


def expected_of(node: Node, kind: InstanceType, catalog: Catalog) -> Expected:
    """Put together what the catalog and the fleet say of a node."""
    rates = [rail.rate_mbit for rail in kind.rails]
    rails = tuple(
        ExpectedRail(
            index=rail.index,
            interface=rail.interface,
            address=rail.address,
            rate_mbit=rates[rail.index] if rail.index < len(rates) else None,
        )
        for rail in node.rails
    )
    return Expected(
        node=node.name,
        serial=node.serial,
        shape=kind.name,
        gpu_count=kind.gpu_count,
        gpu_model=kind.gpu_model,
        cpus=None if kind.shared_cpus else kind.vcpus,
        memory_min_mib=kind.memory_mib * (memory_share_min(catalog, kind) or 1.0),
        rails=rails,
        memlock_unlimited=bool(kind.memlock_unlimited),
        min_nofile=kind.min_nofile or _MIN_NOFILE,
    )
