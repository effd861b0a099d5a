"""What does Slurm's text output say? Pure; a line of another form is an error, never skipped."""

from __future__ import annotations

import re

from muster.errors import UnknownOutcomeError
from muster.schedulers.hostlist import expand
from muster.schedulers.model import Job, NodeStatus, SchedulerUnavailableError

OWN_REASON_PREFIX = "muster:"
_FIELD = re.compile(r"(?:^| )([A-Za-z][A-Za-z0-9_:/]*)=")
# Free text, last but for Comment and Extra; "[root@2026-11-21T09:30:00]" closes it.
_REASON = re.compile(r" Reason=(?P<text>.*) \[(?P<user>[^\[\]@]*)@(?P<time>[0-9T:.-]+)\]")
_GPU = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:(\d+)")
_MARKS = {"*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "%": "POWERING_DOWN"}
_MARKS |= {"$": "MAINTENANCE", "@": "REBOOT", "^": "REBOOT", "!": "REBOOT", "-": "PLANNED"}
_SHORT = {"DRAINED": ("DRAIN", "IDLE"), "DRAINING": ("DRAIN", "ALLOCATED")}
_JOB_FIELDS = 5
# Reasons that slurmctld itself sets for something that was so at one moment and may have passed.
_PASSING_REASONS = (
    "Not responding",
    "Node unexpectedly rebooted",
    "Prolog error",
    "Epilog error",
    "Kill task failed",
    "batch job complete failure",
)
_SCHEDULER_USERS = frozenset({"slurm", "root"})


def _fields(line: str) -> dict[str, str]:
    """Split "a=1 b=x y c=2" where the next key begins; the first mention of a key holds."""
    marks = list(_FIELD.finditer(line))
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=False):
        found.setdefault(mark.group(1), line[mark.end() : end].strip())
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def parse_states(text: str) -> frozenset[str]:
    """Read "IDLE*+DRAIN" as {"IDLE", "NOT_RESPONDING", "DRAIN"}."""
    found: set[str] = set()
    for part in text.split("+"):
        word = part.rstrip("".join(_MARKS))
        found.update(_MARKS[mark] for mark in part[len(word) :])
        found.update(_SHORT.get(word, (word,)))
    return frozenset(found - {""})


def _gpus(text: str) -> int:
    """Add up "gpu:h100:4(S:0),gpu:2"; none where no gpu is named."""
    return sum(int(count) for count in _GPU.findall(text))


def parse_node(line: str) -> NodeStatus:
    """Read one line of `scontrol show node -o`.

    Raises:
        SchedulerUnavailableError: not such a line.

    """
    reason = _REASON.search(line)
    if reason is not None:
        # A reason may hold "key=value": it is cut out before the rest is split.
        line = line[: reason.start()] + line[reason.end() :]
    fields = _fields(line)
    if not fields.get("NodeName") or not fields.get("State"):
        what = f"scontrol show node printed {line[:80]!r}"
        raise SchedulerUnavailableError(what, hint="Expected NodeName=… State=….")
    return NodeStatus(
        name=fields["NodeName"],
        states=parse_states(fields["State"]),
        reason=reason["text"] if reason else "",
        reason_user=reason["user"] if reason else "",
        cpus=_number(fields.get("CPUTot", "")),
        memory_mib=_number(fields.get("RealMemory", "")),
        gpus=_gpus(fields["Gres"]) if "Gres" in fields else None,
        version=fields.get("Version", ""),
    )


def parse_nodes(text: str) -> dict[str, NodeStatus]:
    """Read all of `scontrol show node -o`; errors as `parse_node`."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and lines[0].startswith("No nodes in the system"):
        return {}
    nodes = [parse_node(line) for line in lines]
    return {node.name: node for node in nodes}


def parse_jobs(text: str) -> tuple[Job, ...]:
    """Read `squeue --format=%i|%u|%T|%N|%j`; the name is last as it may hold anything.

    Raises:
        SchedulerUnavailableError: a line of another form.

    """
    jobs = []
    for line in text.splitlines():
        parts = line.split("|", _JOB_FIELDS - 1)
        if len(parts) != _JOB_FIELDS:
            what = f"squeue printed {line[:80]!r}"
            raise SchedulerUnavailableError(what, hint="Expected id|user|state|nodes|name.")
        identity, user, _, nodes, name = parts
        jobs.append(Job(id=identity, name=name, user=user, nodes=_hosts(nodes)))
    return tuple(jobs)


def parse_reservation(text: str) -> frozenset[str]:
    """Read the nodes from `scontrol show reservation NAME -o`.

    Raises:
        SchedulerUnavailableError: no reservation line.

    """
    fields = _fields(text.strip())
    if "ReservationName" not in fields:
        what = f"scontrol show reservation printed {text[:80]!r}"
        raise SchedulerUnavailableError(what, hint="Expected ReservationName=….")
    return frozenset(_hosts(fields.get("Nodes", "")))


def _hosts(expression: str) -> tuple[str, ...]:
    try:
        return expand(expression)
    except UnknownOutcomeError as error:
        raise SchedulerUnavailableError(error.what) from error


def is_ours(status: NodeStatus) -> bool:
    """Did muster set this node's reason?"""
    return status.reason.startswith(OWN_REASON_PREFIX)


def has_passed(status: NodeStatus) -> bool:
    """Did the scheduler itself set the reason, for something that may be over?

    A DOWN node without any reason counts: slurmctld marks a node so that never answered it.
    """
    if not status.reason:
        return "DOWN" in status.states and not status.drained
    by_scheduler = status.reason_user in _SCHEDULER_USERS
    return by_scheduler and status.reason.startswith(_PASSING_REASONS)
