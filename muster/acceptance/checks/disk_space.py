"""Is there room on the node's own disk?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "disk-space"


def judge(free_bytes: Mapping[str, int | Problem], *, free_min_gib: float) -> Finding:
    """Compare what is free on each path with the least that a job's scratch needs."""
    if not free_bytes:
        return unknown(CHECK, "no file system was asked for")
    problems = [f"{path}: {p.text}" for path, p in free_bytes.items() if isinstance(p, Problem)]
    known = {path: n for path, n in free_bytes.items() if not isinstance(n, Problem)}
    low = {path: n for path, n in known.items() if n < free_min_gib * 2**30}
    if low:
        what = ", ".join(f"{n / 2**30:.2f} GiB free on {path}" for path, n in low.items())
        what = f"{what}; expected {free_min_gib:g} GiB"
        return failed(CHECK, what, component="node", value=min(low.values()), unit="B")
    if problems:
        return unknown(CHECK, f"free space could not be read: {'; '.join(problems)}")
    least = min(known.values())
    return passed(CHECK, f"{least / 2**30:.1f} GiB free", value=least, unit="B")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.free_bytes, free_min_gib=view.limits.disk_free_min_gib)
