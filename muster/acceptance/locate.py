"""From pair measurements to who is slow: node, rail, leaf or the whole fleet. Pure.

Screening rounds inside and across leaves; rounds for tests that were not valid; rounds that measure
who stands out against known-good partners; then the verdicts. How: docs/decisions/0004-locating.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite

from muster.acceptance.confirm import pair_with_good
from muster.acceptance.locate_model import (
    FleetVerdict,
    Kind,
    LeafVerdict,
    LocateVerdict,
    Measure,
    Measurement,
    NodeVerdict,
    PairClass,
    Policy,
)
from muster.acceptance.locate_verdicts import Evidence, conclude
from muster.acceptance.rail_study import PairTest, RailStudy, study_rail
from muster.acceptance.sequential import Judgement, event_rate, judge
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

RETRY_ROUNDS_MAX = 2
"""A node whose tests were not valid gets other partners at most so often."""

VALID_TESTS_MIN = 2
"""With fewer valid tests on a rail a node is measured again, or called untested."""

DEFAULT_POLICY = Policy()


def locate(fabric: Fabric, measure: Measure, policy: Policy = DEFAULT_POLICY) -> LocateVerdict:
    """Measure pairs round by round until every node can be judged, or the rounds run out."""
    campaign = _Campaign(fabric, measure, policy)
    for pairs in screening_plan(fabric, policy):
        campaign.run(pairs)
    campaign.retry_invalid()
    evidence = campaign.study()
    for _ in range(policy.confirm_rounds):
        pairs = pair_with_good(
            evidence.unsettled(),
            good=evidence.good(),
            leaf_of=campaign.leaf_of,
            met=campaign.met,
            low_leaves=evidence.low_leaves(),
        )
        if not pairs:
            break
        campaign.run(pairs)
        evidence = campaign.study()
    return conclude(evidence, rounds=tuple(campaign.rounds))


def screening_plan(fabric: Fabric, policy: Policy) -> list[Round]:
    """Plan the rounds that measure every node; what cannot run inside leaves runs across."""
    wanted = policy.intra_rounds + policy.cross_rounds
    intra = intra_rounds(fabric.leaves, policy.intra_rounds)
    cross = cross_rounds(fabric.leaves, wanted - len(intra))
    if not cross:
        return intra_rounds(fabric.leaves, wanted)
    return intra + cross


@dataclass(slots=True)
class _Campaign:
    """Keeps what was measured so far; the only place that calls `measure`."""

    fabric: Fabric
    measure: Measure
    policy: Policy
    rounds: list[tuple[Measurement, ...]] = field(default_factory=list)
    met: set[frozenset[str]] = field(default_factory=set)
    leaf_of: Mapping[str, str] = field(init=False)
    rails: tuple[int | None, ...] = field(init=False)
    tests: dict[int | None, list[PairTest]] = field(init=False)
    screening: int = 0
    """Number of rounds before the confirming ones."""

    def __post_init__(self) -> None:
        self.leaf_of = self.fabric.leaf_of()
        separately = self.policy.rails_separately
        self.rails = tuple(range(self.fabric.rails)) if separately else (None,)
        self.tests = {rail: [] for rail in self.rails}

    def run(self, pairs: Round) -> None:
        """Measure one round; what comes back for a pair that was not asked for is ignored."""
        asked = [Pair(a, b, rail) for a, b in pairs for rail in self.rails]
        answers = {_key(m.pair): m for m in self.measure(asked)}
        got = tuple(answers.get(_key(p)) or Measurement(p, None, valid=False) for p in asked)
        for measurement in got:
            self._keep(measurement)
        self.met.update(frozenset(pair) for pair in pairs)
        self.rounds.append(got)

    def _keep(self, measurement: Measurement) -> None:
        pair, value = measurement.pair, measurement.value
        if not measurement.valid or value is None or not isfinite(value) or value < 0:
            return
        kind: Kind = "intra" if self.leaf_of[pair.a] == self.leaf_of[pair.b] else "cross"
        test = PairTest(pair.a, pair.b, kind, value, measurement.counters, len(self.rounds))
        self.tests[pair.rail].append(test)

    def retry_invalid(self) -> None:
        """Give nodes with hardly a valid test a partner whose own tests were valid."""
        for _ in range(RETRY_ROUNDS_MAX):
            lacking = self._lacking()
            good = [node for node in self.leaf_of if node not in lacking]
            pairs = pair_with_good(lacking, good=good, leaf_of=self.leaf_of, met=self.met)
            if not pairs:
                break
            self.run(pairs)
        self.screening = len(self.rounds)

    def _lacking(self) -> list[str]:
        """Return nodes with fewer valid tests than needed on a rail, though tests were run."""
        valid = {rail: dict.fromkeys(self.leaf_of, 0) for rail in self.rails}
        for rail, test in ((r, t) for r in self.rails for t in self.tests[r]):
            valid[rail][test.a] += 1
            valid[rail][test.b] += 1
        failed = {
            node
            for m in chain.from_iterable(self.rounds)
            if not m.valid or m.value is None
            for node in (m.pair.a, m.pair.b)
        }
        return [
            node
            for node in self.leaf_of
            if node in failed and any(valid[rail][node] < VALID_TESTS_MIN for rail in self.rails)
        ]

    def study(self) -> Evidence:
        """Judge every node on every rail by all that was measured so far."""
        studies: dict[int | None, RailStudy] = {}
        judgements: dict[int | None, dict[str, Judgement]] = {}
        for rail in self.rails:
            study = study_rail(
                self.tests[rail], rail=rail, leaf_of=self.leaf_of, policy=self.policy
            )
            rate = event_rate(study.throughput, self.policy) if study.throughput else 0.0
            studies[rail] = study
            judgements[rail] = {
                node: judge(
                    node, study, usual_rate=rate, policy=self.policy, screening=self.screening
                )
                for node in self.leaf_of
            }
        return Evidence(self.fabric, self.policy, studies, judgements)


def _key(pair: Pair) -> tuple[frozenset[str], int | None]:
    return frozenset((pair.a, pair.b)), pair.rail
