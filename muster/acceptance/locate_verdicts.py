"""From what each rail says to verdicts on nodes, leaves and the fleet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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
    by_rail = {
        rail: _on_rail(judged, evidence.studies[rail], evidence.policy)
        if rail not in fleet.low_rails
        else dict.fromkeys(judged, _not_judged(fleet))
        for rail, judged in evidence.judgements.items()
    }
    measured = _rounds_measured(rounds)
    nodes = {
        node: _with_corruption(
            node,
            _node_verdict({r: j[node] for r, j in by_rail.items()}, rounds=measured[node]),
            corrupt,
        )
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


def _rounds_measured(rounds: tuple[tuple[Measurement, ...], ...]) -> Counter[str]:
    """Count in how many rounds each node had a valid test."""
    return Counter(
        node
        for measurements in rounds
        for node in {n for m in measurements if m.valid for n in (m.pair.a, m.pair.b)}
    )


def _not_judged(fleet: FleetEvidence) -> Judgement:
    """Accuse nobody where the whole rail is low; nor can anybody be called good."""
    return Judgement(verdict=Verdict.UNTESTED, reason=fleet.verdict.reason)


def _on_rail(
    judged: Mapping[str, Judgement], study: RailStudy, policy: Policy
) -> dict[str, Judgement]:
    """Turn to the floor for nodes that peers could not judge."""
    return {
        node: judge_by_floor(node, study.tests, policy.floor_bps)
        if judgement.by_floor
        else judgement
        for node, judgement in judged.items()
    }


def _node_verdict(by_rail: Mapping[int | None, Judgement], *, rounds: int) -> NodeVerdict:
    gravest = min((j.verdict for j in by_rail.values()), key=GRAVITY.index)
    at_fault = [rail for rail, j in by_rail.items() if j.verdict is gravest]
    accused = (Verdict.QUARANTINED, Verdict.SUSPECT)
    if gravest is accused[0] and all(j.verdict in accused for j in by_rail.values()):
        at_fault = list(by_rail)
    worst = min((by_rail[rail] for rail in at_fault), key=lambda j: j.effect)
    everywhere = len(at_fault) == len(by_rail)
    names = "node" if everywhere else " ".join(f"rail:{rail}" for rail in at_fault)
    return NodeVerdict(
        verdict=gravest,
        component=names if gravest is not Verdict.ACCEPTED else "",
        effect=median(by_rail[rail].effect for rail in at_fault) if everywhere else worst.effect,
        rounds=rounds,
        llr=max(j.llr for j in by_rail.values()),
        reason=worst.reason,
    )


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
