"""Labs for tests and benchmarks: made in one call, with a fleet to hand to other parts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from muster import shell
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.lab import image, network, node, teardown
from muster.lab.model import HEAD_NAME, LabNode, Network, NetworkWish, NodeWish
from muster.lab.paths import LabPaths, lab_paths
from muster.progress import Progress, silent
from muster.shell import Completed

_PARALLEL_BOOTS = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialLab:
    """A lab that is up."""

    wish: NetworkWish
    network: Network
    nodes: dict[str, LabNode]
    pool: str
    type: str

    @property
    def name(self) -> str:
        """Name of the lab."""
        return self.wish.lab

    @property
    def paths(self) -> LabPaths:
        """Files of the lab."""
        return lab_paths(self.wish.lab)

    def ssh(self, name: str, command: str, *, timeout_s: float = 60) -> Completed:
        """Run a shell command line on a node."""
        argv = [*node.ssh_argv(self.paths, self.nodes[name].address), "--", command]
        return shell.run(argv, timeout_s=timeout_s)

    def leaf_of(self, name: str) -> str:
        """Return the leaf of a node; empty for the head."""
        return next((leaf for leaf, nodes in self.wish.leaves.items() if name in nodes), "")

    def fleet(self, stack: str = "") -> Fleet:
        """Return the lab as other parts know it."""
        access = SshAccess(
            key_file=str(self.paths.key_file), known_hosts_file=str(self.paths.known_hosts)
        )
        members = [self._member(name) for name in self.wish.node_names() if name in self.nodes]
        return Fleet(
            stack=stack or self.name,
            target="lab",
            ssh=access,
            head=self._member(HEAD_NAME),
            nodes=tuple(members),
        )

    def _member(self, name: str) -> Node:
        made = self.nodes[name]
        rails = tuple(
            Rail(index=i, interface=f"rail{i}", address=address)
            for i, address in enumerate(made.rail_addresses)
        )
        head = name == HEAD_NAME
        return Node(
            name=name,
            serial=made.serial,
            pool=HEAD_NAME if head else self.pool,
            type="lab.head" if head else self.type,
            address=made.address,
            host_key=made.host_key,
            leaf=self.leaf_of(name),
            rails=rails,
        )


def network_wish(
    lab: str, *, nodes: int, leaves: int = 1, rails: int = 2, rail_rate_mbit: int = 40
) -> NetworkWish:
    """Return a network of nodes gpu-1, … spread over leaf0, …; its uplinks do not block."""
    names = [f"gpu-{i}" for i in range(1, nodes + 1)]
    each = -(-nodes // leaves)
    groups = {f"leaf{k}": tuple(names[k * each : (k + 1) * each]) for k in range(leaves)}
    return NetworkWish(
        lab=lab,
        rails=rails,
        rail_rate_mbit=rail_rate_mbit,
        uplink_rate_mbit=rail_rate_mbit * each,
        leaves={leaf: members for leaf, members in groups.items() if members},
    )


def node_wishes(
    wish: NetworkWish, *, pool: str = "train", type_: str = "lab.8gpu", gpus: int = 8
) -> list[NodeWish]:
    """Return the wishes for the head and every node of a network."""
    head = NodeWish(lab=wish.lab, name=HEAD_NAME, pool=HEAD_NAME, type="lab.head", ordinal=0)
    leaf_of = {name: leaf for leaf, nodes in wish.leaves.items() for name in nodes}
    others = [
        NodeWish(
            lab=wish.lab,
            name=name,
            pool=pool,
            type=type_,
            ordinal=ordinal,
            leaf=leaf_of[name],
            gpu_count=gpus,
            gpu_model="Muster Lab GPU",
            gpu_memory_mib=81920,
        )
        for ordinal, name in enumerate(wish.node_names(), start=1)
    ]
    return [head, *others]


def bring_up(
    wish: NetworkWish,
    *,
    project: Path | None = None,
    progress: Progress = silent,
    head: bool = True,
) -> TrialLab:
    """Make a lab, or adopt and repair it; returns when every node is up."""
    baked = image.ensure_image(progress)
    made = network.ensure_network(wish, project)
    wishes = node_wishes(wish)[0 if head else 1 :]
    with ThreadPoolExecutor(_PARALLEL_BOOTS) as pool:
        up = pool.map(lambda one: node.ensure_node(one, wish, baked, made, progress), wishes)
        nodes = {found.name: found for found in up}
    return TrialLab(wish=wish, network=made, nodes=nodes, pool="train", type="lab.8gpu")


def take_down(lab: str) -> None:
    """Remove a lab."""
    teardown.remove_lab(lab)
