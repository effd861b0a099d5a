"""How often is a single test of a node low, and how low: could that be luck? Pure.

Any test may be disturbed now and then. Learned from the fleet: how often that happens, and how
often a test is as low as this one. Few events that are as low as hardly any weigh as much as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, log
from typing import Self

import numpy as np

from muster.acceptance.locate_model import Policy
from muster.acceptance.medians import Index, Mask, Values

RATE_RANGE = (0.005, 0.15)
"""The fleet's own rate of low events is never taken as lower or higher than this."""

PRIOR = (1, 20)
"""Low events and tests counted beside those seen: a small fleet cannot show a low rate."""

FAULTY_SHARE = 0.01
FAULTY_SHARE_MAX = 0.2
"""Between these lies the share of nodes that fail now and then."""

RATE_PASSES = 6
ODDS_MAX = 50.0
"""Log odds from which on a node is faulty beyond doubt; more would overflow."""

WATCHED_LLR = -1.0
"""A node with a low event is measured on until its evidence has fallen so far."""

ROUNDS_MIN = 3
"""Low events in fewer rounds may be one disturbance, however low they were."""

DOUBT_MIN = 2
"""From so many on, low events may hold a node back."""

RAILS_SHARE = 0.5
"""Share of a node's rails that are low in a round in which the node itself fails."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LowEvents:
    """Tests by node and round: those that count, and those of them that were low."""

    low: Mask
    clean: Mask
    partner: Index
    count: Index
    """Low events of each node."""
    tests: Index
    llr: Values
    """Weight of the evidence for a fault (log likelihood ratio of Wald's sequential test)."""
    depth: Values
    """Deviation of each test; nan where there is none."""
    usual_depths: Values
    """Depths of all low events, the deepest first."""
    usual_weights: Values
    """How many events of good nodes are so deep: one value before each of them, and all."""
    weighed: float
    """Sum of the weights of all tests."""

    @classmethod
    def weigh(
        cls,
        low: Mask,
        clean: Mask,
        partner: Index,
        policy: Policy,
        *,
        depth: Values,
        apart: Mask | None = None,
    ) -> Self:
        """Weigh each node's low events against the fleet's rate, learned without those `apart`."""
        rate, weight = _usual_rate(low, clean, partner, policy.faulty_event_rate, apart)
        count, tests = low.sum(axis=1), clean.sum(axis=1)
        order = np.argsort(depth[low], kind="stable")
        deepest = depth[low][order]
        return cls(
            low=low,
            clean=clean,
            partner=partner,
            depth=depth,
            usual_depths=deepest,
            usual_weights=np.concatenate(([0.0], np.cumsum(weight[low][order]))),
            weighed=float((weight * clean).sum()),
            count=count,
            tests=tests,
            llr=_llr(count, tests, rate, policy.faulty_event_rate),
        )

    @classmethod
    def together(cls, rails: Sequence[LowEvents], policy: Policy) -> Self:
        """Take the rounds in which several rails of a node, and at least half, were low."""
        clean = np.sum([one.clean for one in rails], axis=0)
        low = np.sum([one.low for one in rails], axis=0)
        joint = (low > 1) & (low >= RAILS_SHARE * clean)
        with np.errstate(invalid="ignore"):
            depth = np.fmin.reduce([np.where(one.clean, one.depth, np.nan) for one in rails])
        return cls.weigh(joint, clean > 0, rails[0].partner, policy, depth=depth)

    def proved(self, *, screening: int, alarm: float, looks: int) -> Mask:
        """Return nodes that fail too often for luck, and did so again in a confirming round.

        `alarm` is the chance to name a good node, in as many `looks` at it.
        """
        candidates = (self.count >= ROUNDS_MIN) & self.low[:, screening:].any(axis=1)
        return self._unlucky(candidates, ROUNDS_MIN, alarm / looks)

    def stands_out(self, cleared: Mask, alarm: float) -> Mask:
        """Return nodes whose low events ask for more tests, or hold them back after enough.

        `alarm` is the chance to hold back a good node that had all its tests.
        """
        asked = ~cleared & (self.count > 0) & (self.llr > WATCHED_LLR)
        return asked | self._unlucky(cleared & (self.count >= DOUBT_MIN), DOUBT_MIN, alarm)

    def _unlucky(self, candidates: Mask, least: int, alarm: float) -> Mask:
        found = candidates.copy()
        for node in np.flatnonzero(candidates).tolist():
            found[node] = self._luck(node, least) < alarm
        return found

    def _luck(self, node: int, least: int) -> float:
        """Return the chance of a good node to have such low tests: so many, and so low."""
        depths = np.sort(self.depth[node][self.low[node]])[least - 1 :]
        lower = self.usual_weights[np.searchsorted(self.usual_depths, depths, side="right")]
        rates = np.minimum((lower + PRIOR[0]) / (self.weighed + PRIOR[1]), 1.0).tolist()
        tests = int(self.tests[node])
        chances = [_tail(tests, low, rate) for low, rate in enumerate(rates, start=least)]
        return min(min(chances) * len(chances), 1.0)


def event_limit(sigma: float, policy: Policy) -> float:
    """Return by how much a test must be lower than usual to be a low event."""
    return max(policy.event_sigmas * sigma, policy.event_fraction)


def _usual_rate(
    low: Mask, clean: Mask, partner: Index, faulty: float, apart: Mask | None
) -> tuple[float, Values]:
    """Learn good nodes' rate of low events, while faulty nodes are told apart by theirs.

    Two kinds of nodes, and how sure it is that a node is good, are estimated in turn; a test counts
    as far as both of its nodes are good.
    """
    count, tests = low.sum(axis=1), clean.sum(axis=1)
    lows, extra = PRIOR
    good = np.ones(len(low)) if apart is None else np.where(apart, 0.0, 1.0)
    candidate, share = good > 0, FAULTY_SHARE
    rate, weight = RATE_RANGE[1], np.zeros(low.shape)
    for _ in range(RATE_PASSES if candidate.any() else 0):
        weight = good[:, np.newaxis] * good[partner]
        rate = float(((weight * low).sum() + lows) / ((weight * clean).sum() + extra))
        rate = min(max(rate, RATE_RANGE[0]), RATE_RANGE[1])
        odds = log(share / (1 - share)) + _llr(count, tests, rate, faulty)
        good = np.where(candidate, 1 / (1 + np.exp(np.minimum(odds, ODDS_MAX))), 0.0)
        share = min(max(1 - float(good[candidate].mean()), FAULTY_SHARE), FAULTY_SHARE_MAX)
    return rate, weight


def _llr(count: Index, tests: Index, rate: float, faulty: float) -> Values:
    """Weigh low events of a faulty node against those of any node."""
    gain, loss = log(faulty / rate), log((1 - faulty) / (1 - rate))
    return count * gain + (tests - count) * loss


def _tail(tests: int, low: int, rate: float) -> float:
    """Return the chance of at least so many low events."""
    chances = (comb(tests, n) * rate**n * (1 - rate) ** (tests - n) for n in range(low, tests + 1))
    return sum(chances)
