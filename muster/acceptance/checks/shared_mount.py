"""Is the shared file system mounted, and is it the same one everywhere?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "shared-mount"
_NOT_ASKED = "was not asked"


def judge(shared_id: str | Problem, *, head_id: str | Problem) -> Finding:
    """Compare the marker's text with what the head reads: an empty directory has none."""
    if isinstance(shared_id, Problem):
        if shared_id.text == _NOT_ASKED:
            return unknown(CHECK, "no marker was asked for")
        return failed(CHECK, f"the marker cannot be read: {shared_id.text}", component="node")
    if isinstance(head_id, Problem):
        return unknown(CHECK, f"the head's marker cannot be read: {head_id.text}")
    if shared_id != head_id:
        what = f"another file system is mounted: id {shared_id!r}, expected {head_id!r}"
        return failed(CHECK, what, component="node")
    return passed(CHECK, f"mounted, id {shared_id!r}")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.shared_id, head_id=view.head_shared_id)
