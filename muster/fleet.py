"""The nodes that exist: who they are, where they sit, how to reach them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.errors import UsageError


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class Rail(_Document):
    """One compute-network interface of a node: rail `index` of its leaf."""

    index: int = Field(ge=0)
    interface: str
    """Its name on the node; empty where only the operating system knows it, as with EFA."""
    address: str
    """Its IPv4 address; empty where it has none, as an EFA interface."""


class Node(_Document):
    """One machine. `serial` names the hardware (or instance); `name` may be reused."""

    name: str
    serial: str
    pool: str
    type: str
    """Instance type; a key of the catalog."""
    address: str
    """Management address, IPv4."""
    host_key: str
    """Public SSH host key, "ssh-ed25519 AAAA…"."""
    leaf: str
    """Leaf switch of the node's rails; empty for the head, and where it is not known."""
    rails: tuple[Rail, ...] = ()
    switches: tuple[str, ...] = ()
    """Switches above the leaf, the top one first; none where they are not known."""
    domain: str = ""
    """Nodes with one memory fabric, as an UltraServer; empty where there is none."""
    ssh_host: str = ""
    """What ssh calls the node where that is not its address, as an instance id."""

    @property
    def host(self) -> str:
        """Host name for ssh."""
        return self.ssh_host or self.address


class SshAccess(_Document):
    """How the controller reaches every node."""

    user: str = "root"
    port: int = 22
    key_file: str
    known_hosts_file: str
    via: Literal["direct", "sessionManager"] = "direct"
    """Straight to the address, or through AWS Session Manager to the instance id."""
    region: str = ""
    """The AWS region of the fleet; empty elsewhere."""
    known_by: Literal["address", "serial"] = "address"
    """What the known_hosts file calls a node: a cloud gives an address to another node one day."""


class Mount(_Document):
    """A file system that every machine mounts."""

    path: str
    source: str
    """As mount(8) takes it: "fs-1.efs.us-east-2.amazonaws.com:/"."""
    kind: Literal["lustre", "nfs4"]
    options: str


class Fleet(_Document):
    """All nodes of a stack; `head` runs the scheduler and is not part of `nodes`."""

    stack: str
    target: str
    ssh: SshAccess
    head: Node
    nodes: tuple[Node, ...]
    shared_directory: str = "/shared"
    """Where every machine has the same files; empty where the fleet has no such file system."""
    mounts: tuple[Mount, ...] = ()
    """File systems that are mounted while converging; in a lab they are there from the start."""
    software: str = ""
    """Row of the version matrix that every machine has; empty where the image has it all."""

    def node(self, name: str) -> Node:
        """Find a node (or the head) by name.

        Raises:
            UsageError: no such node; the message lists the names that exist.

        """
        for node in (self.head, *self.nodes):
            if node.name == name:
                return node
        names = ", ".join(n.name for n in (self.head, *self.nodes))
        what = f"no node {name!r} in stack {self.stack}"
        raise UsageError(what, hint=f"Nodes: {names}.")

    def leaves(self) -> dict[str, list[str]]:
        """Return the names of the nodes at each leaf, in fleet order."""
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            found.setdefault(node.leaf, []).append(node.name)
        return found


def load_fleet(path: Path) -> Fleet:
    """Read fleet.json.

    Raises:
        UsageError: the file is missing (the stack was never brought up).

    """
    if not path.is_file():
        what = f"no fleet at {path}"
        raise UsageError(what, hint="Run `muster up` for this stack first.")
    return Fleet.model_validate_json(path.read_text(encoding="utf-8"))
