"""Slurm is told only what it should be told, and silence is not taken for an answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from muster.errors import RemoteError
from muster.schedulers.model import SchedulerUnavailableError, Step
from muster.schedulers.slurm import OWN_CLEARING, Slurm, step_command
from muster.shell import Completed

NODE = "NodeName=n1 State={state}{reason}\n"


class StillClock:
    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    def monotonic_s(self) -> float:
        return float(sum(self.slept))

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Head:
    """A head node that answers by the first words of a command; keeps what it was asked."""

    def __init__(self, **answers: str | int | Exception) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        del node, timeout_s, stdin
        self.asked.append(command)
        words = command.replace(" show ", "_show_").split()
        for key, answer in self.answers.items():
            if key in words[0] or key in command:
                if isinstance(answer, Exception):
                    raise answer
                rc = answer if isinstance(answer, int) else 0
                out = "" if isinstance(answer, int) else answer
                return Completed(argv=("sh",), rc=rc, stdout=out, stderr="")
        return Completed(argv=("sh",), rc=0, stdout="", stderr="")


def slurm(**answers: str | int | Exception) -> tuple[Slurm, Head]:
    head = Head(**answers)
    return Slurm(head, "head", StillClock()), head


def node(state: str, reason: str = "", user: str = "root") -> str:
    said = f" Reason={reason} [{user}@2026-11-21T10:00:00]" if reason else ""
    return NODE.format(state=state, reason=said)


def updates(head: Head) -> list[str]:
    return [command for command in head.asked if command.startswith("scontrol update")]


def test_a_free_node_is_drained_with_our_reason() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE"))
    assert scheduler.drain("n1", "muster:gpu-count:fail:r1")
    assert updates(head) == [
        "scontrol update nodename=n1 state=drain reason=muster:gpu-count:fail:r1"
    ]


def test_a_human_reason_is_never_overwritten() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE+DRAIN", "bad fan", "ann"))
    assert not scheduler.drain("n1", "muster:gpu-count:fail:r1")
    assert updates(head) == []


def test_a_reason_of_slurm_itself_gives_way_to_a_better_one() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE+DRAIN", "Prolog error", "slurm"))
    assert scheduler.drain("n1", "muster:gpu-count:fail:r1")
    assert len(updates(head)) == 1


def test_our_own_drain_is_resumed() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE+DRAIN", "muster:limits:fail:r0"))
    assert scheduler.resume("n1")
    assert updates(head) == ["scontrol update nodename=n1 state=resume"]


def test_a_human_drain_is_not_resumed() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE+DRAIN", "bad fan", "ann"))
    assert not scheduler.resume("n1")
    assert updates(head) == []


def test_a_usable_node_needs_no_resume() -> None:
    scheduler, head = slurm(scontrol_show_node=node("IDLE"))
    assert scheduler.resume("n1")
    assert updates(head) == []


def test_what_is_left_of_a_job_is_cleared_by_taking_the_node_down_and_up() -> None:
    scheduler, head = slurm()
    scheduler.clear("n1")
    assert updates(head) == [
        f"scontrol update nodename=n1 state=down 'reason={OWN_CLEARING}'",
        "scontrol update nodename=n1 state=resume",
    ]


def test_a_silent_head_is_no_answer() -> None:
    scheduler, _ = slurm(scontrol=RemoteError("no route", where="head"))
    with pytest.raises(SchedulerUnavailableError, match="no route"):
        scheduler.nodes()


def test_a_controller_that_is_down_is_asked_again_and_then_unknown() -> None:
    scheduler, head = slurm(scontrol=1)
    with pytest.raises(SchedulerUnavailableError, match="ended with 1"):
        scheduler.nodes()
    assert len(head.asked) == 3


def test_an_unknown_node_is_not_invented() -> None:
    scheduler, _ = slurm(scontrol_show_node=node("IDLE"))
    with pytest.raises(SchedulerUnavailableError, match="knows no node 'n2'"):
        scheduler.drain("n2", "muster:x:fail:r1")


RESERVED = "ReservationName=r Nodes=n[1-2] NodeCnt=2\n"


@pytest.mark.parametrize(
    ("nodes", "command"),
    [
        (["n1"], "scontrol update reservationname=r nodes=n1"),
        ([], "scontrol delete reservationname=r"),
        (["n2", "n1"], None),
    ],
)
def test_the_reservation_is_made_to_hold_exactly_the_nodes(
    nodes: list[str], command: str | None
) -> None:
    scheduler, head = slurm(scontrol_show_reservation=RESERVED)
    scheduler.reserve("r", nodes)
    assert head.asked[1:] == ([command] if command else [])


def test_a_missing_reservation_is_made_for_root_only() -> None:
    scheduler, head = slurm()
    head.answers = {}

    def absent(_: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        del timeout_s, stdin
        head.asked.append(command)
        show = " show " in command
        said = "Reservation r not found" if show else ""
        return Completed(argv=("sh",), rc=int(show), stdout=said, stderr="")

    scheduler = Slurm(_Asked(absent), "head", StillClock())
    scheduler.reserve("r", ["n1"])
    assert "user=root flags=maint,ignore_jobs" in head.asked[-1]
    assert "nodes=n1" in head.asked[-1]


class _Asked:
    def __init__(self, answer: Callable[..., Completed]) -> None:
        self.run = answer


STEP = Step(name="job", nodes=("n1", "n2"), command="echo $SLURMD_NODENAME", deadline_s=9)


def test_a_step_is_bounded_and_runs_once_per_node() -> None:
    command = step_command(STEP)
    assert command.startswith("timeout --kill-after=5 9 srun ")
    assert "--nodelist=n1,n2" in command
    assert "--ntasks-per-node=1" in command
    assert command.endswith("sh -c 'echo $SLURMD_NODENAME'")


def test_what_is_left_of_a_step_that_did_not_end_well_is_cancelled() -> None:
    scheduler, head = slurm(timeout=124, squeue="7|root|RUNNING|n1|job\n8|ann|RUNNING|n1|other\n")
    result = scheduler.run_step(STEP)
    assert result.timed_out
    assert "scancel --full 7" in head.asked


def test_a_step_that_ended_well_cancels_nothing() -> None:
    scheduler, head = slurm()
    result = scheduler.run_step(STEP)
    assert (result.rc, result.timed_out) == (0, False)
    assert len(head.asked) == 1
