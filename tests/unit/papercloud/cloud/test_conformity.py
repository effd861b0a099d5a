"""Every answer of our own has only keys and values that botocore's model of AWS knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.model import Shape
from moto.core.utils import get_service_model

import papercloud.cloud
from papercloud.cloud import calls, codes, gaps
from papercloud.cloud.scenario import BlockOffering, Reservation, Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, subnet

IMAGE = "ami-0123456789abcdef0"
OUR_OWN = {"paper.8gpu"}
"""Values that AWS does not have: the type that is backed by nodes of the lab."""
HERE = Path(papercloud.cloud.__file__).parent


def misfits(shape: Shape, value: Any, where: str) -> Iterator[str]:
    """Find what the model does not know: the client would drop it without a word."""
    if value is None:
        return  # left out on the wire
    if shape.type_name == "structure" and isinstance(value, Mapping):
        for key, inner in value.items():
            if key in shape.members:
                yield from misfits(shape.members[key], inner, f"{where}.{key}")
            else:
                yield f"{where}.{key}: not in the model"
    elif shape.type_name == "list":
        for inner in value if isinstance(value, list | tuple) else ():
            yield from misfits(shape.member, inner, f"{where}[]")
    elif not fits(shape, value):
        yield f"{where}: {value!r} is no {shape.type_name}"
    elif getattr(shape, "enum", None) and value not in {*shape.enum, *OUR_OWN}:
        yield f"{where}: {value!r} is none of {shape.enum}"


def fits(shape: Shape, value: Any) -> bool:
    kinds: dict[str, Any] = {
        "string": str, "boolean": bool, "integer": int, "long": int,
        "timestamp": (datetime, int, float),
        "double": (int, float), "float": (int, float), "map": Mapping, "blob": (str, bytes),
    }  # fmt: skip
    return shape.type_name not in kinds or isinstance(value, kinds[shape.type_name])


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], list[Any]]:
    """Collect what the handlers return, before it is put on the wire."""
    seen: dict[tuple[str, str], list[Any]] = {}
    answer = calls.answer

    def watched(call: calls.Call) -> Mapping[str, Any] | None:
        result = answer(call)
        if result is not None:
            seen.setdefault((call.service, call.action), []).append(result)
        return result

    monkeypatch.setattr("papercloud.cloud.front.answer", watched)
    return seen


def test_a_key_or_word_that_aws_does_not_know_is_found() -> None:
    shape = get_service_model("ec2").operation_model("DescribePlacementGroups").output_shape
    wrong = {"PlacementGroups": [{"GroupNam": "x", "State": "broken", "PartitionCount": "2"}]}
    assert len(list(misfits(shape, wrong, "answer"))) == 3


def test_every_answer_fits_the_model(answers: dict[tuple[str, str], list[Any]]) -> None:
    block = Reservation(
        id="cr-0b", type="p5.48xlarge", count=1, zone="us-east-2a", block=True, ends_in_s=9e6
    )
    offering = BlockOffering(
        id="cbo-1", type="p5.48xlarge", count=1, hours=24, zone="us-east-2a", upfront_usd=1
    )
    scenario = Scenario(reservations=(block,), block_offerings=(offering,), parameters={"/p": "v"})
    with PaperCloud(scenario, clock=MovedClock()) as cloud:
        for tour in (tour_ec2, tour_autoscaling, tour_storage, tour_others):
            tour(cloud)
    untouched = set(calls.handled()) - set(answers) - PASSED_ON
    assert not untouched, f"the tour calls no {sorted(untouched)}"
    found = [
        misfit
        for (service, action), results in answers.items()
        for result in results
        for misfit in misfits(shape_of(service, action), result, f"{service}:{action}")
    ]
    assert found == []


PASSED_ON = {
    ("ec2", "DescribeInstanceTypes"), ("iam", "AttachRolePolicy"), ("iam", "GetPolicy"),
    ("iam", "GetPolicyVersion"), ("iam", "ListPolicyVersions"), ("eks", "CreateCluster"),
    ("eks", "CreateNodegroup"),
}  # fmt: skip
"""Handlers that prepare something and let moto answer."""


def shape_of(service: str, action: str) -> Shape:
    shape = get_service_model(service).operation_model(action).output_shape
    return shape or get_service_model("ec2").operation_model("CreateTags").input_shape


def tour_ec2(cloud: PaperCloud) -> None:
    ec2, where = client(cloud, "ec2"), subnet(cloud)
    group = ec2.create_placement_group(GroupName="g", Strategy="partition")["PlacementGroup"]
    ec2.create_tags(Resources=[group["GroupId"]], Tags=[{"Key": "a", "Value": "b"}])
    ec2.describe_placement_groups()
    ec2.delete_tags(Resources=[group["GroupId"]], Tags=[{"Key": "a"}])
    ec2.delete_placement_group(GroupName="g")
    reserved = ec2.create_capacity_reservation(
        InstanceType="p5.48xlarge",
        InstancePlatform="Linux/UNIX",
        AvailabilityZone="us-east-2a",
        InstanceCount=1,
    )["CapacityReservation"]["CapacityReservationId"]
    ec2.modify_capacity_reservation(CapacityReservationId=reserved, InstanceCount=2)
    ec2.purchase_capacity_block(
        CapacityBlockOfferingId=ec2.describe_capacity_block_offerings(CapacityDurationHours=24)[
            "CapacityBlockOfferings"
        ][0]["CapacityBlockOfferingId"],
        InstancePlatform="Linux/UNIX",
    )
    made = ec2.run_instances(
        ImageId=IMAGE, InstanceType="p5.48xlarge", SubnetId=where, MinCount=1, MaxCount=1
    )["Instances"][0]["InstanceId"]
    for describe in (
        "describe_tags",
        "describe_capacity_blocks", "describe_capacity_block_status", "describe_images",
        "describe_capacity_reservations", "describe_instance_topology",
        "describe_instance_type_offerings", "describe_spot_price_history",
    ):  # fmt: skip
        getattr(ec2, describe)()
    ec2.get_console_output(InstanceId=made)
    ec2.terminate_instances(InstanceIds=[made])
    ec2.cancel_capacity_reservation(CapacityReservationId=reserved)


def tour_autoscaling(cloud: PaperCloud) -> None:
    ec2, scaling, group = (
        client(cloud, "ec2"),
        client(cloud, "autoscaling"),
        {"AutoScalingGroupName": "g"},
    )
    data = {"ImageId": IMAGE, "InstanceType": "p5.48xlarge"}
    ec2.create_launch_template(LaunchTemplateName="template", LaunchTemplateData=data)
    tag = {"ResourceId": "g", "ResourceType": "auto-scaling-group", "Key": "a", "Value": "b"}
    scaling.create_auto_scaling_group(
        **group,
        MinSize=0,
        MaxSize=3,
        DesiredCapacity=3,
        VPCZoneIdentifier=subnet(cloud),
        LaunchTemplate={"LaunchTemplateName": "template"},
    )
    scaling.create_or_update_tags(Tags=[{**tag, "PropagateAtLaunch": True}])
    scaling.suspend_processes(**group, ScalingProcesses=["AZRebalance"])
    rows = scaling.describe_auto_scaling_instances()["AutoScalingInstances"]
    first, second, third = (row["InstanceId"] for row in rows)
    scaling.set_instance_protection(**group, InstanceIds=[first], ProtectedFromScaleIn=True)
    scaling.set_instance_health(InstanceId=first, HealthStatus="Healthy")
    scaling.terminate_instance_in_auto_scaling_group(
        InstanceId=second, ShouldDecrementDesiredCapacity=True
    )
    scaling.detach_instances(**group, InstanceIds=[third], ShouldDecrementDesiredCapacity=True)
    scaling.put_scheduled_update_group_action(
        **group, ScheduledActionName="s", StartTime=datetime.fromisoformat("2027-01-01T00:00:00Z")
    )
    for describe in (
        "describe_auto_scaling_groups", "describe_scheduled_actions", "describe_tags",
        "describe_scaling_activities",
    ):  # fmt: skip
        getattr(scaling, describe)()
    scaling.delete_scheduled_action(**group, ScheduledActionName="s")
    scaling.delete_tags(Tags=[tag])
    scaling.resume_processes(**group)
    scaling.update_auto_scaling_group(**group, MaxSize=2)
    scaling.set_desired_capacity(**group, DesiredCapacity=1)
    scaling.delete_auto_scaling_group(**group, ForceDelete=True)


def tour_storage(cloud: PaperCloud) -> None:
    fsx, where = client(cloud, "fsx"), [subnet(cloud)]
    lustre = fsx.create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=where,
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125},
        Tags=[{"Key": "a", "Value": "b"}],
    )["FileSystem"]
    fsx.create_file_system(
        FileSystemType="OPENZFS",
        StorageCapacity=64,
        SubnetIds=where,
        OpenZFSConfiguration={"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64},
    )
    one, arn = {"FileSystemId": lustre["FileSystemId"]}, {"ResourceARN": lustre["ResourceARN"]}
    made = fsx.create_data_repository_association(
        **one, FileSystemPath="/d", DataRepositoryPath="s3://b", ImportedFileChunkSize=1024
    )["Association"]["AssociationId"]
    fsx.update_data_repository_association(AssociationId=made, ImportedFileChunkSize=2048)
    fsx.tag_resource(**arn, Tags=[{"Key": "c", "Value": "d"}])
    fsx.untag_resource(**arn, TagKeys=["c"])
    fsx.list_tags_for_resource(**arn)
    fsx.update_file_system(**one, StorageCapacity=2400)
    efs = client(cloud, "efs")
    other = efs.create_file_system(CreationToken="t")["FileSystemId"]
    efs.update_file_system(FileSystemId=other, ThroughputMode="elastic")
    fsx.describe_file_systems()
    fsx.describe_volumes()
    fsx.describe_data_repository_associations()
    fsx.delete_data_repository_association(AssociationId=made)
    fsx.delete_file_system(**one)


def tour_others(cloud: PaperCloud) -> None:
    quotas, groups, eks = (client(cloud, n) for n in ("service-quotas", "resource-groups", "eks"))
    quotas.get_service_quota(ServiceCode="vpc", QuotaCode="L-DF5E4CA3")
    quotas.list_service_quotas(ServiceCode="ec2")
    client(cloud, "pricing").get_products(ServiceCode="AmazonEC2", MaxResults=5)
    client(cloud, "ssm").get_parameter(Name="/p")
    client(cloud, "ssm").describe_instance_information()
    me = "arn:aws:iam::123456789012:user/me"
    client(cloud, "iam").simulate_principal_policy(
        PolicySourceArn=me, ActionNames=["ec2:RunInstances"]
    )
    groups.create_group(Name="g", Configuration=[{"Type": "AWS::EC2::CapacityReservationPool"}])
    arn = "arn:aws:ec2:us-east-2:123456789012:capacity-reservation/cr-0b"
    groups.group_resources(Group="g", ResourceArns=[arn])
    groups.list_group_resources(Group="g")
    groups.ungroup_resources(Group="g", ResourceArns=[arn])
    role = "arn:aws:iam::123456789012:role/eks"
    eks.create_cluster(name="c", roleArn=role, resourcesVpcConfig={"subnetIds": [subnet(cloud)]})
    entry = {"clusterName": "c", "principalArn": "arn:aws:iam::123456789012:role/node"}
    eks.create_access_entry(**entry, type="EC2_LINUX")
    eks.list_access_entries(clusterName="c")
    eks.describe_access_entry(**entry)
    eks.update_access_entry(**entry, username="me")
    eks.delete_access_entry(**entry)
    addon = {"clusterName": "c", "addonName": "vpc-cni"}
    eks.create_addon(**addon, tags={"a": "b"})
    eks.list_addons(clusterName="c")
    eks.describe_addon(**addon)
    eks.update_addon(**addon, addonVersion="v1")
    eks.delete_addon(**addon)


def test_every_code_in_the_source_is_one_that_aws_sends() -> None:
    written = {
        code
        for path in HERE.glob("*.py")
        for code in re.findall(r'PaperError\(\s*"([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert written
    assert written <= codes.hand_listed("ec2")


def test_an_error_that_aws_never_sends_cannot_be_raised() -> None:
    with PaperCloud() as cloud:
        call = calls.Call("fsx", "CreateFileSystem", {}, cloud.world)
        with pytest.raises(ValueError, match="never answers"):
            call.refuse("VcpuLimitExceeded", "x")


def test_the_gaps_are_loaded_by_name() -> None:
    gaps.load()
    assert ("ec2", "RunInstances") in set(calls.handled())
