"""Did the playbooks do all they had to do on this node?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.findings import Finding

CHECK = "converged"


def judge(failure: str | None) -> Finding:
    """Read what the last converge said of the node; None: nobody told how it ended."""
    if failure is None:
        return unknown(CHECK, "nobody told how the last converge ended; run `muster converge`")
    if failure:
        return failed(CHECK, f"the playbooks failed: {failure}", component="node")
    return passed(CHECK, "the playbooks ended well on this node")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    return judge(view.converge_failure)
