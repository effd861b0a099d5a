"""Is all memory there? A module that went missing shows as less than the type has."""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "memory-size"


def judge(memory_mib: int | Problem, *, floor_mib: float) -> Finding:
    """Compare MemTotal with what the type leaves after the kernel and firmware took theirs."""
    if isinstance(memory_mib, Problem):
        return unknown(CHECK, f"memory could not be read: {memory_mib.text}")
    common = {"value": float(memory_mib), "unit": "MiB", "floor": floor_mib}
    if memory_mib < floor_mib:
        what = f"{memory_mib} MiB of memory, expected at least {floor_mib:.0f} MiB"
        return failed(CHECK, what, component="node", **common)
    return passed(CHECK, f"{memory_mib} MiB of memory", **common)


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.memory_mib, floor_mib=view.expected.memory_min_mib)
