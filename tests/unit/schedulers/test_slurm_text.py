"""What Slurm prints is read as it is meant, or refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.schedulers.model import NodeStatus, SchedulerUnavailableError
from muster.schedulers.slurm_text import (
    has_passed,
    is_ours,
    parse_jobs,
    parse_node,
    parse_nodes,
    parse_reservation,
    parse_states,
)

# Captured in a lab with Slurm 24.11.5; parts that nobody reads were cut out.
IDLE = (
    "NodeName=gpu-1 Arch=x86_64 CoresPerSocket=16  CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=6.45"
    " AvailableFeatures=(null) Gres=gpu:muster-lab-gpu:8 NodeAddr=gpu-1 NodeHostName=gpu-1"
    " Version=24.11.5 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=2000 AllocMem=0"
    " State=IDLE+MAINTENANCE+RESERVED ThreadsPerCore=1 Partitions=gpu,muster"
    " CfgTRES=cpu=16,mem=2000M,billing=16,gres/gpu=8 AllocTRES= ReservationName=muster-acceptance"
)
DRAINED = IDLE.replace("State=IDLE+", "State=IDLE+DRAIN+").replace(
    " ReservationName", " Reason=Prolog error [slurm@2026-11-21T10:10:22] ReservationName"
)


def drained(reason: str, user: str = "root") -> NodeStatus:
    return parse_node(f"NodeName=n1 State=IDLE+DRAIN Reason={reason} [{user}@2026-11-21T10:00:00]")


def test_an_idle_node_is_read_with_its_numbers() -> None:
    node = parse_node(IDLE)
    assert (node.name, node.cpus, node.memory_mib, node.gpus) == ("gpu-1", 16, 2000, 8)
    assert node.version == "24.11.5"
    assert node.usable
    assert not node.drained


def test_a_drained_node_is_not_usable_and_its_reason_is_kept() -> None:
    node = parse_node(DRAINED)
    assert node.drained
    assert not node.usable
    assert (node.reason, node.reason_user) == ("Prolog error", "slurm")


def test_a_reason_that_looks_like_a_field_does_not_change_the_state() -> None:
    node = drained("see State=IDLE and Gres=gpu:99 [ticket 4]")
    assert "DRAIN" in node.states
    assert node.gpus is None
    assert node.reason == "see State=IDLE and Gres=gpu:99 [ticket 4]"


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("IDLE", {"IDLE"}),
        ("IDLE*+DRAIN", {"IDLE", "NOT_RESPONDING", "DRAIN"}),
        ("DOWN*", {"DOWN", "NOT_RESPONDING"}),
        ("IDLE+DRAIN+NOT_RESPONDING", {"IDLE", "DRAIN", "NOT_RESPONDING"}),
        ("MIXED-", {"MIXED", "PLANNED"}),
    ],
)
def test_states_are_read_with_their_marks(text: str, states: set[str]) -> None:
    assert parse_states(text) == states


@pytest.mark.parametrize("state", ["DOWN*", "IDLE+DRAIN", "IDLE*", "FAIL", "UNKNOWN"])
def test_a_node_that_slurm_would_not_use_is_not_usable(state: str) -> None:
    assert not parse_node(f"NodeName=n1 State={state}").usable


def test_what_is_not_said_is_not_known() -> None:
    node = parse_node("NodeName=n1 State=IDLE")
    assert (node.cpus, node.memory_mib, node.gpus) == (None, None, None)


def test_no_gres_is_no_gpu() -> None:
    assert parse_node("NodeName=n1 Gres=(null) State=IDLE").gpus == 0


def test_gres_of_several_kinds_are_added_up() -> None:
    assert (
        parse_node("NodeName=n1 Gres=gpu:a100:4(S:0),gpu:h100:4(S:1),shard:8 State=IDLE").gpus == 8
    )


@pytest.mark.parametrize("line", ["", "slurm_load_node error", "NodeName=n1", "State=IDLE"])
def test_a_line_that_is_no_node_is_refused(line: str) -> None:
    with pytest.raises(SchedulerUnavailableError):
        parse_node(line)


def test_a_system_without_nodes_is_empty() -> None:
    assert parse_nodes("No nodes in the system\n") == {}


def test_jobs_are_read_with_any_name() -> None:
    (job,) = parse_jobs("36|ann|RUNNING|gpu-[1-2]|train|v2, final\n")
    assert (job.id, job.user, job.nodes, job.name) == (
        "36",
        "ann",
        ("gpu-1", "gpu-2"),
        "train|v2, final",
    )


@pytest.mark.parametrize("text", ["36|ann|RUNNING\n", "slurm_load_jobs error\n", "1|a|R|n[|x\n"])
def test_a_line_that_is_no_job_is_refused(text: str) -> None:
    with pytest.raises(SchedulerUnavailableError):
        parse_jobs(text)


def test_a_reservation_names_its_nodes() -> None:
    text = (
        "ReservationName=muster-acceptance StartTime=2026-11-21T10:10:21 Nodes=gpu-[1-3] NodeCnt=3"
    )
    assert parse_reservation(text) == {"gpu-1", "gpu-2", "gpu-3"}


def test_text_that_is_no_reservation_is_refused() -> None:
    with pytest.raises(SchedulerUnavailableError):
        parse_reservation("slurm_load_reservations error: Unable to contact slurm controller")


def test_our_reason_is_known_by_its_prefix() -> None:
    assert is_ours(drained("muster:gpu-count:fail:run1"))
    assert not is_ours(drained("for muster: do not touch"))


@pytest.mark.parametrize("reason", ["Not responding", "Prolog error", "Node unexpectedly rebooted"])
def test_what_slurm_noted_itself_may_have_passed(reason: str) -> None:
    assert has_passed(drained(reason, user="slurm"))


@pytest.mark.parametrize(
    "reason", ["bad cable, ann", "gres/gpu count reported lower than configured"]
)
def test_a_human_reason_and_a_standing_fault_have_not_passed(reason: str) -> None:
    assert not has_passed(drained(reason, user="slurm"))


def test_a_human_who_writes_as_slurm_does_is_still_a_human() -> None:
    assert not has_passed(drained("Not responding", user="ann"))


def test_a_node_that_is_down_without_a_reason_may_be_back() -> None:
    assert has_passed(parse_node("NodeName=n1 State=DOWN"))
    assert not has_passed(parse_node("NodeName=n1 State=IDLE+DRAIN"))


WORDS = st.text(alphabet=st.characters(codec="ascii", exclude_characters="\n\r"), max_size=30)


@given(WORDS.filter(lambda text: text == text.strip() and text))
def test_any_reason_comes_back_whole_and_changes_nothing_else(reason: str) -> None:
    node = drained(reason)
    assert node.reason == reason
    assert node.states == {"IDLE", "DRAIN"}
    assert node.name == "n1"


@given(WORDS)
def test_any_line_gives_a_node_or_a_clear_error(line: str) -> None:
    with contextlib.suppress(SchedulerUnavailableError):
        assert parse_node(line).name
