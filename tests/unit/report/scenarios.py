"""Whole runs made up in code: healthy, one slow rail, unknowns, a slow uplink, many nodes."""

from __future__ import annotations

from dataclasses import replace

from muster.findings import Outcome
from muster.readiness import ComponentVerdict, Verdict
from tests.unit.report.sample import (
    LINK_BPS,
    RUN,
    Sample,
    event,
    finding,
    judged,
    make_findings,
    make_fleet,
    make_pairs,
    make_readiness,
    put,
)

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
            evidence=("pairs.jsonl", path),
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
