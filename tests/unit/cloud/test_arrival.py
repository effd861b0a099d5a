"""What a refresh says of a fleet: gone, started again, or there at last."""

from __future__ import annotations

from typing import Any

from muster.cloud.arrival import drift
from muster.cloud.instances import Group, Look
from muster.plan.aws.fleet import FleetWish, Instance
from tests.unit.cloud.aws_fleet import inputs

WISH = FleetWish.model_validate(inputs("i-head", size=2, count=1))
BOOTS = {"head": "i-head:t0", "train-1": "i-1:t1", "train-2": "i-2:t2"}


def instance(name: str, launched: str, **changes: Any) -> Instance:
    return Instance(
        **{"id": name, "state": "running", "launched": launched, "address": ""} | changes
    )


def seen(*members: Instance, head: Instance | None) -> Look:
    group = Group(name="train-group", desired=2, ids=tuple(member.id for member in members))
    return Look(groups={"train": group}, members={"train": members}, head=head)


HEAD = instance("i-head", "t0")
ONE, TWO = instance("i-1", "t1"), instance("i-2", "t2")


def test_the_same_instances_are_no_drift() -> None:
    assert drift(WISH, seen(ONE, TWO, head=HEAD), BOOTS) == {}


def test_a_restart_is_drift_as_the_node_has_to_be_converged_again() -> None:
    again = instance("i-2", "t9")
    found = drift(WISH, seen(ONE, again, head=HEAD), BOOTS)
    assert found == {"train-2": "its instance i-2 was started again"}


def test_every_node_that_is_gone_is_named_the_head_among_them() -> None:
    assert set(drift(WISH, seen(ONE, head=None), BOOTS)) == {"head", "train-2"}


def test_a_node_that_was_missing_is_drift_once_an_instance_runs_for_it() -> None:
    without = {name: boot for name, boot in BOOTS.items() if name != "train-2"}
    assert drift(WISH, seen(ONE, head=HEAD), without) == {}
    starting = instance("i-2", "t2", state="pending")
    assert drift(WISH, seen(ONE, starting, head=HEAD), without) == {}
    assert drift(WISH, seen(ONE, TWO, head=HEAD), without) == {
        "train-2": "instance i-2 is there for it"
    }


def test_an_instance_beyond_the_pools_size_is_no_drift() -> None:
    extra = instance("i-3", "t3")
    assert drift(WISH, seen(ONE, TWO, extra, head=HEAD), BOOTS) == {}
