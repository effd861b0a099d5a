"""A fleet that exists only as numbers, with faults to find: for simulations and benchmarks.

A pair is as fast as its slowest part, times noise. Nothing here was measured on hardware; the model
is that of the simulation study behind docs/decisions/0004-locating.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from muster.acceptance.locate_model import Measurement
from muster.fabric.model import Fabric, Pair

Part = tuple[str, int]
"""A node or leaf, and a rail."""


@dataclass(kw_only=True, slots=True)
class SimulatedFleet:
    """Answers like a measured fleet; speeds are shares of `rate_bps` (0.8: 20 % slow).

    `intermittent` maps a node to (chance per test, speed). `dead` nodes and their partners get no
    valid answer; `wrong` maps a node to the chance of a wrong result. `transient_rate` is the
    chance that a test is slowed by 5 to 30 % for no lasting reason; `slow_rounds` maps (node,
    round) to a speed.
    """

    fabric: Fabric
    seed: int
    rate_bps: float = 4.8e6
    noise: float = 0.01
    node_spread: float = 0.0
    transient_rate: float = 0.0
    nodes: Mapping[str, float] = field(default_factory=dict)
    rails: Mapping[Part, float] = field(default_factory=dict)
    uplinks: Mapping[Part, float] = field(default_factory=dict)
    retransmits: Mapping[Part, float] = field(default_factory=dict)
    uplink_retransmits: Mapping[Part, float] = field(default_factory=dict)
    intermittent: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    wrong: Mapping[str, float] = field(default_factory=dict)
    dead: frozenset[str] = frozenset()
    dead_from_round: int = 0
    slow_rounds: Mapping[tuple[str, int], float] = field(default_factory=dict)
    cross_share: float = 1.0
    """Speed of pairs across leaves where nothing is at fault."""
    calls: int = 0
    """Rounds measured so far."""
    _random: Random = field(init=False)
    _own: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 - a simulation, not a secret
        spread = self.node_spread
        self._own = {n: 1 + self._random.gauss(0, spread) for n in self.fabric.nodes()}

    def measure(self, pairs: list[Pair]) -> list[Measurement]:
        """Measure one round."""
        leaf_of = self.fabric.leaf_of()
        failing = {n: self._fails_now(n) for pair in pairs for n in (pair.a, pair.b)}
        answers = [self._answer(pair, leaf_of, failing) for pair in pairs]
        self.calls += 1
        return answers

    def _fails_now(self, node: str) -> float:
        chance, speed = self.intermittent.get(node, (0.0, 1.0))
        return speed if self._random.random() < chance else 1.0

    def _answer(
        self, pair: Pair, leaf_of: Mapping[str, str], failing: Mapping[str, float]
    ) -> Measurement:
        both = (pair.a, pair.b)
        if self.calls >= self.dead_from_round and self.dead.intersection(both):
            return Measurement(pair, None, valid=False)
        rails = range(self.fabric.rails) if pair.rail is None else (pair.rail,)
        crosses = leaf_of[pair.a] != leaf_of[pair.b]
        speed = sum(self._speed(both, rail, leaf_of, failing) for rail in rails) / len(rails)
        lost = sum(self.retransmits.get((node, rail), 0.0) for node in both for rail in rails)
        if crosses:
            ends = [leaf_of[node] for node in both]
            lost += sum(self.uplink_retransmits.get((e, rail), 0.0) for e in ends for rail in rails)
        if self._random.random() < self.transient_rate:
            speed *= 1 - self._random.uniform(0.05, 0.3)
        value = self.rate_bps * speed * max(0.0, 1 + self._random.gauss(0, self.noise))
        counters = {
            "retransmits": float(round(lost * self._random.uniform(0.7, 1.3)))
            + self._random.choice((0, 0, 0, 1)),
            "wrong": float(any(self._random.random() < self.wrong.get(n, 0.0) for n in both)),
        }
        return Measurement(pair, value, valid=True, counters=counters)

    def _speed(
        self,
        both: tuple[str, str],
        rail: int,
        leaf_of: Mapping[str, str],
        failing: Mapping[str, float],
    ) -> float:
        speed = min(
            self._own[node]
            * self.nodes.get(node, 1.0)
            * self.rails.get((node, rail), 1.0)
            * failing[node]
            * self.slow_rounds.get((node, self.calls), 1.0)
            for node in both
        )
        a, b = (leaf_of[node] for node in both)
        if a == b:
            return speed
        ends = (self.uplinks.get((leaf, rail), 1.0) for leaf in (a, b))
        return min(speed, self.cross_share, *ends)
