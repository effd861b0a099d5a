"""Pairs stage: every rail of every node against peers, round by round, as `locate` asks."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from muster.acceptance.checks import pair_bandwidth, pair_retransmits
from muster.acceptance.checks.outcome import unknown
from muster.acceptance.floors import rail_floors_bps
from muster.acceptance.locate import locate
from muster.acceptance.locate_model import LocateVerdict, Measurement, Policy
from muster.acceptance.pair_results import PairOutcome, measure_round, plan_round
from muster.acceptance.scene import Scene
from muster.fabric.model import Fabric, Pair
from muster.fleet import Node
from muster.readiness import Verdict

_STAGE = "pairs"
_FILE = "pairs.jsonl"
_RETRANSMITS_MAX = 20.0
_SILENT_MAX = 2


def run_pairs(scene: Scene) -> LocateVerdict | None:
    """Measure, locate, judge each node; None where there was nothing to measure."""
    railed = [node for node in scene.remaining() if node.rails]
    nodes = [node for node in railed if all(rail.address for rail in node.rails)]
    _leave_out(scene, [node for node in railed if node not in nodes])
    if not nodes:
        return None
    fabric = _fabric(nodes)
    rounds = _Rounds(scene=scene, leaf_of={node.name: node.leaf for node in nodes})
    policy = Policy(
        intra_rounds=scene.policy.pairs.intra_rounds,
        cross_rounds=scene.policy.pairs.cross_rounds,
        confirm_rounds=scene.policy.pairs.confirm_rounds,
        floor_bps=rail_floors_bps(
            scene.request.catalog, [scene.request.kind(node) for node in nodes]
        ),
        counter_limits={"retransmits": _RETRANSMITS_MAX},
    )
    verdict = locate(fabric, rounds.measure, policy)
    _judge(scene, nodes, verdict, rounds)
    return verdict


def _leave_out(scene: Scene, nodes: Sequence[Node]) -> None:
    """Say of nodes whose rails have no address, as with EFA, that nothing is known of them."""
    what = "a rail has no address, and pair tests over such rails are not there yet"
    for node in nodes:
        for check in (pair_bandwidth.CHECK, pair_retransmits.CHECK):
            scene.record(unknown(check, what), node, stage=_STAGE)


def _fabric(nodes: Sequence[Node]) -> Fabric:
    leaves: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        leaves[node.leaf].append(node.name)
    return Fabric(leaves=leaves, rails=min(len(node.rails) for node in nodes))


@dataclass(kw_only=True)
class _Rounds:
    """Runs what `locate` asks for, one step per batch, and keeps every measurement."""

    scene: Scene
    leaf_of: dict[str, str]
    number: int = 0
    silent: Counter[str] = field(default_factory=Counter)
    """How often a node wrote no result: after some, it is asked no more and holds nobody up."""
    outcomes: list[PairOutcome] = field(default_factory=list)
    command: str = ""

    def measure(self, pairs: list[Pair]) -> list[Measurement]:
        """Measure one round."""
        scene = self.scene
        scene.progress(f"accept 3/4: pair tests, round {self.number + 1}, {len(pairs)} links")
        hung = {name for name, times in self.silent.items() if times >= _SILENT_MAX}
        usable = set(scene.usable(self.leaf_of)) - hung
        able = [p for p in pairs if p.a in usable and p.b in usable]
        found = [o for batch in self._batches(able) for o in self._run(batch)]
        found += [
            PairOutcome(
                measurement=Measurement(p, None, valid=False), problem="a node of it is out"
            )
            for p in pairs
            if p not in able
        ]
        self._keep(found)
        self.number += 1
        return [outcome.measurement for outcome in found]

    def _batches(self, pairs: list[Pair]) -> Iterator[list[Pair]]:
        """Split a round where more pairs at once would disturb each other."""
        groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
        for pair in pairs:
            groups[(pair.a, pair.b)].append(pair)
        size = self.scene.policy.pairs.at_once or max(len(groups), 1)
        batches = list(groups.values())
        for start in range(0, len(batches), size):
            yield [pair for group in batches[start : start + size] for pair in group]

    def _run(self, pairs: list[Pair]) -> list[PairOutcome]:
        scene, policy = self.scene, self.scene.policy.pairs
        plan = plan_round(
            scene.request.fleet,
            pairs,
            number=self.number,
            seconds=policy.seconds,
            connect_s=policy.connect_s,
            test_s=policy.test_s,
        )
        names = sorted({name for pair in pairs for name in (pair.a, pair.b)})
        name = f"pairs-{self.number}-{names[0]}"
        harvest = scene.workbench.run(
            name,
            names,
            program="pair_test.py",
            ask=plan,
            deadline_s=policy.round_s,
        )
        step = harvest.step
        self.command = step.command
        scene.run.event("step", stage=name, rc=step.rc, timed_out=step.timed_out, nodes=names)
        for node, text in harvest.results.items():
            if text is None:
                self.silent[node] += 1
                scene.run.save_evidence(node, f"{name}.txt", step.stdout + step.stderr)
            elif any(p["client"] == node for p in plan["pairs"]):
                scene.run.save_evidence(node, f"pairs-{self.number}.json", text)
        return measure_round(plan, pairs, harvest.results)

    def _keep(self, found: Sequence[PairOutcome]) -> None:
        """Append to pairs.jsonl, in one write, so that a kill leaves whole lines."""
        lines = []
        for outcome in found:
            m = outcome.measurement
            intra = self.leaf_of[m.pair.a] == self.leaf_of[m.pair.b]
            record = {
                "round": self.number,
                "a": m.pair.a,
                "b": m.pair.b,
                "rail": m.pair.rail,
                "value_bps": m.value,
                "valid": m.valid,
                "counters": dict(m.counters),
                "kind": "intra" if intra else "cross",
            }
            lines.append(json.dumps(record) + "\n")
            if not m.valid:
                self.scene.run.event(
                    "invalid-pair-test",
                    round=self.number,
                    nodes=[m.pair.a, m.pair.b],
                    rail=m.pair.rail,
                    reason=outcome.problem,
                )
        path = self.scene.run.directory / _FILE
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, "".join(lines).encode())
        finally:
            os.close(handle)
        self.outcomes.extend(found)

    def retransmits(self) -> dict[str, dict[int, float]]:
        """Return each node's usual count per test, by rail."""
        counts: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for outcome in self.outcomes:
            m = outcome.measurement
            if m.valid and m.pair.rail is not None:
                for name in (m.pair.a, m.pair.b):
                    counts[name][m.pair.rail].append(m.counters.get("retransmits", 0.0))
        return {n: {r: median(v) for r, v in rails.items()} for n, rails in counts.items()}


def _judge(scene: Scene, nodes: Sequence[Node], verdict: LocateVerdict, rounds: _Rounds) -> None:
    counts = rounds.retransmits()
    usual = median([c.median_bps for c in verdict.classes]) if verdict.classes else None
    for node in nodes:
        found = verdict.nodes.get(node.name)
        blamed = found is not None and found.verdict is Verdict.QUARANTINED
        findings = (
            pair_bandwidth.judge(found, median_bps=usual, rails=len(node.rails)),
            pair_retransmits.judge(node.name, counts, limit=_RETRANSMITS_MAX, blamed=blamed),
        )
        kept = [_FILE, *_files_of(scene, node.name)]
        extra = {"evidence": tuple(kept), "cmd": rounds.command}
        for finding in findings:
            scene.record(finding.model_copy(update=extra), node, stage=_STAGE)


def _files_of(scene: Scene, name: str) -> list[str]:
    directory = scene.run.directory
    found = sorted((directory / "evidence" / name).glob("pairs-*"))
    return [str(path.relative_to(directory)) for path in found]
