"""Which nodes and leaf uplinks explain the deviations of pair tests on one rail? Pure.

A pair is as slow as its slowest part: either node, or for pairs across leaves either uplink. So a
node is judged by its partners that are not low themselves, an uplink by its nodes that are fast
inside their leaf, and each is taken as low only after the worse ones were set aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muster.acceptance.medians import Index, Mask, Values, group_medians, row_medians
from muster.acceptance.pair_table import Seats

MAD_TO_SIGMA = 1.4826
"""Scales the median absolute deviation of normal noise to its standard deviation."""

MEDIAN_TO_MEAN = 1.25
"""A median of n normal values scatters 1.25 times as much as their mean."""

ITERATIONS_MAX = 6
"""Excluding low partners settles in two or three passes; the bound guards against swinging."""

WITNESSES_MIN = 2
"""One node that is slow across leaves says nothing about the others' uplink."""

UPLINK_TESTS_MIN = 6
"""Two rounds across leaves are four tests of a leaf of two: one noisy round lowers half of them."""

WITNESS_SHARE = 0.75
"""Share of witnesses that must be low; the rest may have met other slow parts, or luck."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A deviation counts from `sigmas` standard errors on, and never below `least`."""

    sigmas: float
    least: float

    def at(self, sigma: float, n: Index) -> Values:
        """Return the limit for medians over `n` partners whose tests have noise `sigma`."""
        error = self.sigmas * MEDIAN_TO_MEAN * sigma / np.sqrt(np.maximum(n, 1))
        return np.maximum(error, self.least)


@dataclass(frozen=True, slots=True)
class Effect:
    """By node: median deviation over partners (nan of none), how many, and tests with them."""

    value: Values
    partners: Index
    tests: Index


@dataclass(frozen=True, slots=True)
class Effects:
    """Explanation of one rail's tests; nodes and leaves are numbers."""

    nodes: Effect
    low_nodes: Mask
    low_leaves: Mapping[int, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Explainer:
    """Deviations of one rail's tests, and from where on a node or an uplink is low."""

    seats: Seats
    deviation: Values
    """How far a test lies from the fleet's median, lower is worse; nan where there is none."""
    sigma: float
    node_limit: Limit
    leaf_limit: Limit

    def explain(
        self,
        known_nodes: Mask | None = None,
        known_leaves: Mapping[int, float] | None = None,
    ) -> Effects:
        """Find low nodes and uplinks, beside those known to be."""
        none = np.zeros(len(self.deviation), dtype=bool)
        known = none if known_nodes is None else known_nodes
        valid = ~np.isnan(self.deviation)
        found = self._explain_once(valid, known, known, known_leaves or {})
        for _ in range(ITERATIONS_MAX - 1):
            again = self._explain_once(valid, found.low_nodes, known, known_leaves or {})
            settled = np.array_equal(again.low_nodes, found.low_nodes)
            found = again
            if settled:
                break
        return found

    def _explain_once(
        self, valid: Mask, low_nodes: Mask, known: Mask, known_leaves: Mapping[int, float]
    ) -> Effects:
        low_leaves = self._low_leaves(valid, low_nodes, known_leaves)
        nodes = self._node_effects(valid, low_nodes, low_leaves)
        return Effects(nodes, known | self._is_low(nodes), low_leaves)

    def clean(self, found: Effects) -> Mask:
        """Return where tests are that nothing but the node itself explains."""
        fair = ~np.isnan(self.deviation) & ~found.low_nodes[self.seats.partner]
        return fair & ~self.over_low_uplink(found.low_leaves)

    def over_low_uplink(self, low_leaves: Mapping[int, float]) -> Mask:
        """Return where tests cross an uplink that is known to be low."""
        if not low_leaves:
            return np.zeros_like(self.seats.cross)
        low = np.zeros(int(self.seats.leaf.max()) + 1, dtype=bool)
        low[list(low_leaves)] = True
        at_end = low[self.seats.leaf]
        return self.seats.cross & (at_end[:, np.newaxis] | at_end[self.seats.partner])

    def _node_effects(
        self, valid: Mask, low_nodes: Mask, low_leaves: Mapping[int, float]
    ) -> Effect:
        """Judge nodes by their good partners; one that has none by all that no uplink explains."""
        open_road = valid & ~self.over_low_uplink(low_leaves)
        clean = open_road & ~low_nodes[self.seats.partner]
        alone = ~clean.any(axis=1)
        clean[alone] = open_road[alone]
        return self._over_partners(clean)

    def _is_low(self, effect: Effect) -> Mask:
        with np.errstate(invalid="ignore"):
            return effect.value < -self.node_limit.at(self.sigma, effect.partners)

    def _low_leaves(
        self, valid: Mask, low_nodes: Mask, known: Mapping[int, float]
    ) -> dict[int, float]:
        """Set low uplinks aside one by one, the worst first."""
        low = dict(known)
        if not self.seats.cross.any():
            return low
        witness = self._fast_inside(valid, low_nodes)[:, np.newaxis]
        fair = witness & valid & self.seats.cross & ~low_nodes[self.seats.partner]
        while True:
            effects = self._uplink_effects(fair & ~self.over_low_uplink(low))
            worst = min(effects.items(), key=lambda item: item[1], default=None)
            if worst is None:
                return low
            low[worst[0]] = worst[1]

    def _fast_inside(self, valid: Mask, low_nodes: Mask) -> Mask:
        """Return nodes whose tests inside the leaf are good: witnesses of its uplink."""
        inside = valid & ~self.seats.cross
        effect = self._over_partners(inside & ~low_nodes[self.seats.partner])
        unjudged = effect.tests == 0
        return np.where(unjudged, ~(low_nodes & inside.any(axis=1)), ~self._is_low(effect))

    def _uplink_effects(self, fair: Mask) -> dict[int, float]:
        """Return by leaf how low its uplink is, where nearly all witnesses are low across."""
        effect = self._over_partners(fair, high=True)  # low in one round of two is no uplink
        seen = np.flatnonzero(effect.tests)
        leaf = self.seats.leaf[seen]
        leaves, value, witnesses = group_medians(effect.value[seen], leaf)
        size = int(leaves[-1]) + 1 if len(leaves) else 0
        tests = np.bincount(leaf, effect.tests[seen], size)[leaves]
        partners = np.bincount(leaf, effect.partners[seen], size)[leaves]
        limit = self.leaf_limit.at(self.sigma, partners)
        limit_of = np.zeros(size)
        limit_of[leaves] = limit
        low = np.bincount(leaf, effect.value[seen] < -limit_of[leaf], size)[leaves]
        blamed = (witnesses >= WITNESSES_MIN) & (tests >= UPLINK_TESTS_MIN)
        blamed &= (value < -limit) & (low >= WITNESS_SHARE * witnesses)
        return dict(zip(leaves[blamed].tolist(), value[blamed].tolist(), strict=True))

    def _over_partners(self, mask: Mask, *, high: bool = False) -> Effect:
        """Take the median over partners of the median over tests: no partner counts twice."""
        value, tests = row_medians(self.deviation, mask, high=high)
        partners = tests.copy()
        again = self.seats.repeated
        if len(again):
            row, column = np.nonzero(mask[again])
            node, size = again[row], len(mask)
            keys = node * size + self.seats.partner[node, column]
            pairs, per_partner, _ = group_medians(self.deviation[node, column], keys)
            nodes, medians, count = group_medians(per_partner, pairs // size, high=high)
            value[nodes], partners[nodes] = medians, count
        return Effect(value, partners, tests)
