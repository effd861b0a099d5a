"""No change takes away data, capacity or what else cannot be had back, unless somebody said so."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog.blast import load_effects
from muster.findings import Outcome
from muster.plan.blast import Effect, classify, read_preview
from tests.unit.plan.blasts import (
    FILE_SYSTEM,
    GROUP,
    LINK,
    LUSTRE,
    RESERVATION,
    TODAY,
    URN,
    acknowledge,
    blast_of,
    document,
    preview_of,
    recorded,
    step,
)

BUCKET = "aws:s3/bucket:Bucket"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
INSTANCE = "aws:ec2/instance:Instance"
AUTOSCALING = "aws:autoscaling/group:Group"
NODES = "aws:eks/nodeGroup:NodeGroup"
STATEFUL = [
    LUSTRE,
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem",
    "aws:fsx/ontapVolume:OntapVolume",
    "aws:efs/fileSystem:FileSystem",
    BUCKET,
    BLOCK,
    "aws:ec2/capacityReservation:CapacityReservation",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:eks/cluster:Cluster",
    "aws:ec2/placementGroup:PlacementGroup",
    INSTANCE,
    "aws:rds/instance:Instance",
    "other:thing:Never/heardOf",
]


def effect_of(op: str, kind: str, before: Any = None, after: Any = None) -> Effect:
    return classify(preview_of(step(op, kind, before, after)).steps[0], load_effects())


def test_a_file_system_that_is_replaced_is_blocked_by_urn_with_its_terabytes() -> None:
    blast = recorded("aws_file_system_replaced")
    assert blast.outcome is Outcome.FAIL
    [first, second] = blast.blocked
    assert (first.urn, first.effect) == (FILE_SYSTEM, Effect.LOSES_DATA)
    assert "fs-0123456789abcdef0: 46.9 TiB (48,000 GiB)" in first.lost
    assert first.changed == ("securityGroupIds",)
    assert second.urn == LINK


def test_acknowledged_by_urn_it_passes() -> None:
    blast = recorded("aws_file_system_replaced", acknowledge(FILE_SYSTEM), acknowledge(LINK))
    assert blast.outcome is Outcome.PASS
    assert {change.urn for change in blast.acknowledged} == {FILE_SYSTEM, LINK}
    assert blast.expired == blast.unused == ()


def test_an_acknowledgement_lets_nothing_else_through() -> None:
    blast = recorded("aws_file_system_replaced", acknowledge(FILE_SYSTEM))
    assert blast.outcome is Outcome.FAIL
    assert [change.urn for change in blast.blocked] == [LINK]


def test_it_holds_on_its_last_day_and_fails_on_the_next() -> None:
    last = [acknowledge(urn, TODAY) for urn in (FILE_SYSTEM, LINK)]
    assert recorded("aws_file_system_replaced", *last).outcome is Outcome.PASS
    gone = [acknowledge(urn, date(2026, 11, 20)) for urn in (FILE_SYSTEM, LINK)]
    blast = recorded("aws_file_system_replaced", *gone)
    assert blast.outcome is Outcome.FAIL
    assert blast.expired == tuple(gone)


def test_a_valid_acknowledgement_counts_beside_an_expired_one() -> None:
    old = acknowledge(RESERVATION, date(2026, 1, 1))
    for both in ((old, acknowledge(RESERVATION)), (acknowledge(RESERVATION), old)):
        blast = recorded("aws_reservation_deleted", *both)
        assert blast.outcome is Outcome.PASS
        assert blast.expired == (old,)


def test_an_acknowledgement_of_nothing_in_the_preview_is_reported() -> None:
    stray = acknowledge(f"{URN}{BUCKET}::gone-long-ago")
    blast = recorded("aws_new_launch_template_version", stray)
    assert blast.unused == (stray,)
    assert blast.outcome is Outcome.PASS


def test_a_reservation_that_is_deleted_is_blocked_with_its_instances() -> None:
    blast = recorded("aws_reservation_deleted")
    assert blast.outcome is Outcome.FAIL
    [blocked] = blast.blocked
    assert (blocked.urn, blocked.effect) == (RESERVATION, Effect.LOSES_RESERVATION)
    assert blocked.lost.endswith("cr-0123456789abcdef0: 16 instances of p5.48xlarge")
    effects = {change.urn: change.effect for change in blast.changes}
    assert effects[GROUP] is Effect.DRAIN_FIRST


def test_a_smaller_reservation_loses_the_difference() -> None:
    kind = RESERVATION.split("::")[2]
    before = {"instanceCount": 16, "instanceType": "p5.48xlarge"}
    blast = blast_of(preview_of(step("update", kind, before, {**before, "instanceCount": 12})))
    assert blast.blocked[0].effect is Effect.LOSES_RESERVATION
    assert "4 of 16 instances of p5.48xlarge" in blast.blocked[0].lost


def test_a_new_version_of_a_launch_template_disturbs_nothing_that_runs() -> None:
    blast = recorded("aws_new_launch_template_version")
    assert blast.outcome is Outcome.PASS
    assert [change.effect for change in blast.changes] == [Effect.IN_PLACE]


def test_a_group_that_takes_the_new_version_rolls() -> None:
    effects = {change.urn: change.effect for change in recorded("aws_file_system_replaced").changes}
    assert effects[GROUP] is Effect.ROLLING


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (LUSTRE, {"storageCapacity": 4800}, {"storageCapacity": 9600}, Effect.IN_PLACE),
        (LUSTRE, {"storageCapacity": 9600}, {"storageCapacity": 4800}, Effect.LOSES_DATA),
        (LUSTRE, {"storageCapacity": 9600}, {}, Effect.LOSES_DATA),
        (LUSTRE, {"storageCapacity": 9600}, {"storageCapacity": "04da6b54"}, Effect.LOSES_DATA),
        (LUSTRE, {"fileSystemTypeVersion": "2.9"}, {"fileSystemTypeVersion": "2.15"}, "in place"),
        (LUSTRE, {"fileSystemTypeVersion": "2.15"}, {"fileSystemTypeVersion": "2.9"}, "loses data"),
        (LUSTRE, {"efaEnabled": False}, {"efaEnabled": True}, Effect.LOSES_DATA),
        (LUSTRE, {"newKnob": 1}, {"newKnob": 2}, Effect.UNKNOWN),
        (INSTANCE, {"userData": "a"}, {"userData": "b"}, Effect.DRAIN_FIRST),
        (AUTOSCALING, {"desiredCapacity": 2}, {"desiredCapacity": 3}, Effect.IN_PLACE),
        (AUTOSCALING, {"desiredCapacity": 3}, {"desiredCapacity": 2}, Effect.DRAIN_FIRST),
        ("aws:iam/role:Role", {"name": "a"}, {"name": "b"}, Effect.IN_PLACE),
        ("aws:new/thing:Thing", {"knob": 1}, {"knob": 2}, Effect.UNKNOWN),
        ("aws:new/thing:Thing", {"tags": {"a": "b"}}, {"tags": {}}, Effect.IN_PLACE),
        ("aws:new/thing:Thing", {}, {}, Effect.UNKNOWN),
    ],
)
def test_what_an_update_does_follows_from_what_changes(
    kind: str, before: Any, after: Any, expected: str
) -> None:
    assert effect_of("update", kind, before, after) == expected


def test_a_nested_path_finds_its_own_rule_and_the_bare_name_does_not() -> None:
    shrink = step("update", NODES, {"scalingConfig": {"desiredSize": 4}}, {"scalingConfig": {}})
    assert classify(preview_of(shrink).steps[0], load_effects()) is Effect.UNKNOWN
    shrink["newState"]["inputs"] = {"scalingConfig": {"desiredSize": 2}}
    shrink["detailedDiff"] = {"scalingConfig.desiredSize": {"kind": "update", "inputDiff": True}}
    assert classify(preview_of(shrink).steps[0], load_effects()) is Effect.DRAIN_FIRST


@pytest.mark.parametrize("op", ["delete", "replace"])
def test_a_type_that_nobody_listed_is_destroyed(op: str) -> None:
    assert effect_of(op, "aws:new/thing:Thing") is Effect.DESTROYS


def test_an_update_that_nobody_listed_cannot_be_told_and_blocks_as_unknown() -> None:
    blast = blast_of(preview_of(step("update", "aws:new/thing:Thing", {"a": 1}, {"a": 2})))
    assert blast.outcome is Outcome.UNKNOWN
    assert len(blast.blocked) == 1
    acknowledged = blast_of(
        preview_of(step("update", "aws:new/thing:Thing", {"a": 1}, {"a": 2})),
        acknowledge(blast.blocked[0].urn),
    )
    assert acknowledged.outcome is Outcome.PASS


@pytest.mark.parametrize("kind", [LUSTRE, BUCKET, "aws:ec2/vpc:Vpc", BLOCK])
def test_any_difference_of_a_protected_type_needs_an_acknowledgement(kind: str) -> None:
    changed = step("update", kind, {"tags": {}}, {"tags": {"owner": "me"}})
    blast = blast_of(preview_of(changed))
    assert (blast.outcome, blast.blocked[0].effect) == (Outcome.FAIL, Effect.IN_PLACE)
    assert blast_of(preview_of(changed), acknowledge(changed["urn"])).outcome is Outcome.PASS


def test_a_capacity_block_is_not_bought_unasked_but_a_file_system_is_made() -> None:
    bought = blast_of(preview_of(step("create", BLOCK)))
    assert bought.outcome is Outcome.FAIL
    assert "buys it up front" in bought.blocked[0].lost
    assert blast_of(preview_of(step("create", LUSTRE))).outcome is Outcome.PASS


def test_an_instance_is_replaced_only_with_an_acknowledgement() -> None:
    blast = blast_of(preview_of(step("replace", INSTANCE, {"ami": "a"}, {"ami": "b"})))
    assert (blast.outcome, blast.blocked[0].effect) == (Outcome.FAIL, Effect.DRAIN_FIRST)
    assert "files on its own disks" in blast.blocked[0].lost


def test_a_lab_node_may_be_replaced_and_loses_only_its_own_files() -> None:
    blast = blast_of(preview_of(step("replace", "muster:lab:Node", {"image": "a"}, {"image": "b"})))
    assert blast.outcome is Outcome.PASS
    [change] = blast.changes
    assert change.effect is Effect.DRAIN_FIRST
    assert "the files on the node, nothing else" in change.lost


def test_a_bucket_that_is_deleted_is_named() -> None:
    blast = blast_of(preview_of(step("delete", BUCKET, id="datasets")))
    assert blast.blocked[0].lost.startswith("bucket datasets: all objects in it")


def test_a_retained_bucket_still_needs_an_acknowledgement_and_says_that_it_stays() -> None:
    blast = blast_of(preview_of(step("delete", BUCKET, {"bucket": "b"}, retainOnDelete=True)))
    assert blast.outcome is Outcome.FAIL
    assert "the thing itself stays, outside the stack" in blast.blocked[0].lost


def test_what_the_preview_does_not_state_is_said_to_be_missing() -> None:
    blast = blast_of(preview_of(step("delete", LUSTRE, {"storageCapacity": {"secret": "x"}})))
    assert "its size is not in the preview" in blast.blocked[0].lost


def test_a_component_only_groups_others_and_its_end_is_no_loss() -> None:
    blast = recorded("engine_replacement_steps")
    names = [change.urn.rsplit("::", 1)[-1] for change in blast.changes]
    assert sorted(names) == ["group-child", "replaced", "replaced-delete-first"]


def test_several_steps_of_one_resource_are_one_change() -> None:
    replaced = {c.urn.rsplit("::", 1)[-1]: c for c in recorded("engine_replacement_steps").changes}
    assert replaced["replaced"].ops == ("delete-replaced", "replace", "create-replacement")
    assert replaced["replaced"].changed == ("wanted",)


def test_a_preview_that_stopped_before_its_end_is_unknown() -> None:
    blast = recorded("engine_protected")
    assert blast.outcome is Outcome.UNKNOWN
    assert "protected" in blast.errors[0]


@pytest.mark.parametrize("op", ["same", "read", "refresh", "discard", "import"])
def test_what_changes_nothing_real_is_a_no_op(op: str) -> None:
    assert effect_of(op, LUSTRE) is Effect.NO_OP
    assert blast_of(preview_of(step(op, LUSTRE))).changes == ()


GONE = st.sampled_from(["delete", "replace", "delete-replaced", "create-replacement"])
INPUTS = st.dictionaries(
    st.sampled_from(["storageCapacity", "instanceCount", "tags", "size", "x"]),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
)


@given(GONE, st.sampled_from(STATEFUL), INPUTS, INPUTS, st.booleans())
def test_a_stateful_thing_never_goes_without_an_acknowledgement(
    op: str, kind: str, before: Any, after: Any, retained: bool
) -> None:
    gone = step(op, kind, before, after, retainOnDelete=retained)
    preview = preview_of(step("create", "muster:lab:Node", name="other"), gone)
    urn = gone["urn"]
    stray = acknowledge(f"{urn}-2")
    expired = acknowledge(urn, date(2026, 11, 20))
    blast = blast_of(preview, stray, expired)
    assert blast.outcome is Outcome.FAIL
    assert [change.urn for change in blast.blocked] == [urn]
    assert blast_of(preview, acknowledge(urn)).outcome is Outcome.PASS


def test_the_order_of_the_steps_does_not_matter() -> None:
    printed = document("aws_file_system_replaced")
    turned = {**printed, "steps": printed["steps"][::-1]}
    assert blast_of(read_preview(turned)) == blast_of(read_preview(printed))
