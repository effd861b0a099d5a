"""Which nodes and leaf uplinks explain the deviations of pair tests on one rail? Pure.

A pair is as slow as its slowest part: either node, or for pairs across leaves either uplink. So a
node is judged by its partners that are not low themselves, an uplink by its nodes that are fast
inside their leaf, and each is taken as low only after the worse ones were set aside.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from statistics import median

MAD_TO_SIGMA = 1.4826
"""Scales the median absolute deviation of normal noise to its standard deviation."""

MEDIAN_TO_MEAN = 1.25
"""A median of n normal values scatters 1.25 times as much as their mean."""

ITERATIONS_MAX = 6
"""Excluding low partners settles in two or three passes; the bound guards against swinging."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One valid test: how far it lies from the fleet's median; lower is worse."""

    a: str
    b: str
    cross: bool
    deviation: float
    round: int

    def partner(self, node: str) -> str:
        """Return the other node."""
        return self.b if node == self.a else self.a


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A deviation counts from `sigmas` standard errors on, and never below `least`."""

    sigmas: float
    least: float

    def at(self, sigma: float, n: int) -> float:
        """Return the limit for a median over `n` partners whose tests have noise `sigma`."""
        return max(self.sigmas * MEDIAN_TO_MEAN * sigma / sqrt(max(n, 1)), self.least)


@dataclass(frozen=True, slots=True)
class Effect:
    """Median deviation over partners, how many they are, and the number of tests with them."""

    value: float
    partners: int
    tests: int


@dataclass(slots=True)
class Effects:
    """Explanation of one rail's tests."""

    nodes: dict[str, Effect] = field(default_factory=dict)
    low_nodes: frozenset[str] = frozenset()
    low_leaves: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Explainer:
    """Tests of one rail by node, and from where on a node or an uplink is low."""

    tests: Mapping[str, list[Sample]]
    leaf_of: Mapping[str, str]
    sigma: float
    node_limit: Limit
    leaf_limit: Limit

    def explain(
        self,
        low_nodes: frozenset[str] = frozenset(),
        low_leaves: Mapping[str, float] | None = None,
    ) -> Effects:
        """Find low nodes and uplinks; what is passed in is already known to be low."""
        known_leaves = dict(low_leaves or {})
        found = Effects(low_nodes=low_nodes, low_leaves=known_leaves)
        for _ in range(ITERATIONS_MAX):
            before = found.low_nodes
            found.low_leaves = self._low_leaves(found.low_nodes, known_leaves)
            found.nodes = {
                node: effect
                for node in self.tests
                if (effect := self.node_effect(node, found)) is not None
            }
            found.low_nodes = low_nodes | {
                node for node, effect in found.nodes.items() if self._is_low(effect)
            }
            if found.low_nodes == before:
                break
        return found

    def clean(self, node: str, found: Effects) -> list[Sample]:
        """Return the node's tests that nothing else already explains."""
        return [
            sample
            for sample in self.tests.get(node, ())
            if sample.partner(node) not in found.low_nodes
            and not self.uplink_low(sample, found.low_leaves)
        ]

    def node_effect(self, node: str, found: Effects) -> Effect | None:
        """Judge a node by its good partners; if it has none, by all it has inside its leaf."""
        tests = self.clean(node, found) or [
            sample
            for sample in self.tests.get(node, ())
            if not self.uplink_low(sample, found.low_leaves)
        ]
        return _over_partners(node, tests)

    def _is_low(self, effect: Effect) -> bool:
        return effect.value < -self.node_limit.at(self.sigma, effect.partners)

    def uplink_low(self, sample: Sample, leaves: Mapping[str, float]) -> bool:
        """Does the test cross an uplink that is known to be low?"""
        return sample.cross and (
            self.leaf_of[sample.a] in leaves or self.leaf_of[sample.b] in leaves
        )

    def _low_leaves(
        self, low_nodes: frozenset[str], known: Mapping[str, float]
    ) -> dict[str, float]:
        """Set low uplinks aside one by one, the worst first."""
        members = self._members_fast_inside(low_nodes)
        low = dict(known)
        while True:
            effects = {
                leaf: effect
                for leaf, nodes in members.items()
                if leaf not in low
                and (effect := self._uplink_effect(nodes, low_nodes, low)) is not None
            }
            if not effects:
                return low
            worst = min(effects, key=lambda leaf: effects[leaf])
            low[worst] = effects[worst]

    def _members_fast_inside(self, low_nodes: frozenset[str]) -> dict[str, list[str]]:
        """Return by leaf the nodes whose tests inside the leaf are good: its uplink's witnesses."""
        members = defaultdict(list)
        for node in self.tests:
            inside = [s for s in self.tests[node] if not s.cross]
            fair = [s for s in inside if s.partner(node) not in low_nodes]
            effect = _over_partners(node, fair)
            if inside and effect is None and node in low_nodes:
                continue
            if effect is None or not self._is_low(effect):
                members[self.leaf_of[node]].append(node)
        return members

    def _uplink_effect(
        self, members: list[str], low_nodes: frozenset[str], low_leaves: Mapping[str, float]
    ) -> float | None:
        """Return how low an uplink is; None unless nearly all witnesses are low across leaves."""
        effects = []
        for node in members:
            fair = [
                s
                for s in self.tests[node]
                if s.cross
                and s.partner(node) not in low_nodes
                and not self.uplink_low(s, low_leaves)
            ]
            effect = _over_partners(node, fair)
            if effect is not None:
                effects.append(effect)
        if len(effects) < WITNESSES_MIN or sum(e.tests for e in effects) < UPLINK_TESTS_MIN:
            return None
        value = median(e.value for e in effects)
        limit = self.leaf_limit.at(self.sigma, sum(e.partners for e in effects))
        low = sum(e.value < -limit for e in effects)
        return value if value < -limit and low >= WITNESS_SHARE * len(effects) else None


WITNESSES_MIN = 2
"""One node that is slow across leaves says nothing about the others' uplink."""

UPLINK_TESTS_MIN = 6
"""Two rounds across leaves are four tests of a leaf of two: one noisy round lowers half of them."""

WITNESS_SHARE = 0.75
"""Share of witnesses that must be low; the rest may have met other slow parts, or luck."""


def by_node(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Group tests by each of their two nodes."""
    grouped: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        grouped[sample.a].append(sample)
        grouped[sample.b].append(sample)
    return dict(grouped)


def _over_partners(node: str, tests: Iterable[Sample]) -> Effect | None:
    """Take the median over partners of the median over tests: no partner counts twice."""
    values: dict[str, list[float]] = defaultdict(list)
    for sample in tests:
        values[sample.partner(node)].append(sample.deviation)
    if not values:
        return None
    tests_count = sum(map(len, values.values()))
    per_partner = [v[0] if len(v) == 1 else median(v) for v in values.values()]
    return Effect(median(per_partner), len(values), tests_count)
