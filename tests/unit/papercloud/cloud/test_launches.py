"""Launches obey capacity, quota, reservations and the rules for interfaces."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from botocore.exceptions import ClientError

from papercloud.cloud.scenario import Reservation, Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, code_of, subnet

IMAGE = "ami-0123456789abcdef0"


def efa(cards: int) -> list[dict[str, Any]]:
    first = [{"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface"}]
    second = [{"NetworkCardIndex": 0, "DeviceIndex": 1, "InterfaceType": "efa-only"}]
    more = [
        {"NetworkCardIndex": card, "DeviceIndex": 0, "InterfaceType": "efa-only"}
        for card in range(1, cards)
    ]
    return [*first, *second, *more]


def run(cloud: PaperCloud, *, least: int = 1, most: int = 1, **more: Any) -> list[dict[str, Any]]:
    asked = {"ImageId": IMAGE, "InstanceType": "p5.48xlarge", **more}
    if "NetworkInterfaces" not in asked and "SubnetId" not in asked:
        asked["SubnetId"] = subnet(cloud)
    made = client(cloud, "ec2").run_instances(MinCount=least, MaxCount=most, **asked)
    return list(made["Instances"])


def refusal(cloud: PaperCloud, **asked: Any) -> str:
    with pytest.raises(ClientError) as failed:
        run(cloud, **asked)
    return code_of(failed.value)


def test_an_instance_has_its_thirty_three_interfaces_each_on_its_card() -> None:
    with PaperCloud() as cloud:
        where = subnet(cloud)
        rows = [{**row, "SubnetId": where} for row in efa(32)]
        made = run(cloud, NetworkInterfaces=rows)[0]
        found = client(cloud, "ec2").describe_instances(InstanceIds=[made["InstanceId"]])
        free = client(cloud, "ec2").describe_subnets(SubnetIds=[where])["Subnets"][0]
    nics = found["Reservations"][0]["Instances"][0]["NetworkInterfaces"]
    seats = {(n["Attachment"]["NetworkCardIndex"], n["Attachment"]["DeviceIndex"]) for n in nics}
    assert seats == {(0, 0), (0, 1), *((card, 0) for card in range(1, 32))}
    assert [nic["InterfaceType"] for nic in nics].count("efa-only") == 32
    assert len([nic for nic in nics if nic.get("PrivateIpAddress")]) == 1
    assert free["AvailableIpAddressCount"] == 2**14 - 5 - 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"NetworkCardIndex": 0, "DeviceIndex": 0}, "InvalidParameterCombination"),
        ({"AssociatePublicIpAddress": True}, "InvalidParameterCombination"),
    ],
)
def test_wrong_interfaces_are_refused(change: dict[str, Any], code: str) -> None:
    with PaperCloud() as cloud:
        rows = efa(2)
        rows[1] |= change
        assert refusal(cloud, NetworkInterfaces=rows) == code


def test_a_zone_without_room_refuses_and_a_dry_run_does_not_see_it() -> None:
    with PaperCloud(Scenario(capacity={"p5.48xlarge/us-east-2a": 2})) as cloud:
        where = subnet(cloud)
        assert refusal(cloud, least=3, most=3, SubnetId=where) == "InsufficientInstanceCapacity"
        assert refusal(cloud, SubnetId=where, DryRun=True) == "DryRunOperation"
        assert len(run(cloud, least=1, most=3, SubnetId=where)) == 2
        elsewhere = subnet(cloud, zone="us-east-2b")
        assert len(run(cloud, least=3, most=3, SubnetId=elsewhere)) == 3


def test_capacity_comes_back_when_instances_end() -> None:
    with PaperCloud(Scenario(capacity={"p5.48xlarge/use2-az1": 1})) as cloud:
        where = subnet(cloud)
        made = run(cloud, SubnetId=where)[0]
        client(cloud, "ec2").terminate_instances(InstanceIds=[made["InstanceId"]])
        assert run(cloud, SubnetId=where)


def test_the_vcpu_quota_counts_what_runs() -> None:
    with PaperCloud(Scenario(quotas={"L-417A185B": 2 * 192})) as cloud:
        where = subnet(cloud)
        run(cloud, SubnetId=where)
        assert refusal(cloud, least=2, most=2, SubnetId=where) == "VcpuLimitExceeded"
        value = client(cloud, "service-quotas").get_service_quota(
            ServiceCode="ec2", QuotaCode="L-417A185B"
        )
        assert value["Quota"]["Value"] == 384


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"InstanceType": "p99.48xlarge"}, "InvalidParameterValue"),
        ({"ImageId": "ami-00000000000000000"}, "InvalidAMIID.NotFound"),
        ({"ImageId": "ami-0123456789abcdef1"}, "InvalidParameterValue"),
        ({"Placement": {"GroupName": "nowhere"}}, "InvalidPlacementGroup.Unknown"),
        (
            {"InstanceMarketOptions": {"MarketType": "capacity-block"}},
            "InvalidParameterCombination",
        ),
        ({"SubnetId": "subnet-00000000000000000"}, "InvalidSubnetID.NotFound"),
    ],
)
def test_what_ec2_would_not_launch_is_refused(asked: dict[str, Any], code: str) -> None:
    with PaperCloud() as cloud:
        assert refusal(cloud, **asked) == code


def test_a_type_that_the_zone_does_not_have_is_refused() -> None:
    with PaperCloud(Scenario(offered={"p5.48xlarge": ("use2-az2",)})) as cloud:
        assert refusal(cloud) == "Unsupported"
        rows = client(cloud, "ec2").describe_instance_type_offerings(
            LocationType="availability-zone-id",
            Filters=[{"Name": "instance-type", "Values": ["p5.48xlarge"]}],
        )
        assert [row["Location"] for row in rows["InstanceTypeOfferings"]] == ["use2-az2"]


def test_a_template_decides_all_that_the_request_does_not() -> None:
    with PaperCloud() as cloud:
        ec2, where = client(cloud, "ec2"), subnet(cloud)
        ec2.create_placement_group(GroupName="train", Strategy="cluster")
        data = {
            "ImageId": IMAGE,
            "InstanceType": "p5.48xlarge",
            "Placement": {"GroupName": "train"},
            "UserData": base64.b64encode(b"#cloud-config").decode(),
            "NetworkInterfaces": [{**row, "SubnetId": where} for row in efa(2)],
            "TagSpecifications": [
                {"ResourceType": "instance", "Tags": [{"Key": "muster:pool", "Value": "train"}]}
            ],
        }
        made = ec2.create_launch_template(LaunchTemplateName="lt", LaunchTemplateData=data)
        template = {"LaunchTemplateId": made["LaunchTemplate"]["LaunchTemplateId"]}
        one = ec2.run_instances(LaunchTemplate=template, MinCount=1, MaxCount=1)["Instances"][0]
        with pytest.raises(ClientError) as failed:
            ec2.delete_placement_group(GroupName="train")
    assert one["InstanceType"] == "p5.48xlarge"
    assert one["Placement"]["GroupName"] == "train"
    assert len(one["NetworkInterfaces"]) == 3
    assert {"Key": "muster:pool", "Value": "train"} in one["Tags"]
    assert code_of(failed.value) == "InvalidPlacementGroup.InUse"


def test_a_reservation_is_pending_then_active_and_holds_its_places() -> None:
    clock = MovedClock()
    scenario = Scenario(capacity={"p5.48xlarge/*": 2}, cr_pending_s=60)
    with PaperCloud(scenario, clock=clock) as cloud:
        ec2, where = client(cloud, "ec2"), subnet(cloud)
        made = ec2.create_capacity_reservation(
            InstanceType="p5.48xlarge",
            InstancePlatform="Linux/UNIX",
            AvailabilityZone="us-east-2a",
            InstanceCount=2,
            InstanceMatchCriteria="targeted",
        )["CapacityReservation"]
        assert made["State"] == "pending"
        target = {"CapacityReservationId": made["CapacityReservationId"]}
        seat = {"CapacityReservationSpecification": {"CapacityReservationTarget": target}}
        assert refusal(cloud, SubnetId=where, **seat) == "InvalidCapacityReservationState"
        clock.sleep(61)
        assert refusal(cloud, SubnetId=where) == "InsufficientInstanceCapacity"
        run(cloud, least=2, most=2, SubnetId=where, **seat)
        assert refusal(cloud, SubnetId=where, **seat) == "ReservationCapacityExceeded"
        found = ec2.describe_capacity_reservations()["CapacityReservations"][0]
        assert (found["State"], found["AvailableInstanceCount"]) == ("active", 0)


def test_a_capacity_block_begins_and_ends_its_instances_half_an_hour_before_its_end() -> None:
    clock = MovedClock()
    block = Reservation(
        id="cr-0a", type="p5.48xlarge", count=2, zone="us-east-2a", block=True,
        starts_in_s=600, ends_in_s=600 + 86400,
    )  # fmt: skip
    with PaperCloud(Scenario(reservations=(block,)), clock=clock) as cloud:
        ec2, where = client(cloud, "ec2"), subnet(cloud)
        asked = {
            "SubnetId": where,
            "InstanceMarketOptions": {"MarketType": "capacity-block"},
            "CapacityReservationSpecification": {
                "CapacityReservationTarget": {"CapacityReservationId": "cr-0a"}
            },
        }
        assert refusal(cloud, **asked) == "InvalidCapacityReservationState"
        clock.sleep(600)
        made = run(cloud, least=2, most=2, **asked)
        ids = [one["InstanceId"] for one in made]
        clock.sleep(86400 - 31 * 60)
        assert states(cloud, ids) == {"running"}
        clock.sleep(61)
        assert states(cloud, ids) == {"terminated"}
        clock.sleep(1800)
        found = ec2.describe_capacity_reservations()["CapacityReservations"][0]
        assert (found["State"], found["ReservationType"]) == ("expired", "capacity-block")


def states(cloud: PaperCloud, ids: list[str]) -> set[str]:
    found = client(cloud, "ec2").describe_instances(InstanceIds=ids)["Reservations"]
    return {one["State"]["Name"] for row in found for one in row["Instances"]}


def test_an_offering_can_be_bought_once() -> None:
    offering = {
        "id": "cbo-1", "type": "p5en.48xlarge", "count": 4, "hours": 48, "zone": "us-east-2b",
        "starts_in_s": 3600, "upfront_usd": 9000.5,
    }  # fmt: skip
    scenario = Scenario.model_validate({"block_offerings": [offering]})
    with PaperCloud(scenario) as cloud:
        ec2 = client(cloud, "ec2")
        asked = {"InstanceType": "p5en.48xlarge", "InstanceCount": 4, "CapacityDurationHours": 48}
        found = ec2.describe_capacity_block_offerings(**asked)["CapacityBlockOfferings"]
        assert [row["UpfrontFee"] for row in found] == ["9000.5000"]
        bought = ec2.purchase_capacity_block(
            CapacityBlockOfferingId="cbo-1", InstancePlatform="Linux/UNIX"
        )["CapacityReservation"]
        assert (bought["State"], bought["ReservationType"]) == ("scheduled", "capacity-block")
        assert not ec2.describe_capacity_block_offerings(**asked)["CapacityBlockOfferings"]
        with pytest.raises(ClientError) as failed:
            ec2.purchase_capacity_block(
                CapacityBlockOfferingId="cbo-1", InstancePlatform="Linux/UNIX"
            )
        assert code_of(failed.value) == "InvalidCapacityBlockOfferingId.NotFound"
        assert (
            ec2.describe_capacity_block_status()["CapacityBlockStatuses"][0]["TotalCapacity"] == 4
        )


def test_the_console_has_the_host_key_when_the_instance_has_booted() -> None:
    clock = MovedClock()
    with PaperCloud(Scenario(instance_start_s=30, console_after_s=60), clock=clock) as cloud:
        ec2 = client(cloud, "ec2")
        made = run(cloud)[0]["InstanceId"]
        assert states(cloud, [made]) == {"pending"}
        clock.sleep(31)
        assert states(cloud, [made]) == {"running"}
        assert "Output" not in ec2.get_console_output(InstanceId=made, Latest=True)
        clock.sleep(60)
        text = ec2.get_console_output(InstanceId=made, Latest=True)["Output"]
        again = ec2.get_console_output(InstanceId=made, Latest=True)["Output"]
    assert "-----BEGIN SSH HOST KEY KEYS-----\r\nssh-ed25519 AAAA" in text
    assert text == again


def test_termination_protection_holds() -> None:
    with PaperCloud() as cloud:
        made = run(cloud, DisableApiTermination=True)[0]["InstanceId"]
        with pytest.raises(ClientError) as failed:
            client(cloud, "ec2").terminate_instances(InstanceIds=[made])
        assert code_of(failed.value) == "OperationNotPermitted"
        assert states(cloud, [made]) == {"running"}


@pytest.mark.parametrize(("kind", "levels"), [("p5.48xlarge", 3), ("p6-b200.48xlarge", 4)])
def test_topology_has_the_levels_of_the_type(kind: str, levels: int) -> None:
    with PaperCloud() as cloud:
        run(cloud, least=5, most=5, InstanceType=kind)
        found = client(cloud, "ec2").describe_instance_topology()["Instances"]
    assert {len(row["NetworkNodes"]) for row in found} == {levels}
    assert len({row["NetworkNodes"][-1] for row in found}) == 2
    assert len({row["NetworkNodes"][0] for row in found}) == 1


def test_topology_comes_late_in_pages_and_not_for_every_type() -> None:
    clock = MovedClock()
    with PaperCloud(Scenario(topology_visible_after=30), clock=clock) as cloud:
        ec2, where = client(cloud, "ec2"), subnet(cloud)
        run(cloud, least=25, most=25, SubnetId=where)
        run(cloud, InstanceType="m7i.large", SubnetId=where)
        assert not ec2.describe_instance_topology()["Instances"]
        clock.sleep(31)
        pages = ec2.get_paginator("describe_instance_topology").paginate(MaxResults=20)
        sizes = [len(page["Instances"]) for page in pages]
    assert sizes == [20, 5]


def test_types_that_moto_lacks_come_from_the_catalog() -> None:
    with PaperCloud() as cloud:
        found = client(cloud, "ec2").describe_instance_types(InstanceTypes=["p6e-gb200.36xlarge"])
    kind = found["InstanceTypes"][0]
    assert kind["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] == 4
    assert kind["ProcessorInfo"]["SupportedArchitectures"] == ["arm64"]


def test_images_and_parameters_are_those_of_the_scenario() -> None:
    with PaperCloud(Scenario(parameters={"/aws/service/image": IMAGE})) as cloud:
        found = client(cloud, "ec2").describe_images(ImageIds=[IMAGE])["Images"][0]
        named = client(cloud, "ssm").get_parameter(Name="/aws/service/image")["Parameter"]
    assert (found["Architecture"], found["BootMode"]) == ("x86_64", "uefi-preferred")
    assert named["Value"] == IMAGE


def test_tags_of_groups_and_reservations_are_listed_with_all_others() -> None:
    with PaperCloud() as cloud:
        ec2 = client(cloud, "ec2")
        group = ec2.create_placement_group(GroupName="g", Strategy="cluster")["PlacementGroup"]
        ec2.create_tags(Resources=[group["GroupId"]], Tags=[{"Key": "a", "Value": "b"}])
        rows = ec2.describe_tags(Filters=[{"Name": "key", "Values": ["a"]}])["Tags"]
    assert [(row["ResourceId"], row["ResourceType"]) for row in rows] == [
        (group["GroupId"], "placement-group")
    ]
