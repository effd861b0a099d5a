"""The parts of which runs are made up in code: fleet, findings, pairs, verdicts."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.findings import Finding, Outcome
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.readiness import CheckCounts, ComponentVerdict, NodeReadiness, Readiness, Verdict
from muster.report.html import render_html
from muster.report.junit import render_junit
from muster.report.model import Event, PairKind, PairValue

START = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
RUN = "20261121T093000Z-a1b2c3"
LINK_BPS = 4.79e6
PASSING = {
    "gpu-count": "static",
    "gpu-health": "static",
    "nic-link": "static",
    "memory-size": "static",
    "shared-mount": "static",
    "clock-offset": "static",
    "slurm-registration": "static",
    "cpu-gemm": "local",
    "memory-bandwidth": "local",
    "disk-throughput": "local",
    "pair-bandwidth": "pairs",
    "pair-retransmits": "pairs",
    "group-allreduce": "groups",
}
_MEASURED = {
    "clock-offset": (0.0004, "s", 0.01),
    "cpu-gemm": (41.0e9, "FLOP/s", 30.0e9),
    "memory-bandwidth": (9.2e9, "B/s", 6.0e9),
    "disk-throughput": (310.0e6, "B/s", 100.0e6),
}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """All that a report is made from; `readiness` None is a run cut short."""

    fleet: Fleet
    readiness: Readiness | None
    findings: tuple[Finding, ...]
    pairs: tuple[PairValue, ...] = ()
    events: tuple[Event, ...] = ()
    evidence: dict[str, str] = field(default_factory=dict)


def make_fleet(*, nodes: int = 8, per_leaf: int = 2, rails: int = 2) -> Fleet:
    return Fleet(
        stack="lab",
        target="lab",
        ssh=SshAccess(key_file="key", known_hosts_file="known_hosts"),
        head=_node("head", leaf="", rails=0, number=0),
        nodes=tuple(
            _node(f"gpu-{n}", leaf=f"leaf{(n - 1) // per_leaf}", rails=rails, number=n)
            for n in range(1, nodes + 1)
        ),
    )


def _node(name: str, *, leaf: str, rails: int, number: int) -> Node:
    return Node(
        name=name,
        serial=f"S{number:04}",
        pool="gpu",
        type="lab.8gpu",
        address=f"10.9.0.{10 + number % 200}",
        host_key="ssh-ed25519 AAAA",
        leaf=leaf,
        rails=tuple(
            Rail(index=r, interface=f"rail{r}", address=f"10.9.{r + 1}.{number % 250}")
            for r in range(rails)
        ),
    )


def make_pairs(
    fleet: Fleet,
    *,
    slow: dict[tuple[str, int], float] | None = None,
    slow_uplinks: dict[tuple[str, int], float] | None = None,
    rounds: int = 4,
) -> tuple[PairValue, ...]:
    """Measure as a fabric with these defects would: the slowest part of a path decides."""
    noise = random.Random(20261121)  # noqa: S311 - noise, not secrets
    leaf_of = {node.name: node.leaf for node in fleet.nodes}
    nodes = {**dict.fromkeys(((n, r.index) for n in leaf_of for r in fleet.nodes[0].rails), 1.0)}
    nodes.update(slow or {})
    uplinks = slow_uplinks or {}
    found = []
    for number, kind, a, b in _schedule(fleet, rounds):
        for rail in fleet.nodes[0].rails:
            parts = [nodes[a, rail.index], nodes[b, rail.index]]
            if kind == "cross":
                parts += [uplinks.get((leaf_of[n], rail.index), 1.0) for n in (a, b)]
            found.append(
                PairValue(
                    round=number,
                    a=a,
                    b=b,
                    rail=rail.index,
                    value_bps=round(LINK_BPS * min(parts) * noise.gauss(1, 0.002)),
                    valid=True,
                    retransmits=0,
                    kind=kind,
                )
            )
    return tuple(found)


def _schedule(fleet: Fleet, rounds: int) -> Iterable[tuple[int, PairKind, str, str]]:
    leaves = list(fleet.leaves().values())
    for number in range(rounds):
        for members in leaves:
            shift = 1 + 2 * number % max(len(members) - 1, 1)
            for place in range(0, len(members) - 1, 2):
                yield number, "intra", members[place], members[(place + shift) % len(members)]
    half = len(leaves) // 2
    for number in range(rounds if half else 0):
        for place in range(half):
            other = leaves[half + (place + number) % half]
            for spot, node in enumerate(leaves[place]):
                yield rounds + number, "cross", node, other[(spot + number) % len(other)]


def make_findings(fleet: Fleet) -> list[Finding]:
    """Return a pass of every check on every node."""
    noise = random.Random(7)  # noqa: S311 - noise, not secrets
    found: list[Finding] = []
    for check, stage in PASSING.items():
        base, unit, floor = _MEASURED.get(check, (None, "", None))
        found += [
            finding(
                node.name,
                check,
                stage=stage,
                serial=node.serial,
                shape=node.type,
                value=None if base is None else round(base * noise.gauss(1, 0.01), 6),
                unit=unit,
                peers_median=base,
                floor=floor,
                floor_source="limits.yaml" if floor else "",
                duration_s=1.5,
            )
            for node in fleet.nodes
            if check != "pair-bandwidth"
        ]
    for node in fleet.nodes:
        found += [
            finding(
                node.name,
                "pair-bandwidth",
                shape=node.type,
                value=round(LINK_BPS * noise.gauss(1, 0.002)),
                unit="B/s",
                n=8,
                peers_median=LINK_BPS,
                floor=4.0e6,
                floor_source="limits.yaml: lab rail",
                params={"rail": rail.index},
            )
            for rail in node.rails
        ]
    return found


def finding(node: str, check: str, outcome: Outcome = Outcome.PASS, **fields: Any) -> Finding:
    known = {"summary": f"{check} is as expected", "stage": PASSING.get(check, "static"), **fields}
    return Finding(check=check, verdict=outcome, node=node, run_id=RUN, ts=START, **known)


def put(findings: list[Finding], new: Finding) -> None:
    """Replace the finding of the same node, check and rail."""

    def subject(found: Finding) -> tuple[str, str, Any]:
        return found.node, found.check, found.params.get("rail")

    findings[:] = [f for f in findings if subject(f) != subject(new)] + [new]


def make_readiness(
    fleet: Fleet,
    *,
    bad: dict[str, NodeReadiness] | None = None,
    parts: tuple[ComponentVerdict, ...] = (),
    ready: bool = True,
    reason: str = "",
) -> Readiness:
    judged = bad or {}
    nodes = tuple(judged.get(n.name, accepted(n.name, n.serial)) for n in fleet.nodes)
    counts = {v: sum(n.verdict is v for n in nodes) for v in Verdict}
    wanted, passed = len(nodes), counts[Verdict.ACCEPTED]
    return Readiness(
        stack=fleet.stack,
        run=RUN,
        time=START + timedelta(seconds=74),
        ready=ready,
        reason=reason or f"{passed} of {wanted} nodes are accepted",
        wanted=wanted,
        accepted=passed,
        quarantined=counts[Verdict.QUARANTINED],
        untested=counts[Verdict.UNTESTED],
        suspect=counts[Verdict.SUSPECT],
        fleet=parts,
        nodes=nodes,
    )


def accepted(name: str, serial: str) -> NodeReadiness:
    return NodeReadiness(
        node=name,
        serial=serial,
        verdict=Verdict.ACCEPTED,
        checks=CheckCounts(**{"pass": len(PASSING)}, fail=0, unknown=0),
        slowest_check="disk-throughput",
        slowest_check_s=4.2,
    )


def judged(name: str, verdict: Verdict, component: str, *reasons: str) -> NodeReadiness:
    known = accepted(name, f"S{int(name.split('-')[1]):04}")
    return known.model_copy(
        update={"verdict": verdict, "component": component, "reasons": tuple(reasons)}
    )


def event(seconds: int, kind: str, **data: Any) -> Event:
    return Event(ts=START + timedelta(seconds=seconds), kind=kind, data=data)


def html_of(sample: Sample) -> str:
    return render_html(
        sample.readiness,
        sample.findings,
        sample.fleet,
        sample.pairs,
        sample.events,
        run_id=RUN,
        evidence=sample.evidence,
        simulated=True,
    )


def junit_of(sample: Sample) -> str:
    nodes = [node.name for node in sample.fleet.nodes]
    return render_junit(sample.readiness, sample.findings, stack=sample.fleet.stack, nodes=nodes)
