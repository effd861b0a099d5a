"""Auto Scaling groups take what they get, replace what is lost, and obey their schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from papercloud.cloud.scenario import Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, code_of, subnet

IMAGE = "ami-0123456789abcdef0"
GROUP = {"AutoScalingGroupName": "train"}


def make(cloud: PaperCloud, size: int, **more: Any) -> None:
    ec2 = client(cloud, "ec2")
    template = ec2.create_launch_template(
        LaunchTemplateName="lt",
        LaunchTemplateData={"ImageId": IMAGE, "InstanceType": "p5.48xlarge"},
    )["LaunchTemplate"]["LaunchTemplateId"]
    asked = {
        "LaunchTemplate": {"LaunchTemplateId": template, "Version": "1"},
        "MinSize": 0,
        "MaxSize": size,
        "DesiredCapacity": size,
        "VPCZoneIdentifier": subnet(cloud),
        "NewInstancesProtectedFromScaleIn": True,
        "Tags": [{"Key": "muster:pool", "Value": "train", "PropagateAtLaunch": True}],
    }
    client(cloud, "autoscaling").create_auto_scaling_group(**GROUP, **asked, **more)


def group(cloud: PaperCloud) -> dict[str, Any]:
    found = client(cloud, "autoscaling").describe_auto_scaling_groups()
    return dict(found["AutoScalingGroups"][0])


def members(cloud: PaperCloud) -> list[str]:
    return [row["InstanceId"] for row in group(cloud)["Instances"]]


def failures(cloud: PaperCloud) -> list[str]:
    found = client(cloud, "autoscaling").describe_scaling_activities(**GROUP)["Activities"]
    return [row["StatusMessage"] for row in found if row["StatusCode"] == "Failed"]


def test_members_run_with_the_groups_tags_and_are_protected() -> None:
    with PaperCloud() as cloud:
        make(cloud, 2)
        found = client(cloud, "ec2").describe_instances(
            Filters=[{"Name": "tag:muster:pool", "Values": ["train"]}]
        )
        rows = group(cloud)["Instances"]
    instances = [one for row in found["Reservations"] for one in row["Instances"]]
    assert sorted(one["InstanceId"] for one in instances) == sorted(r["InstanceId"] for r in rows)
    assert {(r["LifecycleState"], r["ProtectedFromScaleIn"]) for r in rows} == {("InService", True)}


def test_a_group_takes_what_there_is_and_gets_the_rest_when_there_is_room() -> None:
    with PaperCloud(Scenario(capacity={"p5.48xlarge/*": 1})) as cloud:
        make(cloud, 3)
        assert len(members(cloud)) == 1
        assert "sufficient p5.48xlarge capacity" in failures(cloud)[0]
        for _ in range(3):
            members(cloud)
        assert len(failures(cloud)) == 1
        cloud.set(Scenario())
        assert len(members(cloud)) == 3


def test_a_lost_instance_is_replaced_under_another_id() -> None:
    with PaperCloud() as cloud:
        make(cloud, 2)
        before = members(cloud)
        client(cloud, "ec2").terminate_instances(InstanceIds=before[:1])
        after = members(cloud)
    assert len(after) == 2
    assert set(before) & set(after) == {before[1]}


def test_a_lost_instance_stays_lost_while_replacing_is_suspended() -> None:
    with PaperCloud() as cloud:
        make(cloud, 2)
        client(cloud, "autoscaling").suspend_processes(**GROUP, ScalingProcesses=["Launch"])
        client(cloud, "ec2").terminate_instances(InstanceIds=members(cloud)[:1])
        assert len(members(cloud)) == 1


def test_protected_instances_outlive_a_smaller_size_and_ending_one_by_name_shrinks_it() -> None:
    with PaperCloud() as cloud:
        make(cloud, 2)
        scaling = client(cloud, "autoscaling")
        scaling.update_auto_scaling_group(**GROUP, MaxSize=2, DesiredCapacity=1)
        first, second = members(cloud)
        scaling.update_auto_scaling_group(**GROUP, DesiredCapacity=2)
        scaling.terminate_instance_in_auto_scaling_group(
            InstanceId=second, ShouldDecrementDesiredCapacity=True
        )
        assert members(cloud) == [first]
        assert group(cloud)["DesiredCapacity"] == 1


def test_a_scheduled_action_empties_the_group_at_its_time() -> None:
    clock = MovedClock()
    with PaperCloud(clock=clock) as cloud:
        make(cloud, 2)
        scaling = client(cloud, "autoscaling")
        scaling.set_instance_protection(
            **GROUP, InstanceIds=members(cloud), ProtectedFromScaleIn=False
        )
        scaling.put_scheduled_update_group_action(
            **GROUP,
            ScheduledActionName="drain",
            StartTime=clock.now() + timedelta(hours=1),
            MinSize=0,
            MaxSize=0,
            DesiredCapacity=0,
        )
        clock.sleep(3590)
        assert len(members(cloud)) == 2
        assert len(scaling.describe_scheduled_actions()["ScheduledUpdateGroupActions"]) == 1
        clock.sleep(20)
        assert members(cloud) == []
        assert not scaling.describe_scheduled_actions()["ScheduledUpdateGroupActions"]


def test_a_group_with_instances_is_deleted_only_by_force() -> None:
    with PaperCloud() as cloud:
        make(cloud, 1)
        scaling, left = client(cloud, "autoscaling"), members(cloud)
        with pytest.raises(ClientError) as failed:
            scaling.delete_auto_scaling_group(**GROUP)
        assert code_of(failed.value) == "ResourceInUse"
        scaling.delete_auto_scaling_group(**GROUP, ForceDelete=True)
        found = client(cloud, "ec2").describe_instances(InstanceIds=left)["Reservations"]
        assert found[0]["Instances"][0]["State"]["Name"] == "terminated"


def test_a_desired_size_above_the_most_is_refused_and_changes_nothing() -> None:
    with PaperCloud() as cloud:
        make(cloud, 1)
        with pytest.raises(ClientError) as failed:
            client(cloud, "autoscaling").set_desired_capacity(**GROUP, DesiredCapacity=5)
        assert code_of(failed.value) == "ValidationError"
        assert group(cloud)["DesiredCapacity"] == 1


def test_what_is_not_modelled_is_an_error_and_never_a_success() -> None:
    with PaperCloud() as cloud:
        make(cloud, 1)
        with pytest.raises(Exception, match="not modelled"):
            client(cloud, "autoscaling").start_instance_refresh(**GROUP)
        with pytest.raises(ClientError, match="not modelled"):
            client(cloud, "autoscaling").create_auto_scaling_group(
                AutoScalingGroupName="mixed",
                MinSize=0,
                MaxSize=0,
                MixedInstancesPolicy={}
                | {"LaunchTemplate": {"LaunchTemplateSpecification": {"LaunchTemplateId": "lt-0"}}},
            )
