"""EKS becomes active late, prices are the catalog's, and policies of AWS exist when asked for."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from papercloud.cloud.machines import Launch, Machine
from papercloud.cloud.scenario import Image, Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, code_of, subnet

IMAGE = "ami-0123456789abcdef0"


def cluster(cloud: PaperCloud, where: str) -> Any:
    eks = client(cloud, "eks")
    role = "arn:aws:iam::123456789012:role/eks"
    eks.create_cluster(name="c", roleArn=role, resourcesVpcConfig={"subnetIds": [where]})
    return eks


def test_a_cluster_its_nodes_and_its_addons_become_active_late() -> None:
    clock = MovedClock()
    with PaperCloud(Scenario(eks_create_s=60), clock=clock) as cloud:
        eks = cluster(cloud, subnet(cloud))
        assert eks.describe_cluster(name="c")["cluster"]["status"] == "CREATING"
        clock.sleep(61)
        assert eks.describe_cluster(name="c")["cluster"]["status"] == "ACTIVE"
        eks.create_addon(clusterName="c", addonName="vpc-cni")
        assert (
            eks.describe_addon(clusterName="c", addonName="vpc-cni")["addon"]["status"]
            == "CREATING"
        )
        clock.sleep(61)
        assert (
            eks.describe_addon(clusterName="c", addonName="vpc-cni")["addon"]["status"] == "ACTIVE"
        )


def test_a_node_group_has_instances_of_its_template_and_ends_them() -> None:
    with PaperCloud() as cloud:
        ec2, where = client(cloud, "ec2"), subnet(cloud)
        eks = cluster(cloud, where)
        data = {"ImageId": IMAGE, "InstanceType": "p5.48xlarge"}
        made = ec2.create_launch_template(LaunchTemplateName="lt", LaunchTemplateData=data)
        eks.create_nodegroup(
            clusterName="c",
            nodegroupName="train",
            nodeRole="arn:aws:iam::123456789012:role/node",
            subnets=[where],
            scalingConfig={"minSize": 0, "maxSize": 2, "desiredSize": 2},
            launchTemplate={"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"},
        )
        assert kinds(ec2) == ["p5.48xlarge", "p5.48xlarge"]
        eks.delete_nodegroup(clusterName="c", nodegroupName="train")
        assert kinds(ec2) == []


def kinds(ec2: Any) -> list[str]:
    running = [{"Name": "instance-state-name", "Values": ["running"]}]
    found = ec2.describe_instances(Filters=running)["Reservations"]
    return [one["InstanceType"] for row in found for one in row["Instances"]]


def test_prices_are_the_catalogs_unless_the_scenario_has_others() -> None:
    scenario = Scenario(prices={"p5.48xlarge": 1.5}, spot_prices={"p5.48xlarge/use2-az2": 0.25})
    with PaperCloud(scenario) as cloud:
        asked = [{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "p5.48xlarge"}]
        rows = client(cloud, "pricing").get_products(ServiceCode="AmazonEC2", Filters=asked)
        spot = client(cloud, "ec2").describe_spot_price_history(
            InstanceTypes=["p5.48xlarge"], AvailabilityZone="us-east-2b"
        )["SpotPriceHistory"]
    product = json.loads(rows["PriceList"][0])
    (term,) = product["terms"]["OnDemand"].values()
    (rate,) = term["priceDimensions"].values()
    assert product["product"]["attributes"]["regionCode"] == "us-east-2"
    assert float(rate["pricePerUnit"]["USD"]) == 1.5
    assert [float(row["SpotPrice"]) for row in spot] == [0.25]


def test_policies_of_aws_can_be_attached_and_others_cannot() -> None:
    with PaperCloud() as cloud:
        iam = client(cloud, "iam")
        iam.create_role(RoleName="node", AssumeRolePolicyDocument="{}")
        arn = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
        iam.attach_role_policy(RoleName="node", PolicyArn=arn)
        with pytest.raises(ClientError) as failed:
            iam.attach_role_policy(RoleName="node", PolicyArn=f"{arn}Typo")
        attached = iam.list_attached_role_policies(RoleName="node")["AttachedPolicies"]
    assert code_of(failed.value) == "NoSuchEntity"
    assert [row["PolicyArn"] for row in attached] == [arn]


def test_a_group_of_reservations_is_used_like_one() -> None:
    with PaperCloud(Scenario(capacity={"p5.48xlarge/*": 2})) as cloud:
        ec2, groups = client(cloud, "ec2"), client(cloud, "resource-groups")
        made = ec2.create_capacity_reservation(
            InstanceType="p5.48xlarge",
            InstancePlatform="Linux/UNIX",
            AvailabilityZone="us-east-2a",
            InstanceCount=2,
        )["CapacityReservation"]
        types = [{"Type": "AWS::EC2::CapacityReservationPool"}]
        group = groups.create_group(Name="pool", Configuration=types)["Group"]["GroupArn"]
        groups.group_resources(Group="pool", ResourceArns=[made["CapacityReservationArn"]])
        target = {"CapacityReservationResourceGroupArn": group}
        launched = ec2.run_instances(
            ImageId=IMAGE,
            InstanceType="p5.48xlarge",
            SubnetId=subnet(cloud),
            MinCount=2,
            MaxCount=2,
            CapacityReservationSpecification={"CapacityReservationTarget": target},
        )["Instances"]
    assert {one["CapacityReservationId"] for one in launched} == {made["CapacityReservationId"]}


class Booting:
    """Machines that boot when the test says so."""

    def __init__(self, outcome: Machine | Exception) -> None:
        self.outcome = outcome
        self.go, self.stopped = threading.Event(), threading.Event()
        self.launches: list[Launch] = []

    def offers(self, instance_type: str) -> bool:
        return instance_type == "g6e.48xlarge"

    def start(self, launch: Launch) -> Machine:
        self.launches.append(launch)
        self.go.wait(30)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def stop(self, instance_id: str) -> None:
        self.stopped.set()


def launched(cloud: PaperCloud) -> str:
    made = client(cloud, "ec2").run_instances(
        ImageId=IMAGE,
        InstanceType="g6e.48xlarge",
        SubnetId=subnet(cloud),
        UserData="#cloud-config",
        MinCount=1,
        MaxCount=1,
    )
    return str(made["Instances"][0]["InstanceId"])


def shown(cloud: PaperCloud, instance: str) -> dict[str, Any]:
    found = client(cloud, "ec2").describe_instances(InstanceIds=[instance])["Reservations"]
    return dict(found[0]["Instances"][0])


def until(cloud: PaperCloud, instance: str, state: str) -> dict[str, Any]:
    for _ in range(200):
        found = shown(cloud, instance)
        if found["State"]["Name"] == state:
            return found
        threading.Event().wait(0.02)
    pytest.fail(f"{instance} is not {state}")


def test_an_instance_is_pending_until_its_machine_runs_and_has_its_address_and_console() -> None:
    machines = Booting(Machine(addresses=("10.0.0.77",), console="hello from a machine"))
    with PaperCloud(machines=machines) as cloud:
        one = launched(cloud)
        assert shown(cloud, one)["State"]["Name"] == "pending"
        machines.go.set()
        found = until(cloud, one, "running")
        console = client(cloud, "ec2").get_console_output(InstanceId=one, Latest=True)["Output"]
        client(cloud, "ec2").terminate_instances(InstanceIds=[one])
        assert machines.stopped.wait(30)
    assert found["PrivateIpAddress"] == "10.0.0.77"
    assert console == "hello from a machine"
    assert (machines.launches[0].user_data, machines.launches[0].interfaces) == ("#cloud-config", 1)


def test_an_instance_whose_machine_does_not_boot_is_terminated_and_says_why() -> None:
    machines = Booting(OSError("no room for another node"))
    machines.go.set()
    with PaperCloud(machines=machines) as cloud:
        found = until(cloud, launched(cloud), "terminated")
    assert "no room for another node" in found["StateReason"]["Message"]


def test_an_image_of_another_architecture_is_described_as_it_is() -> None:
    image = Image(architecture="arm64", boot_mode="uefi", root_device="/dev/xvda")
    with PaperCloud(Scenario(images={"ami-0a": image})) as cloud:
        found = client(cloud, "ec2").describe_images(ImageIds=["ami-0a"])["Images"][0]
        wanted = [{"Name": "image-id", "Values": ["ami-0a"]}]
        same = client(cloud, "ec2").describe_images(Filters=wanted)["Images"]
    assert (found["Architecture"], found["RootDeviceName"]) == ("arm64", "/dev/xvda")
    assert [image["ImageId"] for image in same] == ["ami-0a"]
