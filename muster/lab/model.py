"""What a lab is asked to be, and what it then is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

HEAD_NAME = "head"


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkWish:
    """One management bridge, and per rail a plane of leaf bridges under one spine bridge.

    `leaves` maps a leaf to its nodes in order; every node's rails all go to its own leaf. Node
    `ordinal` n (1-based over all leaves in order) has management address .0.(10+n) and address n on
    each rail; the head is ordinal 0 and has no rails.
    """

    lab: str
    rails: int
    rail_rate_mbit: int
    uplink_rate_mbit: int
    leaves: Mapping[str, tuple[str, ...]]

    def node_names(self) -> tuple[str, ...]:
        """Return all nodes with rails, by ordinal (the first has ordinal 1)."""
        return tuple(name for nodes in self.leaves.values() for name in nodes)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeWish:
    """One lab node. `gpu_count` 0 makes a node without the stub of the vendor's tool."""

    lab: str
    name: str
    pool: str
    type: str
    ordinal: int
    leaf: str = ""
    gpu_count: int = 0
    gpu_model: str = ""
    gpu_memory_mib: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A baked root file system; `digest` names the recipe it was made by."""

    path: Path
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A lab network that exists; `management_cidr` was free on this machine when it was made."""

    lab: str
    management_cidr: str
    gateway: str
    rail_cidrs: tuple[str, ...]


class NodeState(StrEnum):
    """Is the node there? FROZEN: its processes do not run, as on a hung host."""

    RUNNING = "running"
    FROZEN = "frozen"
    DEAD = "dead"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True, slots=True)
class LabNode:
    """A lab node that booted. `boot_id` changes with every boot of this node."""

    name: str
    serial: str
    address: str
    rail_addresses: tuple[str, ...]
    host_key: str
    boot_id: str
