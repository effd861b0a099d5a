"""May a job lock memory and open files as RDMA needs?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "limits"
_UNLIMITED = -1


def judge(
    limits: Mapping[str, int] | Problem, *, memlock_unlimited: bool, min_nofile: int, as_job: bool
) -> Finding:
    """Compare a job's limits with what the type needs; those of a login say nothing."""
    if isinstance(limits, Problem):
        return unknown(CHECK, f"limits could not be read: {limits.text}")
    if not as_job:
        return unknown(CHECK, "limits were read outside a job, where they may differ")
    memlock, nofile = limits.get("memlock"), limits.get("nofile")
    if memlock is None or nofile is None:
        return unknown(CHECK, "the node did not tell all limits")
    faults = []
    if memlock_unlimited and memlock != _UNLIMITED:
        faults.append(f"locked memory is limited to {memlock} B, expected unlimited")
    if nofile != _UNLIMITED and nofile < min_nofile:
        faults.append(f"{nofile} open files, expected at least {min_nofile}")
    if faults:
        return failed(CHECK, f"in a job: {'; '.join(faults)}", component="node")
    return passed(CHECK, f"in a job: memlock {memlock}, {nofile} open files (-1: unlimited)")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(
        view.facts.limits,
        memlock_unlimited=view.expected.memlock_unlimited,
        min_nofile=view.expected.min_nofile,
        as_job=view.as_job,
    )
