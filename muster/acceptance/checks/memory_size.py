"""Is all memory there? A module that went missing shows as less than the type has."""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "memory-size"


def judge(memory_mib: int | Problem, *, expected_mib: int, reserve: float) -> Finding:
    """Compare MemTotal with the type; the kernel and firmware keep up to `reserve` of it."""
    if isinstance(memory_mib, Problem):
        return unknown(CHECK, f"memory could not be read: {memory_mib.text}")
    floor = expected_mib * (1 - reserve)
    common = {"value": float(memory_mib), "unit": "MiB", "floor": floor}
    if memory_mib < floor:
        what = f"{memory_mib} MiB of memory, expected at least {floor:.0f} MiB"
        return failed(CHECK, what, component="node", **common)
    return passed(CHECK, f"{memory_mib} MiB of memory", **common)


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(
        view.facts.memory_mib,
        expected_mib=view.expected.memory_mib,
        reserve=view.limits.memory_reserve,
    )
