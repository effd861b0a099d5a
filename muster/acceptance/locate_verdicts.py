"""From what each rail says to verdicts on nodes, leaves and the fleet. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median

from muster.acceptance.corruption import Corruption, find_corruption
from muster.acceptance.fleet_judgement import FleetEvidence, weigh_fleet
from muster.acceptance.floor_judgement import judge_by_floor
from muster.acceptance.locate_model import (
    LeafVerdict,
    LocateVerdict,
    Measurement,
    NodeVerdict,
    Policy,
)
from muster.acceptance.rail_study import RailStudy
from muster.acceptance.sequential import Judgement
from muster.fabric.model import Fabric
from muster.readiness import Verdict

GRAVITY = (Verdict.QUARANTINED, Verdict.SUSPECT, Verdict.UNTESTED, Verdict.ACCEPTED)
"""The gravest verdict of its rails is the node's."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that is known after some round."""

    fabric: Fabric
    policy: Policy
    studies: Mapping[int | None, RailStudy]
    judgements: Mapping[int | None, Mapping[str, Judgement]]

    def corruption(self) -> Corruption:
        """Return who delivered wrong results, on any rail."""
        return find_corruption(test for study in self.studies.values() for test in study.tests)

    def unsettled(self) -> list[str]:
        """Return nodes that another test may settle, the most suspect first."""
        corrupt = self.corruption()
        weight = {
            node: max(by_rail[node].llr for by_rail in self.judgements.values())
            for node in self.fabric.nodes()
            if node in corrupt.suspects
            or any(not by_rail[node].settled for by_rail in self.judgements.values())
        }
        return sorted(weight, key=lambda node: -weight[node])

    def good(self) -> list[str]:
        """Return nodes against which others can be measured."""
        corrupt = self.corruption()
        return [
            node
            for node in self.fabric.nodes()
            if node not in corrupt.guilty | corrupt.suspects
            and all(j[node].verdict is Verdict.ACCEPTED for j in self.judgements.values())
        ]

    def low_leaves(self) -> set[str]:
        """Return leaves with a low uplink on any rail."""
        return {leaf for study in self.studies.values() for leaf in uplinks(study)}


def uplinks(study: RailStudy) -> dict[str, str]:
    """Return the low uplinks of a rail, each with the reason."""
    found = {}
    for name, counted in study.counters.items():
        usual = study.counter_usual[name]
        for leaf, effect in counted.effects.low_leaves.items():
            found[leaf] = f"{name} across leaves: {usual - effect:.0f} per test, usual {usual:.0f}"
    if study.throughput:
        for leaf, effect in study.throughput.effects.low_leaves.items():
            found[leaf] = f"{effect:+.1%} across leaves, while its nodes are fast inside the leaf"
    return found


def conclude(evidence: Evidence, *, rounds: tuple[tuple[Measurement, ...], ...]) -> LocateVerdict:
    """Give every node, every leaf at fault, and the fleet its verdict."""
    fleet = weigh_fleet(evidence.studies, evidence.fabric, evidence.policy)
    corrupt = evidence.corruption()
    nodes = {
        node: _node_verdict(node, evidence, fleet=fleet, corrupt=corrupt, rounds=rounds)
        for node in evidence.fabric.nodes()
    }
    return LocateVerdict(
        nodes=nodes,
        leaves=_leaf_verdicts(evidence, fleet),
        fleet=fleet.verdict,
        rounds=len(rounds),
        untested=tuple(n for n, v in nodes.items() if v.verdict is Verdict.UNTESTED),
        measurements=rounds,
        classes=tuple(c for study in evidence.studies.values() for c in study.classes.values()),
    )


def _node_verdict(
    node: str,
    evidence: Evidence,
    *,
    fleet: FleetEvidence,
    corrupt: Corruption,
    rounds: tuple[tuple[Measurement, ...], ...],
) -> NodeVerdict:
    measured = sum(any(m.valid and node in (m.pair.a, m.pair.b) for m in r) for r in rounds)
    by_rail = {rail: _on_rail(node, rail, evidence, fleet) for rail in evidence.judgements}
    gravest = min((j.verdict for j in by_rail.values()), key=GRAVITY.index)
    at_fault = [rail for rail, j in by_rail.items() if j.verdict is gravest]
    if gravest is Verdict.QUARANTINED:
        accused = (Verdict.QUARANTINED, Verdict.SUSPECT)
        if all(j.verdict in accused for j in by_rail.values()):
            at_fault = list(by_rail)
    worst = min((by_rail[rail] for rail in at_fault), key=lambda j: j.effect)
    effects = [by_rail[rail].effect for rail in at_fault]
    verdict = NodeVerdict(
        verdict=gravest,
        component=_component(at_fault, evidence) if gravest is not Verdict.ACCEPTED else "",
        effect=median(effects) if len(at_fault) == len(by_rail) else worst.effect,
        rounds=measured,
        llr=max(j.llr for j in by_rail.values()),
        reason=worst.reason,
    )
    return _with_corruption(node, verdict, corrupt)


def _with_corruption(node: str, verdict: NodeVerdict, corrupt: Corruption) -> NodeVerdict:
    if node in corrupt.guilty:
        found, reason = Verdict.QUARANTINED, "wrong results with several partners"
    elif node in corrupt.suspects and verdict.verdict is not Verdict.QUARANTINED:
        found, reason = Verdict.SUSPECT, "a wrong result; it cannot be told which of the two nodes"
    else:
        return verdict
    return NodeVerdict(
        verdict=found,
        component="node",
        effect=verdict.effect,
        rounds=verdict.rounds,
        llr=verdict.llr,
        reason=reason,
    )


def _on_rail(node: str, rail: int | None, evidence: Evidence, fleet: FleetEvidence) -> Judgement:
    """Judge a node on one rail; where the whole rail is low, nobody on it is accused."""
    if rail in fleet.low_rails:
        return Judgement(verdict=Verdict.UNTESTED, reason=fleet.verdict.reason)
    tests = [t for t in evidence.studies[rail].tests if node in (t.a, t.b)]
    if not tests:
        return Judgement(verdict=Verdict.UNTESTED, reason="no valid test")
    judgement = evidence.judgements[rail][node]
    if judgement.verdict is Verdict.UNTESTED:
        return judge_by_floor(node, evidence.studies[rail].tests, evidence.policy.floor_bps)
    return judgement


def _component(rails: Collection[int | None], evidence: Evidence) -> str:
    if len(rails) == len(evidence.judgements):
        return "node"
    return " ".join(f"rail:{rail}" for rail in rails)


def _leaf_verdicts(evidence: Evidence, fleet: FleetEvidence) -> dict[str, LeafVerdict]:
    found: dict[str, dict[int | None, str]] = {}
    for rail, study in evidence.studies.items():
        if rail not in fleet.low_rails:
            for leaf, reason in uplinks(study).items():
                found.setdefault(leaf, {})[rail] = reason
    return {leaf: _leaf_verdict(leaf, by_rail, evidence) for leaf, by_rail in found.items()}


def _leaf_verdict(leaf: str, reasons: Mapping[int | None, str], evidence: Evidence) -> LeafVerdict:
    everywhere = len(reasons) == len(evidence.studies)
    effects = [
        study.throughput.effects.low_leaves.get(leaf, 0.0)
        for rail, study in evidence.studies.items()
        if rail in reasons and study.throughput
    ]
    rails = tuple(r for r in reasons if r is not None) or tuple(range(evidence.fabric.rails))
    names = "" if everywhere else "".join(f" rail:{rail}" for rail in rails)
    return LeafVerdict(
        verdict=Verdict.QUARANTINED,
        component=f"leaf:{leaf}{names}",
        rails=rails,
        effect=min(effects),
        reason="; ".join(dict.fromkeys(reasons.values())),
    )
