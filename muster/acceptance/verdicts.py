"""From findings to verdicts: who is accepted, who is quarantined, and is the fleet ready? Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from muster.acceptance.checks import slurm_registration
from muster.acceptance.checks.registry import ALL, GROUPS, STAGES
from muster.acceptance.locate_model import LocateVerdict
from muster.acceptance.request import Waiver
from muster.findings import Finding, Outcome
from muster.fleet import Node
from muster.readiness import CheckCounts, ComponentVerdict, NodeReadiness, Verdict

_FLEET_WIDE_SHARE = 0.5
_FLEET_WIDE_MIN = 3
_QUARANTINE_SHARE = 0.10
_STAGE_ORDER = tuple(STAGES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that a run found out, and what the people who own the fleet said beforehand."""

    findings: Sequence[Finding]
    untested: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Verdict] = field(default_factory=dict)
    """Nodes that this run did not test, with the verdict that they had."""
    located: LocateVerdict | None = None
    waivers: Mapping[str, Waiver] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What follows. `drain` maps nodes to be drained to the check that is the reason."""

    nodes: tuple[NodeReadiness, ...]
    components: tuple[ComponentVerdict, ...]
    drain: Mapping[str, str]
    held_back: tuple[str, ...]
    """Nodes that failed, but may not be drained: too many failed at once."""


def decide(nodes: Sequence[Node], evidence: Evidence) -> Decision:
    """Give every node its verdict; a run that would drain too many drains only a few."""
    findings = [f for f in evidence.findings if f.check not in evidence.waivers]
    by_node: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_node[finding.node].append(finding)
    wide = fleet_wide([n.name for n in nodes if n.name in by_node], by_node)
    failed = [n.name for n in nodes if _own_fails(by_node[n.name], wide)]
    failed.sort(key=lambda name: _first_stage(_own_fails(by_node[name], wide)))
    limit = quarantine_limit(len(nodes))
    drain = {name: _own_fails(by_node[name], wide)[0].check for name in failed[:limit]}
    group = [f for f in by_node[""] if f.check in GROUPS]
    judged = tuple(
        _node_readiness(node, evidence, by_node[node.name], group, wide=wide, drain=drain)
        for node in nodes
    )
    return Decision(
        nodes=judged,
        components=_components(evidence, group, by_node, wide),
        drain=drain,
        held_back=tuple(failed[limit:]),
    )


def quarantine_limit(count: int) -> int:
    """Return how many nodes one run may drain: more would be a fault of the test or the site."""
    return max(1, int(count * _QUARANTINE_SHARE))


def fleet_wide(names: Sequence[str], by_node: Mapping[str, Sequence[Finding]]) -> frozenset[str]:
    """Return checks that more than half of the nodes fail: no single node is to blame."""
    counts = Counter(
        check
        for name in names
        for check in {f.check for f in by_node[name] if f.outcome is Outcome.FAIL}
    )
    return frozenset(
        check
        for check, n in counts.items()
        if n >= _FLEET_WIDE_MIN and n > _FLEET_WIDE_SHARE * len(names)
    )


def _own_fails(findings: Sequence[Finding], wide: Collection[str]) -> list[Finding]:
    return [f for f in findings if f.outcome is Outcome.FAIL and f.check not in wide]


def _first_stage(findings: Sequence[Finding]) -> int:
    """Static findings are the most certain ones: who fails those is drained first."""
    order = [_STAGE_ORDER.index(f.stage) for f in findings if f.stage in _STAGE_ORDER]
    return min(order, default=len(_STAGE_ORDER))


def _node_readiness(
    node: Node,
    evidence: Evidence,
    findings: Sequence[Finding],
    group: Sequence[Finding],
    *,
    wide: Collection[str],
    drain: Mapping[str, str],
) -> NodeReadiness:
    own = [f for f in evidence.findings if f.node == node.name]
    verdict, component, reasons = _verdict(
        node.name, evidence, findings, group, wide=wide, drain=drain
    )
    slowest = max(own, key=lambda f: f.duration_s or 0.0, default=None)
    counts = Counter(f.outcome for f in own)
    shown = [f for f in own if f.outcome is not Outcome.PASS] or own[:1]
    return NodeReadiness(
        node=node.name,
        serial=node.serial,
        verdict=verdict,
        component=component,
        reasons=tuple(reasons),
        checks=CheckCounts.model_validate(
            {
                "pass": counts[Outcome.PASS],
                "fail": counts[Outcome.FAIL],
                "unknown": counts[Outcome.UNKNOWN],
            }
        ),
        evidence=tuple(dict.fromkeys(path for f in shown for path in f.evidence)),
        slowest_check=slowest.check if slowest and slowest.duration_s else "",
        slowest_check_s=(slowest.duration_s or 0.0) if slowest else 0.0,
    )


def _verdict(
    name: str,
    evidence: Evidence,
    findings: Sequence[Finding],
    group: Sequence[Finding],
    *,
    wide: Collection[str],
    drain: Mapping[str, str],
) -> tuple[Verdict, str, list[str]]:
    if name in evidence.kept:
        return evidence.kept[name], "", ["not tested in this run"]
    if name in evidence.untested:
        return Verdict.UNTESTED, "", [evidence.untested[name]]
    fails = _own_fails(findings, wide)
    if fails:
        reasons = [_said(f) for f in fails]
        if name in drain:
            return Verdict.QUARANTINED, _component(fails), reasons
        return Verdict.SUSPECT, _component(fails), [*reasons, "not drained: too many nodes failed"]
    located = evidence.located.nodes.get(name) if evidence.located else None
    if located is not None and located.verdict is Verdict.SUSPECT:
        return Verdict.SUSPECT, located.component, [f"pair-bandwidth: {located.reason}"]
    return _verdict_without_fails(findings, group, evidence, wide=wide)


def _verdict_without_fails(
    findings: Sequence[Finding],
    group: Sequence[Finding],
    evidence: Evidence,
    *,
    wide: Collection[str],
) -> tuple[Verdict, str, list[str]]:
    """Accept who passed everything; what was not shown is not taken for granted."""
    doubts = [_said(f) for f in findings if f.check in wide and f.outcome is Outcome.FAIL]
    doubts += [_said(f) for f in group if f.outcome is Outcome.FAIL]
    if doubts:
        return Verdict.SUSPECT, "fleet", doubts
    unknowns = [_said(f) for f in (*findings, *group) if f.outcome is Outcome.UNKNOWN]
    ran = {f.check for f in (*findings, *group)} | set(evidence.waivers)
    unknowns += [f"{check}: was not run" for check in ALL if check not in ran]
    if unknowns:
        return Verdict.UNTESTED, "", unknowns
    return Verdict.ACCEPTED, "", []


def _said(finding: Finding) -> str:
    return f"{finding.check}: {finding.summary}"


def _component(fails: Sequence[Finding]) -> str:
    """Return the part that all fails name, else the whole node.

    What the scheduler did about a node follows from other faults: it names no part of its own.
    """
    causes = [f for f in fails if f.check != slurm_registration.CHECK] or fails
    parts = {f.component for f in causes}
    return parts.pop() if len(parts) == 1 else "node"


def _components(
    evidence: Evidence,
    group: Sequence[Finding],
    by_node: Mapping[str, Sequence[Finding]],
    wide: Collection[str],
) -> tuple[ComponentVerdict, ...]:
    """Say what is wrong that is no single node's fault."""
    found = []
    for check in sorted(wide):
        failing = [f for fs in by_node.values() for f in fs if f.check == check]
        failing = [f for f in failing if f.outcome is Outcome.FAIL]
        what = f"{len(failing)} nodes fail {check}: {failing[0].summary}"
        found.append(_fleet_component("fleet", Verdict.SUSPECT, what))
    for finding in group:
        if finding.outcome is not Outcome.PASS:
            bad = finding.outcome is Outcome.FAIL
            verdict = Verdict.SUSPECT if bad else Verdict.UNTESTED
            found.append(_fleet_component("fleet", verdict, _said(finding)))
    located = evidence.located
    if located is not None:
        found += [
            _fleet_component(leaf.component, leaf.verdict, leaf.reason)
            for leaf in located.leaves.values()
        ]
        if located.fleet.verdict is not Verdict.ACCEPTED:
            part = located.fleet.component or "fleet"
            found.append(_fleet_component(part, located.fleet.verdict, located.fleet.reason))
    return tuple(found)


def _fleet_component(component: str, verdict: Verdict, what: str) -> ComponentVerdict:
    return ComponentVerdict(component=component, verdict=verdict, evidence=(what,))


def is_ready(decision: Decision, wanted: int) -> tuple[bool, str]:
    """Are enough nodes accepted, and is nothing wrong between them? And why (not)."""
    count = Counter(node.verdict for node in decision.nodes)
    accepted = count[Verdict.ACCEPTED]
    bad = [c for c in decision.components if c.verdict is not Verdict.ACCEPTED]
    parts = [f"{accepted} of {wanted} nodes accepted"]
    parts += [
        f"{n.node} {n.verdict}{f' ({n.component})' if n.component else ''}"
        for n in decision.nodes
        if n.verdict is not Verdict.ACCEPTED
    ]
    parts += [f"{c.component} {c.verdict}: {c.evidence[0]}" for c in bad]
    if decision.held_back:
        limit = quarantine_limit(len(decision.nodes))
        parts.append(f"more nodes failed than the {limit} that one run may drain")
    return accepted >= wanted and not bad, "; ".join(parts)
