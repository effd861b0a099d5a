"""From what each rail says to verdicts on nodes, leaves and the fleet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from muster.acceptance.fleet_judgement import FleetEvidence, weigh_fleet
from muster.acceptance.floor_judgement import FloorJudge, FloorJudgement
from muster.acceptance.locate_evidence import Evidence, uplinks
from muster.acceptance.locate_model import LeafVerdict, LocateVerdict, Measurement, NodeVerdict
from muster.acceptance.medians import Index, Values
from muster.acceptance.sequential import ACCEPTED, GRAVITY, QUARANTINED, SUSPECT, UNTESTED
from muster.readiness import Verdict

REASONS_MAX = 2


def conclude(evidence: Evidence, rounds: tuple[tuple[Measurement, ...], ...]) -> LocateVerdict:
    """Give every node, every leaf at fault, and the fleet its verdict."""
    fleet = weigh_fleet(evidence.studies, evidence.table.fabric, evidence.policy)
    nodes = _Conclusion(evidence, fleet).nodes()
    return LocateVerdict(
        nodes=nodes,
        leaves=_leaf_verdicts(evidence, fleet),
        fleet=fleet.verdict,
        rounds=len(rounds),
        untested=tuple(n for n, v in nodes.items() if v.verdict is Verdict.UNTESTED),
        measurements=rounds,
        classes=tuple(c for study in evidence.studies.values() for c in study.classes.values()),
    )


@dataclass(frozen=True)
class _Conclusion:
    """Joins what each rail says about a node."""

    evidence: Evidence
    fleet: FleetEvidence

    @cached_property
    def floor(self) -> dict[tuple[int, int], FloorJudgement]:
        """What the floor says of nodes that peers cannot judge, by place of the rail and node."""
        found = {}
        for place, (rail, judged) in enumerate(self.evidence.judgements.items()):
            wanted = np.flatnonzero(judged.by_floor).tolist()
            if rail in self.fleet.low_rails or not wanted:
                continue
            judge = FloorJudge(self.evidence.studies[rail].tests, self.evidence.policy.floor_bps)
            excused = self.evidence.lacking[rail]
            found.update(
                {(place, node): judge.judge(node) for node in wanted if node not in excused}
            )
        return found

    @cached_property
    def verdicts(self) -> Index:
        """Places in `GRAVITY` by rail and node."""
        found = self.evidence.verdicts.copy()
        for place, rail in enumerate(self.evidence.judgements):
            if rail in self.fleet.low_rails:
                found[place] = UNTESTED
        for (place, node), said in self.floor.items():
            found[place, node] = GRAVITY.index(said.verdict)
        return found

    @cached_property
    def effects(self) -> Values:
        """Deviation from the fleet's median by rail and node."""
        found = np.stack([judged.effect for judged in self.evidence.judgements.values()])
        for place, rail in enumerate(self.evidence.judgements):
            if rail in self.fleet.low_rails:
                found[place] = 0.0
            found[place, list(self.evidence.lacking[rail])] = 0.0
        for (place, node), said in self.floor.items():
            found[place, node] = said.effect
        return found

    def nodes(self) -> dict[str, NodeVerdict]:
        """Return the verdict of each node."""
        table, corrupt = self.evidence.table, self.evidence.corruption
        gravest = self.verdicts.min(axis=0).tolist()
        effect = np.median(self.effects, axis=0).tolist()
        weights = [judged.events.llr for judged in self.evidence.judgements.values()]
        llr = np.stack(weights).max(axis=0).tolist()
        rounds = (~np.isnan(table.speed)).any(axis=0).sum(axis=1).tolist()
        found = {}
        for node, name in enumerate(table.names):
            if node in corrupt.guilty:
                verdict, component, value = QUARANTINED, "node", effect[node]
                reason = "wrong results with several partners"
            elif node in corrupt.suspects and gravest[node] != QUARANTINED:
                verdict, component, value = SUSPECT, "node", effect[node]
                reason = "a wrong result; it cannot be told which of the two nodes"
            else:
                verdict, component, value, reason = gravest[node], "", effect[node], ""
                if verdict != ACCEPTED:
                    component, value, reason = self._accuse(node)
            found[name] = NodeVerdict(
                verdict=GRAVITY[verdict],
                component=component,
                effect=value,
                rounds=rounds[node],
                llr=llr[node],
                reason=reason,
            )
        return found

    def _accuse(self, node: int) -> tuple[str, float, str]:
        """Return what is at fault, by how much, and why, of a node that is not accepted."""
        verdicts = self.verdicts[:, node]
        at_fault = np.flatnonzero(verdicts == verdicts.min())
        if verdicts.min() == QUARANTINED and verdicts.max() <= SUSPECT:
            at_fault = np.arange(len(verdicts))
        effects = self.effects[at_fault, node]
        worst = int(at_fault[effects.argmin()])
        rails = list(self.evidence.judgements)
        if len(at_fault) == len(rails):
            return "node", float(np.median(effects)), self._reason(worst, node)
        names = " ".join(f"rail:{rails[place]}" for place in at_fault)
        return names, float(effects.min()), self._reason(worst, node)

    def _reason(self, place: int, node: int) -> str:
        rail = list(self.evidence.judgements)[place]
        if rail in self.fleet.low_rails:
            return self.fleet.verdict.reason
        if node in self.evidence.lacking[rail]:
            return self.evidence.lacking[rail][node]
        if (place, node) in self.floor:
            return self.floor[place, node].reason
        return self.evidence.judgements[rail].reason(node)


def _leaf_verdicts(evidence: Evidence, fleet: FleetEvidence) -> dict[str, LeafVerdict]:
    found: dict[int, dict[int | None, str]] = {}
    for rail, study in evidence.studies.items():
        if rail not in fleet.low_rails:
            for leaf, reason in uplinks(study).items():
                found.setdefault(leaf, {})[rail] = reason
    names = evidence.table.leaf_names
    return {names[leaf]: _leaf_verdict(leaf, by_rail, evidence) for leaf, by_rail in found.items()}


def _leaf_verdict(leaf: int, reasons: Mapping[int | None, str], evidence: Evidence) -> LeafVerdict:
    everywhere = len(reasons) == len(evidence.studies)
    effects = [
        study.throughput.effects.low_leaves.get(leaf, 0.0)
        for rail, study in evidence.studies.items()
        if rail in reasons and study.throughput
    ]
    rails = tuple(r for r in reasons if r is not None) or tuple(range(evidence.table.fabric.rails))
    names = "" if everywhere else "".join(f" rail:{rail}" for rail in rails)
    return LeafVerdict(
        verdict=Verdict.QUARANTINED,
        component=f"leaf:{evidence.table.leaf_names[leaf]}{names}",
        rails=rails,
        effect=min(effects),
        reason=_said_once(list(dict.fromkeys(reasons.values()))),
    )


def _said_once(reasons: list[str]) -> str:
    """Give one reason in full where many rails say the same with other figures."""
    rest = len(reasons) - REASONS_MAX
    more = [f"{rest} more rails alike"] if rest > 0 else []
    return "; ".join([*reasons[:REASONS_MAX], *more])
