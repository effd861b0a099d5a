"""From pair measurements to who is slow: node, rail, leaf or the whole fleet. Pure.

Screening rounds inside and across leaves; rounds for tests that were not valid; rounds that measure
who stands out against known-good partners; then the verdicts. How: docs/decisions/0004-locating.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

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
from muster.acceptance.rail_study import PairTest, RailStudy, first_noise, study_rail
from muster.acceptance.sequential import Judgement, event_rate, judge
from muster.acceptance.validity import Attempts, attempts, usable
from muster.fabric.model import Fabric, Pair
from muster.fabric.rounds import Round, cross_rounds, intra_rounds
from muster.readiness import Verdict

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
    for pairs in screening_plan(fabric, policy):
        campaign.run(pairs)
    campaign.retry_invalid()
    campaign.screening = len(campaign.rounds)
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
        campaign.retry_invalid()
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
    retried: set[str] = field(default_factory=set)
    """Nodes that got another partner after a test that was not valid: once each."""
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
        if value is None or not usable(measurement):
            return
        kind: Kind = "intra" if self.leaf_of[pair.a] == self.leaf_of[pair.b] else "cross"
        test = PairTest(pair.a, pair.b, kind, value, measurement.counters, len(self.rounds))
        self.tests[pair.rail].append(test)

    def retry_invalid(self) -> None:
        """Give nodes whose tests were not valid one more partner, whose own tests were."""
        share = self.policy.valid_share_min
        doubtful = {
            node
            for by_node in self._attempts().values()
            for node, made in by_node.items()
            if made.latest_failed() or made.lacking(share)
        }
        wanted = [n for n in self.leaf_of if n in doubtful and n not in self.retried]
        good = [node for node in self.leaf_of if node not in doubtful]
        pairs = pair_with_good(wanted, good=good, leaf_of=self.leaf_of, met=self.met)
        if pairs:
            self.retried.update(node for node, _ in pairs)
            self.run(pairs)

    def _attempts(self) -> dict[int | None, dict[str, Attempts]]:
        return attempts(chain.from_iterable(self.rounds), self.leaf_of)

    def study(self) -> Evidence:
        """Judge every node on every rail by all that was measured so far."""
        noise = first_noise(self.tests.values())
        made = self._attempts()
        studies = {
            rail: study_rail(
                tests, rail=rail, leaf_of=self.leaf_of, policy=self.policy, noise=noise
            )
            for rail, tests in self.tests.items()
        }
        judgements = {
            rail: self._judge_all(study, made.get(rail, {})) for rail, study in studies.items()
        }
        return Evidence(self.fabric, self.policy, studies, judgements)

    def _judge_all(self, study: RailStudy, made: Mapping[str, Attempts]) -> dict[str, Judgement]:
        rate = event_rate(study.throughput, self.policy) if study.throughput else 0.0
        found = {}
        for node in self.leaf_of:
            lacking = made[node].lacking(self.policy.valid_share_min) if made else "not measured"
            found[node] = (
                Judgement(verdict=Verdict.UNTESTED, reason=lacking)
                if lacking
                else judge(
                    node, study, usual_rate=rate, policy=self.policy, screening=self.screening
                )
            )
        return found


def _key(pair: Pair) -> tuple[frozenset[str], int | None]:
    return frozenset((pair.a, pair.b)), pair.rail
