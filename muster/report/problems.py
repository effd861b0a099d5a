"""Everything that is not accepted: what, where, how we know, what was done, what to do next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from muster.findings import Finding, Outcome
from muster.fleet import Fleet
from muster.readiness import ComponentVerdict, NodeReadiness, Readiness, Verdict
from muster.report.advice import Step, next_steps, say_component
from muster.report.excerpt import Excerpt
from muster.report.matrix import SYMBOLS, node_names, state_of, worst_state
from muster.report.model import Event, waiver_of
from muster.report.units import against, readable

_EXCERPTS_MAX = 2
_ROUTINE = {"step", "accepted", "invalid-pair-test", "begun"}
"""Events that happen to all nodes alike: they are in the timeline, and say nothing on a card."""
_GROUP_FROM_NODES = 4
_NAMED_MAX = 6
_ORDER = ("quarantined", "suspect", "untested", "", "accepted", "waived")


Show = Callable[[Finding, str], Excerpt | None]
"""Called with a finding and a path that it cites; returns what to show of that file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A file of the run's directory; `excerpt` is None where there is nothing to show of it."""

    path: str
    excerpt: Excerpt | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Exhibit:
    """One finding that is not a pass, with all that makes it believable."""

    check: str
    state: str
    summary: str
    node: str
    numbers: tuple[tuple[str, str], ...]
    cmd: str
    rc: int | None
    waiver: str
    evidence: tuple[Evidence, ...]
    more_evidence: tuple[str, ...]
    """Paths of further files."""

    @property
    def symbol(self) -> str:
        """The state without colour."""
        return SYMBOLS[self.state]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One card of the report: a node, nodes with the same trouble, or a part of the fabric."""

    title: str
    verdict: str
    component: str
    state: str
    nodes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    """(node, its own words) for the nodes after the first, where several share a card."""
    events: tuple[Event, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def symbol(self) -> str:
        """The state without colour."""
        return SYMBOLS[self.state]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Subject:
    name: str
    verdict: str
    component: str
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...] = field(default=())

    @property
    def kind(self) -> tuple[object, ...]:
        trouble = sorted({(f.check, f.component, state_of(f)) for f in self.findings})
        return (self.verdict, self.component, tuple(trouble))

    @property
    def troubled(self) -> bool:
        return self.verdict != Verdict.ACCEPTED or bool(self.findings)


def build_problems(
    fleet: Fleet,
    readiness: Readiness | None,
    findings: Sequence[Finding],
    events: Sequence[Event],
    show: Show,
) -> tuple[Problem, ...]:
    """Collect the cards, worst first; many nodes with the same trouble share one."""
    bad: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.outcome is not Outcome.PASS:
            bad[finding.node].append(finding)
    shared = _fabric_problems(fleet.stack, readiness, bad.pop("", []), show)
    judged = {} if readiness is None else {n.node: n for n in readiness.nodes}
    subjects = [
        _subject(name, judged.get(name), bad.get(name, []))
        for name in node_names(fleet, readiness, findings)
    ]
    groups = _grouped([s for s in subjects if _worth_a_card(s, ended=readiness is not None)])
    cards = [_node_problem(fleet.stack, group, events, show) for group in groups]
    return tuple(sorted([*shared, *cards], key=lambda p: _ORDER.index(p.verdict)))


def _worth_a_card(subject: _Subject, *, ended: bool) -> bool:
    """A run that was cut short has no verdicts: then only what was found is worth a card."""
    return subject.troubled if ended else bool(subject.findings)


def _subject(name: str, judged: NodeReadiness | None, findings: Sequence[Finding]) -> _Subject:
    if judged is None:
        return _Subject(name=name, verdict="", component="", reasons=(), findings=tuple(findings))
    verdict = judged.verdict.value
    if verdict == Verdict.ACCEPTED and worst_state(findings) == "waived":
        verdict = "waived"
    return _Subject(
        name=name,
        verdict=verdict,
        component=judged.component,
        reasons=judged.reasons,
        findings=tuple(findings),
    )


def _grouped(subjects: Sequence[_Subject]) -> list[list[_Subject]]:
    alike: dict[tuple[object, ...], list[_Subject]] = defaultdict(list)
    for subject in subjects:
        alike[subject.kind].append(subject)
    groups = []
    for group in alike.values():
        one_card = len(group) >= _GROUP_FROM_NODES
        groups += [group] if one_card else [[subject] for subject in group]
    return groups


def _node_problem(
    stack: str,
    group: Sequence[_Subject],
    events: Sequence[Event],
    show: Show,
) -> Problem:
    first = group[0]
    nodes = tuple(subject.name for subject in group)
    checks = [finding.check for finding in first.findings]
    return Problem(
        title=_title(nodes),
        verdict=first.verdict,
        component=say_component(first.component),
        state=_state(first.verdict, first.findings),
        nodes=nodes,
        reasons=_not_said(first.reasons, first.findings),
        exhibits=tuple(_exhibit(f, show) for f in first.findings),
        others=tuple((s.name, _own_words(s)) for s in group[1:]),
        events=_deeds(events, nodes),
        steps=next_steps(
            stack=stack,
            nodes=nodes,
            component=first.component,
            verdict=first.verdict,
            checks=checks,
        ),
    )


def _deeds(events: Sequence[Event], nodes: Sequence[str]) -> tuple[Event, ...]:
    """Return what was done to these nodes; of a thing done again, the last time."""
    own = [e for e in events if e.kind not in _ROUTINE and any(e.concerns(n) for n in nodes)]
    last = {(e.kind, str(e.data.get("node", ""))): e for e in own}
    return tuple(sorted(last.values(), key=lambda e: e.ts))


def _title(nodes: Sequence[str]) -> str:
    if len(nodes) == 1:
        return nodes[0]
    named = ", ".join(nodes[:_NAMED_MAX])
    more = f" and {len(nodes) - _NAMED_MAX} more" if len(nodes) > _NAMED_MAX else ""
    return f"{len(nodes)} nodes: {named}{more}"


def _not_said(reasons: Sequence[str], findings: Sequence[Finding]) -> tuple[str, ...]:
    """Leave out reasons that a finding's summary repeats word for word."""
    said = {f.summary for f in findings} | {f"{f.check}: {f.summary}" for f in findings}
    return tuple(reason for reason in reasons if reason not in said)


def _own_words(subject: _Subject) -> str:
    return "; ".join(subject.reasons) or "; ".join(f.summary for f in subject.findings)


def _state(verdict: str, findings: Sequence[Finding]) -> str:
    if verdict == "waived":
        return "waived"
    if verdict == Verdict.QUARANTINED or worst_state(findings) == "fail":
        return "fail"
    return "unknown"


def _fabric_problems(
    stack: str,
    readiness: Readiness | None,
    findings: Sequence[Finding],
    show: Show,
) -> list[Problem]:
    """One card per component that is not accepted; findings go to the component they name."""
    verdicts = _worst_by_component(() if readiness is None else readiness.fleet)
    by_component: dict[str, list[Finding]] = {name: [] for name in verdicts}
    for finding in findings:
        by_component.setdefault(finding.component or "fleet", []).append(finding)
    return [
        _fabric_problem(
            stack,
            component,
            verdict=verdicts[component].verdict.value if component in verdicts else "",
            reasons=_not_said(verdicts[component].evidence, own) if component in verdicts else (),
            exhibits=tuple(_exhibit(f, show) for f in own),
        )
        for component, own in by_component.items()
    ]


def _worst_by_component(parts: Sequence[ComponentVerdict]) -> dict[str, ComponentVerdict]:
    """Join what is said of the same component; what is accepted is no problem."""
    found: dict[str, ComponentVerdict] = {}
    for part in parts:
        if part.verdict is Verdict.ACCEPTED:
            continue
        known = found.get(part.component, part)
        found[part.component] = ComponentVerdict(
            component=part.component,
            verdict=min(known.verdict, part.verdict, key=lambda v: _ORDER.index(v.value)),
            evidence=tuple(dict.fromkeys([*known.evidence, *part.evidence])),
        )
    return found


def _fabric_problem(
    stack: str,
    component: str,
    *,
    verdict: str,
    reasons: tuple[str, ...],
    exhibits: tuple[Exhibit, ...],
) -> Problem:
    states = {exhibit.state for exhibit in exhibits}
    if states == {"waived"} and verdict in {"", Verdict.ACCEPTED}:
        verdict = state = "waived"
    else:
        state = "fail" if verdict == Verdict.QUARANTINED or "fail" in states else "unknown"
    return Problem(
        title=say_component(component),
        verdict=verdict,
        component="",
        state=state,
        reasons=reasons,
        exhibits=exhibits,
        steps=next_steps(
            stack=stack,
            nodes=(),
            component=component,
            verdict=verdict,
            checks=[exhibit.check for exhibit in exhibits],
        ),
    )


def _exhibit(finding: Finding, show: Show) -> Exhibit:
    shown = finding.evidence[:_EXCERPTS_MAX]
    return Exhibit(
        check=finding.check,
        state=state_of(finding),
        summary=finding.summary,
        node=finding.node,
        numbers=tuple(_numbers(finding)),
        cmd=finding.cmd,
        rc=finding.rc,
        waiver=waiver_of(finding),
        evidence=tuple(Evidence(path=p, excerpt=show(finding, p)) for p in shown),
        more_evidence=finding.evidence[_EXCERPTS_MAX:],
    )


def _numbers(finding: Finding) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    value, middle, unit = finding.value, finding.peers_median, finding.unit
    if value is not None:
        samples = f" (n = {finding.n})" if finding.n else ""
        off = against(value, middle) if middle else ""
        compared = f", {off} against its peers" if off else ""
        found.append(("measured", readable(value, unit) + compared + samples))
    if middle is not None:
        found.append(("peers' median", readable(middle, unit)))
    if finding.floor is not None:
        source = f" ({finding.floor_source})" if finding.floor_source else ""
        found.append(("floor", readable(finding.floor, unit) + source))
    return found
