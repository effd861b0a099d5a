"""From pair measurements to who is slow: node, rail, leaf or the whole fleet. Pure.

Screening rounds inside and across leaves; rounds for tests that were not valid and for rounds that
were slow for everyone; rounds that measure who stands out against known-good partners; then the
verdicts. How: docs/decisions/0004-locating.md.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from muster.acceptance.confirm import controls, pair_with_good
from muster.acceptance.corruption import COUNTER as WRONG
from muster.acceptance.locate_evidence import Evidence
from muster.acceptance.locate_model import (
    FleetVerdict,
    LeafVerdict,
    LocateVerdict,
    Measure,
    Measurement,
    NodeVerdict,
    PairClass,
    Policy,
)
from muster.acceptance.locate_verdicts import conclude
from muster.acceptance.pair_table import PairTable
from muster.acceptance.rail_study import RailStudy, first_noise, study_rail
from muster.acceptance.sequential import Stage, judge_rails
from muster.acceptance.validity import lacking, latest_failed
from muster.fabric.model import Fabric, Pair
from muster.fabric.rounds import Round, cross_rounds, intra_rounds

__all__ = [
    "Fabric",
    "FleetVerdict",
    "LeafVerdict",
    "LocateVerdict",
    "Measure",
    "Measurement",
    "NodeVerdict",
    "Pair",
    "PairClass",
    "Policy",
    "locate",
]

DEFAULT_POLICY = Policy()


def locate(fabric: Fabric, measure: Measure, policy: Policy = DEFAULT_POLICY) -> LocateVerdict:
    """Measure pairs round by round until every node can be judged, or the rounds run out."""
    campaign = _Campaign(fabric, measure, policy)
    planned = screening_plan(fabric, policy)
    for pairs in planned:
        campaign.run(pairs)
    campaign.most = len(planned) + policy.confirm_rounds
    campaign.retry_invalid()
    campaign.repeat_disturbed(planned)
    campaign.screening = len(campaign.rounds)
    evidence = campaign.study()
    while campaign.left:
        good, low_leaves = evidence.good(), evidence.low_leaves()
        pairs = pair_with_good(
            evidence.unsettled(),
            good=good,
            leaf_of=campaign.leaf_of,
            met=campaign.met,
            low_leaves=low_leaves,
        )
        if not pairs:
            break
        campaign.run(pairs + controls(pairs, good, campaign.leaf_of, low_leaves))
        campaign.retry_invalid()
        evidence = campaign.study()
    return conclude(campaign.study(last=True), tuple(campaign.rounds))


def screening_plan(fabric: Fabric, policy: Policy) -> list[Round]:
    """Plan the rounds that measure every node; what cannot run inside leaves runs across."""
    wanted = policy.intra_rounds + policy.cross_rounds
    intra = intra_rounds(fabric.leaves, policy.intra_rounds)
    cross = cross_rounds(fabric.leaves, wanted - len(intra))
    if not cross:
        return intra_rounds(fabric.leaves, wanted)
    return intra + cross


class _Campaign:
    """Keeps what was measured so far; the only place that calls `measure`."""

    def __init__(self, fabric: Fabric, measure: Measure, policy: Policy) -> None:
        self.leaf_of = fabric.leaf_of()
        self.rails = tuple(range(fabric.rails)) if policy.rails_separately else (None,)
        self.table = PairTable(fabric, self.rails, (*policy.counter_limits, WRONG))
        self.rounds: list[tuple[Measurement, ...]] = []
        self.met: set[frozenset[str]] = set()
        self.screening = 0
        """Number of rounds before the confirming ones."""
        self.most = 0
        """At most so many rounds in all."""
        self._measure, self._policy = measure, policy
        self._retried: set[str] = set()
        """Nodes that got another partner after a test that was not valid: once each."""
        self._noise: float | None = None
        self._studies: dict[int | None, RailStudy] = {}

    @property
    def left(self) -> int:
        """How many rounds may still be measured."""
        return self.most - len(self.rounds)

    def run(self, pairs: Round) -> None:
        """Measure one round; what comes back for a pair that was not asked for is ignored."""
        asked = [Pair(a, b, rail) for a, b in pairs for rail in self.rails]
        got = _in_order(asked, self._measure(asked))
        self.table.add(pairs, got)
        self.met.update(frozenset(pair) for pair in pairs)
        self.rounds.append(tuple(got))

    def retry_invalid(self) -> None:
        """Give nodes whose tests were not valid one more partner, whose own tests were."""
        seats = self.table.seats()
        doubtful = np.zeros(len(self.table.names), dtype=bool)
        for place in range(len(self.rails)):
            tests = self.table.rail(place, seats)
            doubtful |= latest_failed(tests)
            doubtful[list(lacking(tests, self._policy.valid_share_min))] = True
        names = [self.table.names[node] for node in np.flatnonzero(doubtful).tolist()]
        wanted = [name for name in names if name not in self._retried]
        if not wanted or not self.left:
            return
        good = [self.table.names[node] for node in np.flatnonzero(~doubtful).tolist()]
        pairs = pair_with_good(wanted, good=good, leaf_of=self.leaf_of, met=self.met)
        if pairs:
            self._retried.update(node for node, _ in pairs)
            self.run(pairs)

    def repeat_disturbed(self, planned: list[Round]) -> None:
        """Measure again the rounds that were slow for most; at most half of what is left."""
        disturbed = np.flatnonzero(self.study().disturbed()).tolist()
        for number in disturbed[: self.left // 2]:
            if number < len(planned):
                self.run(planned[number])

    def study(self, *, last: bool = False) -> Evidence:
        """Judge every node on every rail by all that was measured so far."""
        seats = self.table.seats()
        tests = {rail: self.table.rail(place, seats) for place, rail in enumerate(self.rails)}
        if self._noise is None:
            self._noise = first_noise(tests.values())
        for rail, of_rail in tests.items():
            before = self._studies.get(rail)
            if before is None or before.tests.speed.shape != of_rail.speed.shape:
                self._studies[rail] = study_rail(
                    of_rail, rail=rail, policy=self._policy, noise=self._noise, before=before
                )
        stage = Stage(screening=self.screening, last=last, rails=len(self.rails))
        judgements = judge_rails(self._studies, policy=self._policy, stage=stage)
        return Evidence(self.table, self._policy, dict(self._studies), judgements)


def _in_order(asked: list[Pair], answers: Iterable[Measurement]) -> list[Measurement]:
    """Sort answers as they were asked for; a pair without one was not measured."""
    answers = list(answers)
    if len(answers) == len(asked) and all(
        m.pair is pair for m, pair in zip(answers, asked, strict=True)
    ):
        return answers
    found = {_key(m.pair): m for m in answers}
    return [found.get(_key(pair)) or Measurement(pair, None, valid=False) for pair in asked]


def _key(pair: Pair) -> tuple[frozenset[str], int | None]:
    return frozenset((pair.a, pair.b)), pair.rail
