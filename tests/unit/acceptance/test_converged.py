"""A node on which a playbook failed is not accepted, and neither is one that nobody converged."""

from __future__ import annotations

from pathlib import Path

from muster.acceptance.checks.converged import judge
from muster.converge.record import outcomes, read_outcomes, write_outcomes
from muster.converge.result import TaskFailure
from muster.findings import Outcome
from tests.unit.acceptance.cluster import fleet_of

FLEET = fleet_of(3)


def failure(host: str) -> TaskFailure:
    return TaskFailure(host=host, task="slurmd : Run slurmd", message="no such unit")


def test_a_node_without_a_failed_task_passes() -> None:
    assert judge("").outcome is Outcome.PASS


def test_a_failed_task_fails_the_node_and_is_named() -> None:
    found = judge("slurmd : Run slurmd: no such unit")
    assert (found.outcome, found.component) == (Outcome.FAIL, "node")
    assert "Run slurmd" in found.summary


def test_a_node_of_which_nobody_knows_is_unknown() -> None:
    assert judge(None).outcome is Outcome.UNKNOWN


def test_a_nodes_own_failure_is_its_alone() -> None:
    found = outcomes(FLEET, (failure("gpu-2"),))
    assert found["gpu-1"] == ""
    assert "no such unit" in found["gpu-2"]


def test_a_failure_of_the_head_leaves_no_node_converged() -> None:
    found = outcomes(FLEET, (failure("head"),))
    assert all("head" in why for why in found.values())


def test_outcomes_are_read_back_for_the_same_hardware_only(tmp_path: Path) -> None:
    write_outcomes(tmp_path, FLEET, outcomes(FLEET, ()))
    replaced = FLEET.nodes[0].model_copy(update={"serial": "new"})
    fleet = FLEET.model_copy(update={"nodes": (replaced, *FLEET.nodes[1:])})
    assert read_outcomes(tmp_path, fleet) == {"gpu-2": "", "gpu-3": ""}


def test_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    assert read_outcomes(tmp_path, FLEET) == {}
