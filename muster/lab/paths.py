"""Where a lab keeps its files, and how its objects on this machine are named."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from muster.errors import UsageError

_LAB_NAME = re.compile(r"[a-z][a-z0-9]{0,7}")
_NODE_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
FABRIC = "fabric"
"""Name of the network namespace with all bridges of the fabric; no node may have it."""


def lab_root() -> Path:
    """Return the directory of all labs and images of this machine."""
    return Path(os.environ.get("MUSTER_LAB_ROOT") or "/var/lib/muster").absolute()


@dataclass(frozen=True, slots=True)
class NodePaths:
    """Files of one node. `upper` is what the node changed; `merged` is its root while it is up."""

    directory: Path

    @property
    def upper(self) -> Path:
        """The node's own layer."""
        return self.directory / "upper"

    @property
    def work(self) -> Path:
        """Scratch space of overlayfs."""
        return self.directory / "work"

    @property
    def merged(self) -> Path:
        """Mount point of the node's root."""
        return self.directory / "merged"

    @property
    def root(self) -> Path:
        """Where the node's files can be changed: its root, or its layer while it is down."""
        return self.merged if self.merged.is_mount() else self.upper

    @property
    def console(self) -> Path:
        """What the node prints at boot."""
        return self.directory / "console.log"

    @property
    def record(self) -> Path:
        """What the node was made as: wish and image."""
        return self.directory / "node.json"


@dataclass(frozen=True, slots=True)
class LabPaths:
    """Files of one lab, and the names of its namespaces, links and cgroups."""

    lab: str
    root: Path

    @property
    def directory(self) -> Path:
        """All files of the lab."""
        return self.root / "labs" / self.lab

    @property
    def nodes(self) -> Path:
        """Directory of the nodes' directories."""
        return self.directory / "nodes"

    @property
    def shared(self) -> Path:
        """The directory that every node sees as /shared."""
        return self.directory / "shared"

    @property
    def key_file(self) -> Path:
        """Private key that logs in to every node."""
        return self.directory / "ssh" / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """Host keys of all nodes."""
        return self.directory / "ssh" / "known_hosts"

    @property
    def network_file(self) -> Path:
        """The network as it was wished for, and its range."""
        return self.directory / "network.json"

    @property
    def owner_file(self) -> Path:
        """Which project directory made the lab."""
        return self.directory / "owner.json"

    @property
    def faults_file(self) -> Path:
        """Faults that are active."""
        return self.directory / "faults.json"

    @property
    def bridge(self) -> str:
        """Name of the management bridge."""
        return f"{self.lab}-br0"

    @property
    def fabric_netns(self) -> str:
        """Name of the fabric's network namespace."""
        return f"{self.lab}-{FABRIC}"

    @property
    def cgroup(self) -> str:
        """Name of the lab's cgroup in every hierarchy."""
        return f"muster-{self.lab}"

    @property
    def prefix(self) -> str:
        """Beginning of every namespace and link name; no lab name has a dash, so it is exact."""
        return f"{self.lab}-"

    def lock(self, what: str) -> Path:
        """Path of a lock file; it outlives what it guards, so it is not in `directory`."""
        return self.root / "locks" / f"{self.lab}.{what}.lock"

    def node(self, name: str) -> NodePaths:
        """Files of one node."""
        return NodePaths(self.nodes / name)

    def machine(self, node: str) -> str:
        """Name of a node's namespace and machine."""
        return f"{self.lab}-{node}"


def lab_paths(lab: str, root: Path | None = None) -> LabPaths:
    """Return the paths of a lab.

    Raises:
        UsageError: the name is not one that fits into interface names.

    """
    if not _LAB_NAME.fullmatch(lab):
        what = f"bad lab name {lab!r}"
        raise UsageError(what, hint="Use a letter, then up to 7 letters or digits, lower case.")
    return LabPaths(lab, lab_root() if root is None else root)


def check_node_name(name: str) -> None:
    """Refuse a name that cannot be a host name, or that is ours.

    Raises:
        UsageError: as said.

    """
    if name == FABRIC or not _NODE_NAME.fullmatch(name):
        what = f"bad node name {name!r}"
        hint = f"Use lower-case letters, digits and dashes, not {FABRIC!r}."
        raise UsageError(what, hint=hint)
