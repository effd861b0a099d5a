"""Slurm, asked and told through ssh to the head node."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from datetime import timedelta

from muster.clock import Clock
from muster.errors import RemoteError
from muster.remote import Remote
from muster.schedulers.model import (
    Job,
    NodeStatus,
    SchedulerUnavailableError,
    Step,
    StepResult,
)
from muster.schedulers.slurm_text import (
    OWN_REASON_PREFIX,
    has_passed,
    is_ours,
    parse_jobs,
    parse_nodes,
    parse_reservation,
)
from muster.shell import Completed

_ASK_S = 20.0
_KILL_AFTER_S = 5
_START_S = 15
"""How long Slurm may take to give a step its nodes: they are reserved, so it gives them at once."""
_TIMED_OUT = 124
_KILLED = 137
OWN_CLEARING = f"{OWN_REASON_PREFIX}clearing what is left of an ended job"
"""A kill between the two commands leaves this reason; the next run resumes what is ours."""
_ATTEMPTS = 3
_PAUSE_S = 1.0


class Slurm:
    """The scheduler of `head`; see `muster.schedulers.model.Scheduler`."""

    def __init__(self, remote: Remote, head: str, clock: Clock) -> None:
        self._remote = remote
        self._head = head
        self._clock = clock

    def nodes(self) -> Mapping[str, NodeStatus]:
        """Return every node that Slurm knows."""
        return parse_nodes(self._ask("scontrol show node --oneliner").stdout)

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs that hold nodes."""
        command = (
            "squeue --noheader --states=running,completing,configuring,suspended,stopped"
            " --format='%i|%u|%T|%N|%j'"
        )
        return parse_jobs(self._ask(command).stdout)

    def reservation(self, name: str) -> frozenset[str]:
        """Return the nodes in a reservation; empty where there is none."""
        command = f"scontrol show reservation {shlex.quote(name)} --oneliner"
        done = self._run(command)
        if not done.ok and "not found" in done.stdout + done.stderr:
            return frozenset()
        return parse_reservation(_succeeded(done, command).stdout)

    def reserve(self, name: str, nodes: Iterable[str]) -> None:
        """Make the reservation hold exactly these nodes; none deletes it."""
        wanted = sorted(set(nodes))
        current = self.reservation(name)
        if current == set(wanted):
            return
        quoted = shlex.quote(f"reservationname={name}")
        listed = shlex.quote(f"nodes={','.join(wanted)}")
        if not wanted:
            self._ask(f"scontrol delete {quoted}")
        elif current:
            self._ask(f"scontrol update {quoted} {listed}")
        else:
            self._ask(
                f"scontrol create reservation {quoted} {listed} starttime=now duration=infinite"
                " user=root flags=maint,ignore_jobs"
            )

    def drain(self, node: str, reason: str) -> bool:
        """Take a node out of service; False where it is drained with a reason not ours."""
        status = self._status(node)
        if status.drained and status.reason and not (is_ours(status) or has_passed(status)):
            return False
        what = shlex.quote(f"reason={reason}")
        self._ask(f"scontrol update {shlex.quote(f'nodename={node}')} state=drain {what}")
        return True

    def resume(self, node: str) -> bool:
        """Put a node back that we, or Slurm itself, took out; False where the reason is another."""
        status = self._status(node)
        if status.usable:
            return True
        if not (is_ours(status) or has_passed(status)):
            return False
        self._ask(f"scontrol update {shlex.quote(f'nodename={node}')} state=resume")
        return True

    def clear(self, node: str) -> None:
        """End what Slurm still waits for on a node: down ends its jobs at once, then it is resumed.

        Without it slurmctld asks a daemon that was away again only after minutes.
        """
        name, reason = shlex.quote(f"nodename={node}"), shlex.quote(f"reason={OWN_CLEARING}")
        self._ask(f"scontrol update {name} state=down {reason}")
        self._ask(f"scontrol update {name} state=resume")

    def run_step(self, step: Step) -> StepResult:
        """Run a step to its end or its deadline; its job is cancelled where it did not end well."""
        command = step_command(step)
        begin = self._clock.monotonic_s()
        try:
            done = self._remote.run(
                self._head, command, timeout_s=step.deadline_s + _KILL_AFTER_S + _ASK_S
            )
        except RemoteError as error:
            self.cancel(step.name)
            raise SchedulerUnavailableError(error.what, where=self._head) from error
        if not done.ok:
            self.cancel(step.name)
        return StepResult(
            rc=done.rc,
            stdout=done.stdout,
            stderr=done.stderr,
            timed_out=done.rc in {_TIMED_OUT, _KILLED},
            command=command,
            duration_s=self._clock.monotonic_s() - begin,
        )

    def cancel(self, name_prefix: str) -> tuple[str, ...]:
        """Cancel the jobs whose name begins so; returns their ids."""
        done = self._ask("squeue --noheader --format='%i|%u|%T|%N|%j'")
        ids = tuple(j.id for j in parse_jobs(done.stdout) if j.name.startswith(name_prefix))
        if ids:
            self._ask(f"scancel --full {' '.join(shlex.quote(i) for i in ids)}")
        return ids

    def _status(self, node: str) -> NodeStatus:
        status = self.nodes().get(node)
        if status is None:
            what = f"Slurm knows no node {node!r}"
            raise SchedulerUnavailableError(what, where=self._head, hint="Run `muster converge`.")
        return status

    def _ask(self, command: str) -> Completed:
        """Run one of Slurm's own commands; a busy controller is asked again."""
        for left in reversed(range(_ATTEMPTS)):
            done = self._run(command)
            if done.ok or left == 0:
                return _succeeded(done, command)
            self._clock.sleep(_PAUSE_S)
        raise AssertionError  # the loop always returns or raises

    def _run(self, command: str) -> Completed:
        try:
            return self._remote.run(self._head, command, timeout_s=_ASK_S)
        except RemoteError as error:
            raise SchedulerUnavailableError(error.what, where=self._head) from error


def _succeeded(done: Completed, command: str) -> Completed:
    if done.ok:
        return done
    what = f"`{command}` ended with {done.rc}: {(done.stderr or done.stdout).strip()[-300:]}"
    raise SchedulerUnavailableError(what, hint="Is slurmctld up? Try `scontrol ping` on the head.")


def step_command(step: Step) -> str:
    """Return the command line for the head node: srun, ended from outside at the deadline."""
    minutes = max(1, -(-int(step.deadline_s + _START_S) // 60))
    options = {
        "job-name": step.name,
        "nodes": str(len(step.nodes)),
        "nodelist": ",".join(step.nodes),
        "ntasks-per-node": "1",
        "cpus-per-task": "1",
        "time": str(timedelta(minutes=minutes)),
        "immediate": str(_START_S),
        "chdir": "/",
        "input": "none",
        # A job has slurmd's limits, not those of the login that this command happens to come from.
        "propagate": "NONE",
        "kill-on-bad-exit": "0",
        "wait": "0",
        "mpi": step.mpi or "none",
    }
    if step.partition:
        options["partition"] = step.partition
    if step.reservation:
        options["reservation"] = step.reservation
    flags = " ".join(f"--{key}={shlex.quote(value)}" for key, value in options.items())
    settings = "".join(f"{k}={shlex.quote(v)} " for k, v in sorted(step.environment.items()))
    limit = f"timeout --kill-after={_KILL_AFTER_S} {step.deadline_s:g}"
    return f"{settings}{limit} srun --no-kill {flags} sh -c {shlex.quote(step.command)}"
