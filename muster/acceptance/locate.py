"""From pair measurements to who is slow: node, rail, leaf or the whole fleet. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from muster.readiness import Verdict


@dataclass(frozen=True, slots=True)
class Fabric:
    """Who sits where: node names by leaf, and how many rails every node has."""

    leaves: Mapping[str, Sequence[str]]
    rails: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes to be measured against each other; `rail` None means all rails together."""

    a: str
    b: str
    rail: int | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """Bus bandwidth of a pair in B/s, the lower of both directions; None where not measured.

    `valid` False: the test broke or could not run; it never counts as slow. `counters` are deltas
    over the test, as {"retransmits": 3}.
    """

    pair: Pair
    value: float | None
    valid: bool
    counters: Mapping[str, float] = field(default_factory=dict)


Measure = Callable[[list[Pair]], list[Measurement]]
"""Called once a round with disjoint pairs (a pair may be listed once per rail)."""
