"""A fleet that exists only as numbers, with faults to find: for simulations and benchmarks.

A pair is as fast as its slowest part, times noise. Nothing here was measured on hardware; the model
is that of the simulation study behind docs/decisions/0004-locating.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muster.acceptance.locate_model import Measurement
from muster.acceptance.medians import Index, Values
from muster.fabric.model import Fabric, Pair

Part = tuple[str, int]
"""A node or leaf, and a rail."""

TRANSIENT_DROP = (0.05, 0.3)
STRAY_RETRANSMITS = 0.25
"""Chance that a test without any loss still counts one retransmit."""


@dataclass(kw_only=True, slots=True)
class SimulatedFleet:
    """Answers like a measured fleet; speeds are shares of `rate_bps` (0.8: 20 % slow).

    `intermittent` maps a node to (chance per test, speed). `dead` nodes and their partners get no
    valid answer; `broken` maps a node to the chance that a test with it is not valid, `wrong` to
    the chance of a wrong result. `transient_rate` is the chance that a test is slowed by 5 to 30 %
    for no lasting reason; `slow_rounds` maps (node, round) to a speed.
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
    broken: Mapping[str, float] = field(default_factory=dict)
    dead: frozenset[str] = frozenset()
    dead_from_round: int = 0
    slow_rounds: Mapping[tuple[str, int], float] = field(default_factory=dict)
    cross_share: float = 1.0
    """Speed of pairs across leaves where nothing is at fault."""
    calls: int = 0
    """Rounds measured so far."""
    _random: np.random.Generator = field(init=False)
    _index: dict[str, int] = field(init=False)
    _leaf: Index = field(init=False)
    _speed: Values = field(init=False)
    _uplink: Values = field(init=False)
    _lost: Values = field(init=False)
    _uplink_lost: Values = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        names = self.fabric.nodes()
        self._index = {name: number for number, name in enumerate(names)}
        leaf_index = {leaf: number for number, leaf in enumerate(self.fabric.leaves)}
        sizes = [len(members) for members in self.fabric.leaves.values()]
        self._leaf = np.repeat(np.arange(len(sizes)), sizes)
        rails = self.fabric.rails
        own = 1 + self._random.normal(0, self.node_spread, (len(names), 1))
        self._speed = np.tile(own, (1, rails))
        for node, speed in self.nodes.items():
            self._speed[self._index[node]] *= speed
        for (node, rail), speed in self.rails.items():
            self._speed[self._index[node], rail] *= speed
        self._uplink = _table(self.uplinks, leaf_index, rails, 1.0)
        self._lost = _table(self.retransmits, self._index, rails, 0.0)
        self._uplink_lost = _table(self.uplink_retransmits, leaf_index, rails, 0.0)

    def measure(self, pairs: list[Pair]) -> list[Measurement]:
        """Measure one round."""
        if not pairs:
            return []
        a = np.array([self._index[pair.a] for pair in pairs])
        b = np.array([self._index[pair.b] for pair in pairs])
        together = pairs[0].rail is None
        rail = np.array([0 if pair.rail is None else pair.rail for pair in pairs])
        value = self._values(a, b, rail, together=together)
        valid = ~self._chance(self.broken, a, b)
        if self.calls >= self.dead_from_round and self.dead:
            dead = np.zeros(len(self._leaf), dtype=bool)
            dead[[self._index[node] for node in self.dead]] = True
            valid &= ~(dead[a] | dead[b])
        lost = self._losses(a, b, rail, together=together)
        wrong = self._chance(self.wrong, a, b)
        self.calls += 1
        rows = zip(
            pairs, value.tolist(), valid.tolist(), lost.tolist(), wrong.tolist(), strict=True
        )
        return [
            Measurement(pair, speed, valid=True, counters={"retransmits": count, "wrong": bad})
            if good
            else Measurement(pair, None, valid=False)
            for pair, speed, good, count, bad in rows
        ]

    def groups(self, groups: Sequence[Sequence[str]]) -> list[float]:
        """Measure groups of nodes at the same time: each as fast as its slowest part."""
        found = []
        now = self._now()
        for members in groups:
            nodes = np.array([self._index[name] for name in members])
            speed = (self._speed[nodes] * now[nodes, np.newaxis]).min()
            leaves = np.unique(self._leaf[nodes])
            if len(leaves) > 1:
                speed = min(speed, self._uplink[leaves].min(), self.cross_share)
            found.append(float(self._disturb(np.array([speed]))[0]))
        self.calls += 1
        return found

    def _now(self) -> Values:
        """Return the speed of each node in this round beside its lasting one."""
        now = np.ones(len(self._leaf))
        for node, (chance, speed) in self.intermittent.items():
            if self._random.random() < chance:
                now[self._index[node]] = speed
        for (node, number), speed in self.slow_rounds.items():
            if number == self.calls:
                now[self._index[node]] *= speed
        return now

    def _values(self, a: Index, b: Index, rail: Index, *, together: bool) -> Values:
        now = self._now()
        speed = self._speed * now[:, np.newaxis]
        if together:
            by_rail = np.minimum(speed[a], speed[b])
            ends = np.minimum(self._uplink[self._leaf[a]], self._uplink[self._leaf[b]])
        else:
            by_rail = np.minimum(speed[a, rail], speed[b, rail])[:, np.newaxis]
            ends = np.minimum(self._uplink[self._leaf[a], rail], self._uplink[self._leaf[b], rail])
            ends = ends[:, np.newaxis]
        crosses = (self._leaf[a] != self._leaf[b])[:, np.newaxis]
        reached = np.where(
            crosses, np.minimum(by_rail, np.minimum(ends, self.cross_share)), by_rail
        )
        return self._disturb(reached.mean(axis=1))

    def _disturb(self, speed: Values) -> Values:
        size = len(speed)
        hit = self._random.random(size) < self.transient_rate
        drop = self._random.uniform(*TRANSIENT_DROP, size)
        noise = np.maximum(0.0, 1 + self._random.normal(0, self.noise, size))
        values: Values = self.rate_bps * np.where(hit, speed * (1 - drop), speed) * noise
        return values

    def _losses(self, a: Index, b: Index, rail: Index, *, together: bool) -> Values:
        crosses = self._leaf[a] != self._leaf[b]
        nodes = self._lost[a] + self._lost[b]
        uplinks = self._uplink_lost[self._leaf[a]] + self._uplink_lost[self._leaf[b]]
        lost = nodes + uplinks * crosses[:, np.newaxis]
        count = lost.sum(axis=1) if together else lost[np.arange(len(a)), rail]
        size = len(a)
        stray = self._random.random(size) < STRAY_RETRANSMITS
        counts: Values = np.round(count * self._random.uniform(0.7, 1.3, size)) + stray
        return counts

    def _chance(self, chances: Mapping[str, float], a: Index, b: Index) -> NDArray[np.bool_]:
        """Draw for each pair whether it happens at one of its nodes."""
        found = np.zeros(len(a), dtype=bool)
        for node, chance in chances.items():
            at = (a == self._index[node]) | (b == self._index[node])
            found |= at & (self._random.random(len(a)) < chance)
        return found


def _table(
    values: Mapping[Part, float], index: Mapping[str, int], rails: int, usual: float
) -> Values:
    table = np.full((len(index), rails), usual)
    for (name, rail), value in values.items():
        table[index[name], rail] = value
    return table
