"""Taking nodes out of the users' reach and putting them back, by hand, through the scheduler."""

from __future__ import annotations

from muster.acceptance.workbench import RESERVATION
from muster.errors import MusterError
from muster.schedulers.model import Scheduler


def take_out_of_service(scheduler: Scheduler, node: str, why: str) -> str:
    """Drain a node with a reason of ours and reserve it; returns what was done.

    Raises:
        MusterError: it is drained already with a reason that is not ours.

    """
    if not scheduler.drain(node, f"muster:quarantine:{why}"):
        reason = scheduler.nodes()[node].reason
        what = f"already drained by somebody else: {reason!r}"
        raise MusterError(what, where=node, hint="Left as it is.")
    scheduler.reserve(RESERVATION, {*scheduler.reservation(RESERVATION), node})
    return f"drained, with reason muster:quarantine:{why}"


def put_in_service(scheduler: Scheduler, node: str) -> str:
    """Resume a node that muster drained, and end its reservation; returns what was done.

    Raises:
        MusterError: somebody else drained it.

    """
    if not scheduler.resume(node):
        reason = scheduler.nodes()[node].reason
        what = f"drained by somebody else: {reason!r}"
        raise MusterError(what, where=node, hint="Who drained it resumes it, with scontrol.")
    scheduler.reserve(RESERVATION, scheduler.reservation(RESERVATION) - {node})
    return "back in service"
