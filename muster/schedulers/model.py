"""What acceptance needs of a scheduler, and the words for its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from muster.errors import UnknownOutcomeError

_OUT = frozenset({"DOWN", "DRAIN", "FAIL", "POWERED_DOWN", "UNKNOWN"})
_SILENT = "NOT_RESPONDING"


class SchedulerUnavailableError(UnknownOutcomeError):
    """The scheduler could not be asked, or its answer made no sense: nothing is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeStatus:
    """A node as the scheduler has it; numbers are None where it does not say.

    `states` has the base state and every flag, as {"IDLE", "DRAIN", "NOT_RESPONDING"}.
    """

    name: str
    states: frozenset[str]
    reason: str = ""
    reason_user: str = ""
    cpus: int | None = None
    memory_mib: int | None = None
    gpus: int | None = None
    version: str = ""

    @property
    def usable(self) -> bool:
        """Would the scheduler start a job there now?"""
        return not self.states & _OUT and _SILENT not in self.states

    @property
    def settling(self) -> bool:
        """May it be usable in a moment: is a job's end being cleared away, was one ping lost?

        Slurm passes its pings on from node to node, so that a dead one silences others for a while.
        """
        return not self.states & _OUT and bool(self.states & {"COMPLETING", _SILENT})

    @property
    def drained(self) -> bool:
        """Was it taken out of service?"""
        return "DRAIN" in self.states


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job that holds nodes now."""

    id: str
    name: str
    user: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Something to run once on each of some nodes; it is over when `deadline_s` has passed."""

    name: str
    nodes: tuple[str, ...]
    command: str
    """A POSIX shell command line; SLURMD_NODENAME names the node it runs on."""
    deadline_s: float
    reservation: str = ""
    partition: str = ""
    mpi: str = ""
    """The launcher's MPI interface, as "pmix"; empty for programs that are not MPI."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """How a step ended. Its exit status says little: judge what the nodes wrote."""

    rc: int
    stdout: str
    stderr: str
    timed_out: bool
    command: str
    """The command line on the head node, ready to paste."""
    duration_s: float


class Scheduler(Protocol):
    """Every method raises SchedulerUnavailableError where the scheduler cannot be asked."""

    def nodes(self) -> Mapping[str, NodeStatus]:
        """Return every node that the scheduler knows."""
        ...

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs that hold nodes."""
        ...

    def reservation(self, name: str) -> frozenset[str]:
        """Return the nodes in a reservation; empty where there is none."""
        ...

    def reserve(self, name: str, nodes: Iterable[str]) -> None:
        """Make the reservation hold exactly these nodes; none deletes it."""
        ...

    def drain(self, node: str, reason: str) -> bool:
        """Take a node out of service; False where it is drained with a reason not ours."""
        ...

    def resume(self, node: str) -> bool:
        """Put a node back that we, or the scheduler itself, took out; False where not ours."""
        ...

    def clear(self, node: str) -> None:
        """Have the scheduler forget jobs that ended but that it still waits for on a node."""
        ...

    def run_step(self, step: Step) -> StepResult:
        """Run a step to its end or its deadline; nothing of it is left behind."""
        ...

    def cancel(self, name_prefix: str) -> tuple[str, ...]:
        """Cancel the jobs whose name begins so; returns their ids."""
        ...
