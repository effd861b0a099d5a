"""Runs made up in code: healthy, one slow rail, unknowns, a slow uplink, and many nodes."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.findings import Finding, Outcome
from muster.fleet import Fleet, Node, Rail, SshAccess
from muster.readiness import CheckCounts, ComponentVerdict, NodeReadiness, Readiness, Verdict
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


STAGES = (
    event(0, "stage-begun", stage="static"),
    event(7, "stage-begun", stage="local"),
    event(26, "stage-begun", stage="pairs"),
    event(66, "stage-begun", stage="groups"),
)


def healthy() -> Sample:
    fleet = make_fleet()
    findings = make_findings(fleet)
    readiness = make_readiness(fleet)
    return Sample(
        fleet=fleet,
        readiness=readiness,
        findings=tuple(findings),
        pairs=make_pairs(fleet),
        events=STAGES,
    )


def slow_rail() -> Sample:
    fleet = make_fleet()
    findings = make_findings(fleet)
    path = "evidence/gpu-3/pair-bandwidth-rail1.json"
    summary = "rail 1 moves 0.96 MB/s against every partner; its peers 4.79 MB/s"
    put(
        findings,
        finding(
            "gpu-3",
            "pair-bandwidth",
            Outcome.FAIL,
            component="rail:1",
            summary=summary,
            value=0.96e6,
            unit="B/s",
            n=16,
            peers_median=LINK_BPS,
            floor=4.0e6,
            floor_source="limits.yaml: lab rail",
            params={"rail": 1},
            evidence=(path,),
            cmd="srun -w gpu-3,gpu-6 -N2 /shared/muster/bin/3f/pair_test.py --rail 1",
            rc=0,
        ),
    )
    bad = {"gpu-3": judged("gpu-3", Verdict.QUARANTINED, "rail:1", summary)}
    drained = event(73, "drained", node="gpu-3", reason=f"muster:pair-bandwidth:quarantined:{RUN}")
    text = '{"end": {\n  "sum_received": {"bits_per_second": 7681000.0},\n  "retransmits": 0\n}}\n'
    return Sample(
        fleet=fleet,
        readiness=make_readiness(
            fleet,
            bad=bad,
            ready=False,
            reason="7 of 8 wanted nodes are accepted; gpu-3 is quarantined (rail:1)",
        ),
        findings=tuple(findings),
        pairs=make_pairs(fleet, slow={("gpu-3", 1): 0.2}),
        events=(*STAGES, drained),
        evidence={path: text},
    )


def slow_uplink() -> Sample:
    fleet = make_fleet()
    findings = make_findings(fleet)
    words = "every path over leaf1's uplink of rail 0 runs 62 % below its peers; its nodes are good"
    findings.append(
        finding(
            "",
            "pair-bandwidth",
            Outcome.FAIL,
            component="leaf:leaf1 rail:0",
            stage="pairs",
            summary=words,
            value=LINK_BPS * 0.38,
            unit="B/s",
            peers_median=LINK_BPS,
            cmd="srun -w gpu-3,gpu-7 -N2 /shared/muster/bin/3f/pair_test.py --rail 0",
        )
    )
    part = ComponentVerdict(
        component="leaf:leaf1 rail:0", verdict=Verdict.QUARANTINED, evidence=(words,)
    )
    return Sample(
        fleet=fleet,
        readiness=make_readiness(
            fleet, parts=(part,), ready=False, reason="leaf1 has a slow uplink (rail 0)"
        ),
        findings=tuple(findings),
        pairs=make_pairs(fleet, slow_uplinks={("leaf1", 0): 0.38}),
        events=STAGES,
    )


def unknowns() -> Sample:
    fleet = make_fleet()
    findings = make_findings(fleet)
    put(
        findings,
        finding(
            "gpu-5",
            "gpu-health",
            Outcome.UNKNOWN,
            summary="nvidia-smi did not answer within 10 s",
            cmd="nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv",
            rc=124,
            evidence=("evidence/gpu-5/nvidia-smi.txt",),
        ),
    )
    waiver = "no shared disk in this rack yet (until 2026-12-01)"
    put(
        findings,
        finding(
            "gpu-7",
            "shared-mount",
            Outcome.UNKNOWN,
            summary="the marker file could not be read",
            params={"waiver": waiver},
        ),
    )
    findings[:] = [f for f in findings if f.node != "gpu-8"]
    bad = {
        "gpu-5": judged("gpu-5", Verdict.UNTESTED, "", "gpu-health could not be checked"),
        "gpu-8": judged("gpu-8", Verdict.UNTESTED, "", "busy with job 42"),
    }
    broken = tuple(
        replace(p, valid=False, value_bps=None) if "gpu-5" in {p.a, p.b} else p
        for p in make_pairs(fleet)
        if "gpu-8" not in {p.a, p.b}
    )
    return Sample(
        fleet=fleet,
        readiness=make_readiness(fleet, bad=bad, ready=False, reason="2 of 8 nodes are untested"),
        findings=tuple(findings),
        pairs=broken,
        events=STAGES,
    )


def many(*, nodes: int = 64, per_leaf: int = 8, rails: int = 4) -> Sample:
    fleet = make_fleet(nodes=nodes, per_leaf=per_leaf, rails=rails)
    findings = make_findings(fleet)
    bad = {}
    for name in ("gpu-9", "gpu-17", "gpu-33", "gpu-34", "gpu-50"):
        summary = "6 GPUs found; expected 8 (lab.8gpu)"
        put(
            findings,
            finding(name, "gpu-count", Outcome.FAIL, component="gpu:6", summary=summary),
        )
        bad[name] = judged(name, Verdict.QUARANTINED, "gpu:6", summary)
    return Sample(
        fleet=fleet,
        readiness=make_readiness(fleet, bad=bad, ready=False),
        findings=tuple(findings),
        pairs=make_pairs(fleet, slow={("gpu-20", 2): 0.4}, rounds=2),
        events=STAGES,
    )


def cut_short() -> Sample:
    known = healthy()
    return replace(
        known,
        readiness=None,
        findings=tuple(f for f in known.findings if f.stage == "static"),
        pairs=(),
        events=STAGES[:2],
    )


ALL = {
    "healthy": healthy,
    "slow-rail": slow_rail,
    "slow-uplink": slow_uplink,
    "unknowns": unknowns,
    "cut-short": cut_short,
}
