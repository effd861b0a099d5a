"""Every modelled type through its life: made, found unchanged, changed behind our back, ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from papercloud.provider.account import Account
from papercloud.provider.kinds import KINDS
from papercloud.provider.lifecycle import STAMP
from papercloud.provider.tokens import RESOURCES
from tests.cloud.provider import paper_world as pw
from tests.cloud.provider.paper_world import PaperWorld


@pytest.fixture(scope="module")
def world(account: Account) -> PaperWorld:
    return PaperWorld(account)


def test_every_type_of_the_schema_is_modelled_and_has_an_example() -> None:
    assert set(KINDS) == set(RESOURCES) == set(pw.EXAMPLES)


@pytest.mark.parametrize("token", pw.EXAMPLES)
def test_what_was_just_made_reads_back_unchanged(world: PaperWorld, token: str) -> None:
    made = world[token]
    assert made.drift().paths == {}
    assert made.change({}).paths == {}
    assert made.state[STAMP] == "simulated"
    if "tagsAll" in made.state and "tags" in made.inputs:
        assert made["tagsAll"] == {"cost": "train", **made.inputs["tags"]}


class Mutation(NamedTuple):
    """What somebody does behind our back, and the input that shows it."""

    token: str
    service: str
    operation: str
    request_of: Callable[[str], dict[str, Any]]
    path: str


_MUTATIONS = [
    Mutation(
        pw.VPC,
        "ec2",
        "ModifyVpcAttribute",
        lambda vpc: {"VpcId": vpc, "EnableDnsHostnames": {"Value": False}},
        "enableDnsHostnames",
    ),
    Mutation(
        pw.SUBNET,
        "ec2",
        "ModifySubnetAttribute",
        lambda subnet: {"SubnetId": subnet, "MapPublicIpOnLaunch": {"Value": True}},
        "mapPublicIpOnLaunch",
    ),
    Mutation(
        pw.SUBNET,
        "ec2",
        "CreateTags",
        lambda subnet: {"Resources": [subnet], "Tags": [{"Key": "owner", "Value": "you"}]},
        "tags.owner",
    ),
    Mutation(
        pw.GROUP,
        "autoscaling",
        "SetDesiredCapacity",
        lambda name: {"AutoScalingGroupName": name, "DesiredCapacity": 1},
        "desiredCapacity",
    ),
    Mutation(
        pw.GROUP,
        "autoscaling",
        "ResumeProcesses",
        lambda name: {"AutoScalingGroupName": name, "ScalingProcesses": ["AZRebalance"]},
        "suspendedProcesses[0]",
    ),
    Mutation(
        pw.LUSTRE,
        "fsx",
        "UpdateFileSystem",
        lambda name: {
            "FileSystemId": name,
            "LustreConfiguration": {"DataCompressionType": "NONE"},
        },
        "dataCompressionType",
    ),
    Mutation(
        pw.ROLE,
        "iam",
        "UpdateRole",
        lambda name: {"RoleName": name, "Description": "other"},
        "description",
    ),
    Mutation(
        pw.RESERVATION,
        "ec2",
        "ModifyCapacityReservation",
        lambda name: {"CapacityReservationId": name, "InstanceCount": 1},
        "instanceCount",
    ),
    Mutation(
        pw.PARAMETER,
        "ssm",
        "PutParameter",
        lambda name: {"Name": name, "Value": "b", "Overwrite": True},
        "value",
    ),
]


@pytest.mark.parametrize(
    "mutation", _MUTATIONS, ids=[f"{m.token.rsplit(':', 1)[1]}-{m.path}" for m in _MUTATIONS]
)
def test_a_change_behind_our_back_is_seen_and_the_next_update_mends_it(
    world: PaperWorld, mutation: Mutation
) -> None:
    made = world[mutation.token]
    world.account.call(mutation.service, mutation.operation, **mutation.request_of(made.id))
    drift = made.drift()
    assert mutation.path in drift.paths
    assert drift.replaces == ()
    made.update({})
    assert made.drift().paths == {}


def test_a_new_input_is_written_in_place_where_an_operation_takes_it(world: PaperWorld) -> None:
    group = world[pw.GROUP]
    assert group.change({"maxSize": 3}).replaces == ()
    group.update({"maxSize": 3, "desiredCapacity": 1})
    assert (group["maxSize"], group["desiredCapacity"]) == (3, 1)
    assert group.drift().paths == {}


def test_a_launch_template_changes_by_a_new_version(world: PaperWorld) -> None:
    template = world[pw.TEMPLATE]
    before = template["latestVersion"]
    template.update({"instanceType": "p5en.48xlarge"})
    assert template["latestVersion"] == template["defaultVersion"] == before + 1
    assert template.drift().paths == {}


def test_tags_are_exchanged_and_not_added_up(world: PaperWorld) -> None:
    for token in (pw.VPC, pw.ROLE, pw.BUCKET, pw.LUSTRE, pw.EFS, pw.PARAMETER, pw.CLUSTER):
        made = world[token]
        made.update({"tags": {"team": "b"}})
        state, _inputs = made.refreshed()
        assert state["tagsAll"] == {"cost": "train", "team": "b"}, token
        assert state["tags"] == {"team": "b"}, token


def test_everything_can_be_deleted_in_the_reverse_order(account: Account, cloud: Any) -> None:
    cloud.reset()
    world = PaperWorld(account)
    for token in pw.EXAMPLES:
        world[token]
    suspended = f"{pw.VERSIONING} it"  # versioning is never gone, only suspended
    for name, made in reversed(list(world.made.items())):
        made.delete()
        assert name == suspended or made.is_gone(), name
