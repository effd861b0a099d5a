"""Carry a rolling change out: drain, wait, change, resume, wave by wave; a kill costs no wave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster.clock import Clock
from muster.converge.rolling import Phase, RollingLimits, RollingRecord
from muster.errors import MusterError
from muster.progress import Progress
from muster.schedulers.model import NodeStatus, Scheduler
from muster.schedulers.slurm_text import is_ours

_WORKING = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
_POLL_S = 2.0

Change = Callable[[Sequence[str]], Mapping[str, str]]
"""Changes some nodes at once, reboots and validates them; says why for each that failed."""
Save = Callable[[RollingRecord], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class RollingEdges:
    """What a rolling change works with."""

    scheduler: Scheduler
    change: Change
    save: Save
    clock: Clock
    progress: Progress


class Rolling:
    """One rolling change; `run` takes it from wherever its record is to its end."""

    def __init__(self, record: RollingRecord, limits: RollingLimits, edges: RollingEdges) -> None:
        self._record = record
        self._limits = limits
        self._edges = edges

    def run(self) -> RollingRecord:
        """Change wave after wave, until all are done or too many failed."""
        self._keep(self._record)
        for number, wave in enumerate(self._record.waves):
            stop = self._record.stop_reason(number - 1, self._limits) if number else ""
            if stop:
                self._keep(replace(self._record, stopped=stop))
                break
            self._wave(number, wave)
        self._keep(replace(self._record, finished=True))
        return self._record

    def _wave(self, number: int, wave: Sequence[str]) -> None:
        nodes = self._record.open_in(wave)
        if not nodes:
            return
        title = f"wave {number + 1}/{len(self._record.waves)}"
        self._edges.progress(f"{title}: draining {', '.join(nodes)}")
        ready = self._drained([name for name in nodes if self._drain(name)], title)
        if not ready:
            return
        for name in ready:
            self._note(name, "applying")
        self._edges.progress(f"{title}: changing {', '.join(ready)}")
        try:
            wrong = self._edges.change(ready)
        except MusterError as error:
            wrong = dict.fromkeys(ready, str(error))
        for name in ready:
            if wrong.get(name):
                self._fail(name, wrong[name])
            else:
                self._resume(name)
        self._wait_usable(ready)

    def _drain(self, name: str) -> bool:
        """Take a node out of service; False where it is not ours to touch."""
        status = self._edges.scheduler.nodes().get(name)
        if status is None:
            self._note(name, "left", "the scheduler does not know it")
            return False
        if status.drained and status.reason != self._record.reason:
            if not is_ours(status):
                self._note(name, "left", f"drained by another: {status.reason}")
                return False
            # Quarantined before: its reason stays, and so does it.
            held = replace(self._record.nodes[name], held=True)
            self._keep(replace(self._record, nodes={**self._record.nodes, name: held}))
        elif not self._edges.scheduler.drain(name, self._record.reason):
            self._note(name, "left", "drained by another")
            return False
        self._note(name, "draining")
        return True

    def _drained(self, nodes: Sequence[str], title: str) -> tuple[str, ...]:
        """Wait until no job is on them; who is still busy at the end is let go."""
        deadline_s = self._edges.clock.monotonic_s() + self._limits.drain_timeout_s
        while True:
            found = self._edges.scheduler.nodes()
            busy = [name for name in nodes if _is_busy(found.get(name))]
            if not busy or self._edges.clock.monotonic_s() >= deadline_s:
                break
            self._edges.progress(f"{title}: jobs run on {', '.join(busy)}")
            self._edges.clock.sleep(_POLL_S)
        for name in busy:
            why = f"jobs ran on it for {self._limits.drain_timeout_s:g} s"
            if not self._record.nodes[name].held:
                self._edges.scheduler.resume(name)
            self._note(name, "left", why)
        return tuple(name for name in nodes if name not in busy)

    def _fail(self, name: str, why: str) -> None:
        if not self._record.nodes[name].held:
            self._edges.scheduler.drain(name, f"muster:rolling:fail:{self._record.id}")
        self._note(name, "failed", why)

    def _resume(self, name: str) -> None:
        """Put a node back that this change took out; one with another reason by now stays out."""
        status = self._edges.scheduler.nodes().get(name)
        held = self._record.nodes[name].held
        if not held and status is not None and status.reason in {"", self._record.reason}:
            self._edges.scheduler.resume(name)
        elif not held:
            said = status.reason if status else "the scheduler does not know it"
            self._note(name, "failed", f"out of service since with another reason: {said}")

    def _wait_usable(self, nodes: Sequence[str]) -> None:
        """A node is done when the scheduler would use it, or when it was held out before."""
        deadline_s = self._edges.clock.monotonic_s() + self._limits.register_timeout_s
        waiting = [name for name in nodes if self._record.nodes[name].phase == "applying"]
        while waiting:
            found = self._edges.scheduler.nodes()
            for name in waiting:
                status = found.get(name)
                if self._record.nodes[name].held or (status is not None and status.usable):
                    self._note(name, "done")
            waiting = [name for name in waiting if self._record.nodes[name].phase != "done"]
            if waiting and self._edges.clock.monotonic_s() >= deadline_s:
                for name in waiting:
                    limit = self._limits.register_timeout_s
                    self._fail(name, f"not usable {limit:g} s after it was resumed")
                return
            if waiting:
                self._edges.clock.sleep(_POLL_S)

    def _note(self, name: str, phase: Phase, why: str = "") -> None:
        self._keep(self._record.noted(name, phase, why))

    def _keep(self, record: RollingRecord) -> None:
        """Keep it before the next deed: a kill finds what was begun."""
        self._record = record
        self._edges.save(record)


def _is_busy(status: NodeStatus | None) -> bool:
    """Does a job run there? A node that vanished from the scheduler is not known to be free."""
    return status is None or bool(status.states & _WORKING)
