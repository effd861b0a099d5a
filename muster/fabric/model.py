"""Who sits where in the compute network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.errors import UsageError


@dataclass(frozen=True, slots=True)
class Fabric:
    """Who sits where: node names by leaf, and how many rails every node has.

    Raises:
        UsageError: a node sits on two leaves, or there is no rail.

    """

    leaves: Mapping[str, Sequence[str]]
    rails: int

    def __post_init__(self) -> None:
        counts = Counter(self.nodes())
        twice = ", ".join(node for node, count in counts.items() if count > 1)
        if twice:
            raise UsageError(f"{twice} listed twice", where="fabric.leaves")
        if self.rails < 1:
            raise UsageError(f"{self.rails} rails, expected at least 1", where="fabric.rails")

    def nodes(self) -> tuple[str, ...]:
        """Return all nodes, leaf by leaf."""
        return tuple(node for members in self.leaves.values() for node in members)

    def leaf_of(self) -> dict[str, str]:
        """Return the leaf of every node."""
        return {node: leaf for leaf, members in self.leaves.items() for node in members}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes to be measured against each other; `rail` None means all rails together."""

    a: str
    b: str
    rail: int | None = None
