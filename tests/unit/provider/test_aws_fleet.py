"""The fleet on AWS: who gets which name, what a loss does, and what is said when nodes lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from muster.errors import MusterError, UsageError
from muster.fleet import Fleet
from muster.progress import silent
from muster.provider.aws import AwsFleetHandler
from muster.provider.handler import InitFailedError, Properties
from tests.unit.cloud.aws_fleet import (
    KEY,
    REGION,
    ManualClock,
    PartlyRecorded,
    clients,
    gateway,
    inputs,
    make_group,
    make_head,
    members,
    resize,
)


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("MUSTER_LAUNCH_WAIT_S", "10")
    with mock_aws():
        yield make_head()


def handler(
    root: Path, cloud: PartlyRecorded | None = None, clock: ManualClock | None = None
) -> AwsFleetHandler:
    found = cloud or gateway()
    return AwsFleetHandler(root, clock or ManualClock(), lambda _region: found)


def create(root: Path, head: str, **sizes: int) -> Properties:
    return handler(root).create("fleet", inputs(head, **sizes), silent)[1]


def ids(state: Properties) -> dict[str, str]:
    return {name: boot.partition(":")[0] for name, boot in state["boots"].items()}


def end(instance: str) -> None:
    clients().client("autoscaling").terminate_instance_in_auto_scaling_group(
        InstanceId=instance, ShouldDecrementDesiredCapacity=False
    )


def refuse(code: str) -> Any:
    def answer(_parameters: Mapping[str, Any]) -> Any:
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "Any")

    return answer


def test_every_instance_of_a_group_becomes_a_named_node(tmp_path: Path, head: str) -> None:
    make_group(4)
    state = create(tmp_path, head)
    assert list(state["addresses"]) == ["head", "train-1", "train-2", "train-3", "train-4"]
    assert set(ids(state).values()) == {head, *members()}
    assert (state["missing"], state["unplaced"], state["drift"]) == ({}, {}, {})
    ec2 = clients().client("ec2")
    tags = {
        t["Key"]: t["Value"]
        for t in ec2.describe_tags(
            Filters=[{"Name": "resource-id", "Values": [ids(state)["train-2"]]}]
        )["Tags"]
    }
    assert (tags["muster:node"], tags["Name"]) == ("train-2", "demo-train-2")


def test_the_fleet_says_how_to_reach_and_know_each_node(tmp_path: Path, head: str) -> None:
    make_group(4)
    state = create(tmp_path, head)
    fleet = Fleet.model_validate(state["fleet"])
    node = fleet.node("train-1")
    assert node.serial == node.host == ids(state)["train-1"]
    assert (fleet.ssh.via, fleet.ssh.known_by, fleet.ssh.region) == (
        "sessionManager",
        "serial",
        REGION,
    )
    known = Path(fleet.ssh.known_hosts_file).read_text(encoding="utf-8").splitlines()
    assert f"{node.serial} {KEY}" in known
    assert len(known) == 5
    assert fleet.shared_directory == "/fsx"


def test_nodes_have_their_leaf_and_the_switches_above(tmp_path: Path, head: str) -> None:
    make_group(4)
    fleet = Fleet.model_validate(create(tmp_path, head)["fleet"])
    assert sorted(len(names) for names in fleet.leaves().values()) == [2, 2]
    assert {len(node.switches) for node in fleet.nodes} == {2}
    assert {rail.address for node in fleet.nodes for rail in node.rails} == {""}


def test_a_second_create_adopts_what_the_first_named(tmp_path: Path, head: str) -> None:
    make_group(4)
    assert ids(create(tmp_path, head)) == ids(create(tmp_path, head))


def test_an_unchanged_cloud_shows_no_drift(tmp_path: Path, head: str) -> None:
    make_group(4)
    state = create(tmp_path, head)
    found = handler(tmp_path).read("demo", state)
    assert found == state
    assert not handler(tmp_path).diff(found, inputs(head)).keys


def test_a_lost_instance_is_seen_and_its_successor_takes_the_name(
    tmp_path: Path, head: str
) -> None:
    make_group(4)
    state = create(tmp_path, head)
    lost = ids(state)["train-2"]
    end(lost)
    fleet = handler(tmp_path)
    seen = fleet.read("demo", state)
    assert seen["drift"] == {"train-2": f"its instance {lost} is gone"}
    assert fleet.diff(seen, inputs(head)).keys == ("drift",)
    after = fleet.update("demo", seen, inputs(head), silent)
    assert after["drift"] == {}
    changed = {name for name in ids(state) if ids(state)[name] != ids(after)[name]}
    assert changed == {"train-2"}


def test_keys_of_known_instances_are_not_asked_again(tmp_path: Path, head: str) -> None:
    make_group(4)
    state = create(tmp_path, head)
    cloud = gateway()
    handler(tmp_path, cloud).update("demo", state, inputs(head), silent)
    assert cloud.count("get_console_output") == 0


def test_a_missing_spare_is_named_with_the_groups_reason_and_the_fleet_goes_on(
    tmp_path: Path, head: str
) -> None:
    make_group(3)
    failed = {
        "ActivityId": "1",
        "AutoScalingGroupName": "train-group",
        "StatusCode": "Failed",
        "StatusMessage": "InsufficientInstanceCapacity - no p5.48xlarge in us-east-2a.",
        "Cause": "launch",
        "StartTime": datetime(2026, 11, 21, 9, tzinfo=UTC),
    }
    cloud = gateway(describe_scaling_activities=lambda _: {"Activities": [failed]})
    state = handler(tmp_path, cloud).create("fleet", inputs(head), silent)[1]
    why = "2026-11-21T09:00:00Z InsufficientInstanceCapacity - no p5.48xlarge in us-east-2a."
    assert state["missing"] == {"train-4": why}


def test_fewer_nodes_than_wanted_are_an_error_that_keeps_the_rest(
    tmp_path: Path, head: str
) -> None:
    make_group(2)
    with pytest.raises(InitFailedError, match=r"pool train: 2 of 3 nodes .*started no instance"):
        create(tmp_path, head)
    with pytest.raises(InitFailedError) as caught:
        create(tmp_path, head)
    assert list(caught.value.outputs["addresses"]) == ["head", "train-1", "train-2"]
    resize(4)
    state = handler(tmp_path).update("demo", caught.value.outputs, inputs(head), silent)
    assert state["missing"] == {}


def test_the_wait_for_instances_is_bounded_and_can_be_set(
    tmp_path: Path, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_group(2)
    monkeypatch.setenv("MUSTER_LAUNCH_WAIT_S", "20")
    clock, lines = ManualClock(), list[str]()
    with pytest.raises(InitFailedError):
        handler(tmp_path, clock=clock).create("fleet", inputs(head), lines.append)
    assert clock.seconds == 20
    assert "instances: train 2 of 4" in lines
    monkeypatch.setenv("MUSTER_LAUNCH_WAIT_S", "soon")
    with pytest.raises(UsageError, match="MUSTER_LAUNCH_WAIT_S is 'soon'"):
        create(tmp_path, head)


def test_instances_that_come_late_are_waited_for(tmp_path: Path, head: str) -> None:
    make_group(2)
    clock = ManualClock(lambda: resize(4))
    state = handler(tmp_path, clock=clock).create("fleet", inputs(head), silent)[1]
    assert state["missing"] == {}
    assert clock.seconds == 5


def test_a_node_without_a_host_key_is_missing_and_never_trusted(tmp_path: Path, head: str) -> None:
    make_group(4)
    cloud = gateway(get_console_output=lambda _: {"Output": "no keys here"})
    with pytest.raises(InitFailedError, match="head: host key unknown") as caught:
        handler(tmp_path, cloud).create("fleet", inputs(head), silent)
    state = caught.value.outputs
    assert state["fleet"] == {}
    assert set(state["missing"]) == {"head", "train-1", "train-2", "train-3", "train-4"}
    assert handler(tmp_path).read("demo", state)["drift"].keys() == state["missing"].keys()


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "UnauthorizedOperation"])
def test_a_topology_that_is_refused_leaves_nodes_unplaced_and_goes_on(
    tmp_path: Path, head: str, code: str
) -> None:
    make_group(4)
    cloud = gateway(describe_instance_topology=refuse(code))
    state = handler(tmp_path, cloud).create("fleet", inputs(head), silent)[1]
    assert set(state["unplaced"]) == {"train-1", "train-2", "train-3", "train-4"}
    assert all("ec2:DescribeInstanceTopology" in why for why in state["unplaced"].values())


def test_a_place_once_known_outlives_a_topology_that_falls_silent(
    tmp_path: Path, head: str
) -> None:
    make_group(4)
    state = create(tmp_path, head)
    cloud = gateway(describe_instance_topology=refuse("RequestLimitExceeded"))
    after = handler(tmp_path, cloud).update("demo", state, inputs(head), silent)
    assert after["fleet"] == state["fleet"]
    assert after["unplaced"] == {}


def test_a_topology_that_answers_late_is_waited_for_only_so_long(tmp_path: Path, head: str) -> None:
    make_group(4)
    clock = ManualClock()
    cloud = gateway(describe_instance_topology=lambda _: {"Instances": []})
    state = handler(tmp_path, cloud, clock).create("fleet", inputs(head), silent)[1]
    assert clock.seconds == 60
    assert state["unplaced"]["train-1"] == "the cloud has not said yet where it sits"


def test_one_instance_that_the_topology_does_not_know_hides_no_other(
    tmp_path: Path, head: str
) -> None:
    make_group(4)
    stale = members()[1]

    def answer(parameters: Mapping[str, Any]) -> Any:
        if stale in parameters["InstanceIds"]:
            refuse("InvalidInstanceID.NotFound")(parameters)
        rows = [{"InstanceId": i, "NetworkNodes": ["a", "b"]} for i in parameters["InstanceIds"]]
        return {"Instances": rows}

    cloud = gateway(describe_instance_topology=answer)
    state = handler(tmp_path, cloud).create("fleet", inputs(head), silent)[1]
    assert [ids(state)[name] for name in state["unplaced"]] == [stale]


def test_a_smaller_pool_ends_its_highest_ordinals(tmp_path: Path, head: str) -> None:
    make_group(4)
    state = create(tmp_path, head)
    # As with protection from scale-in: the group wants fewer, but ends none by itself.
    groups = clients().client("autoscaling").describe_auto_scaling_groups()
    fewer = groups["AutoScalingGroups"]
    fewer[0]["DesiredCapacity"] = 2
    cloud = gateway(describe_auto_scaling_groups=lambda _: {"AutoScalingGroups": fewer})
    after = handler(tmp_path, cloud).update("demo", state, inputs(head, size=2, count=2), silent)
    assert list(after["addresses"]) == ["head", "train-1", "train-2"]
    ended = [p["InstanceId"] for o, p in cloud.asked if o.startswith("terminate_instance_in")]
    assert ended == [ids(state)["train-4"], ids(state)["train-3"]]


def test_instances_that_a_person_added_to_the_group_are_left_alone(
    tmp_path: Path, head: str
) -> None:
    make_group(4)
    cloud = gateway()
    state = handler(tmp_path, cloud).create("fleet", inputs(head, size=3), silent)[1]
    assert len(state["leftovers"]) == 1
    assert cloud.count("terminate_instance_in_auto_scaling_group") == 0


def test_a_group_that_is_gone_is_named(tmp_path: Path, head: str) -> None:
    with pytest.raises(InitFailedError, match="there is no Auto Scaling group train-group"):
        create(tmp_path, head)


def test_a_cloud_that_refuses_is_an_error_with_what_to_do(tmp_path: Path, head: str) -> None:
    cloud = gateway(describe_instances=refuse("UnauthorizedOperation"))
    with pytest.raises(MusterError, match=r"ec2:DescribeInstances is denied\. Allow"):
        handler(tmp_path, cloud).create("fleet", inputs(head), silent)


def test_a_fleet_without_a_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a fleet needs a head"):
        handler(tmp_path).create("fleet", {**inputs("i-1"), "head": None}, silent)
