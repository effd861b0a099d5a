"""The example stacks, and the account that each of them needs: what they name must be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from papercloud.cloud.scenario import Reservation, Scenario
from papercloud.server import PaperCloud
from tests.cloud.stories.paper_stack import REPOSITORY, client

Cluster = dict[str, Any]

EXAMPLES = tuple(
    sorted(path.stem[len("Pulumi.example-") :] for path in REPOSITORY.glob("stacks/*example-*"))
)
ZONE = "us-east-2a"
_DAY_S = 86_400.0


def cluster_of(example: str) -> Cluster:
    """Return the spec of an example: infrastructure alone, since nothing is installed on paper.

    Two nodes a pool are enough: the resources are the same for any number. Spares belong to a
    stage that is left out.
    """
    path = REPOSITORY / "stacks" / f"Pulumi.example-{example}.yaml"
    cluster: Cluster = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]["muster:cluster"]
    few = [{**_without_spares(pool), "count": min(pool["count"], 2)} for pool in cluster["pools"]]
    return {**cluster, "pools": few, "stages": ["infra"]}


def _without_spares(pool: Cluster) -> Cluster:
    return {key: value for key, value in pool.items() if key != "spares"}


def scenario_of(cluster: Cluster, **more: Any) -> Scenario:
    """Return an account that holds the reservations and blocks that a spec names."""
    reservations = []
    for pool in cluster["pools"]:
        capacity = pool["capacity"]
        held = capacity.get("reservation") or capacity.get("block")
        if held:
            reservations.append(
                Reservation(
                    id=held,
                    type=pool["type"],
                    count=pool["count"] + 2,
                    zone=ZONE,
                    block="block" in capacity,
                    ends_in_s=_DAY_S if "block" in capacity else None,
                )
            )
    return Scenario(reservations=tuple(reservations), **more)


def prepare(example: str, cluster: Cluster, cloud: PaperCloud) -> Cluster:
    """Make in the account what a spec names and no scenario holds; returns it with the ids."""
    for mount in cluster.get("storage", ()):
        if "import" in mount:
            _make_bucket(cloud, mount["import"].split("/")[2], cluster)
    make = _PREPARE.get(example)
    return make(cluster, cloud) if make else cluster


def _make_bucket(cloud: PaperCloud, name: str, cluster: Cluster) -> None:
    if name in {bucket["name"] for bucket in cluster.get("buckets", ())}:
        return
    where = {"LocationConstraint": "us-east-2"}
    client(cloud, "s3").create_bucket(Bucket=name, CreateBucketConfiguration=where)


def _existing_vpc(cluster: Cluster, cloud: PaperCloud) -> Cluster:
    ec2, fsx = client(cloud, "ec2"), client(cloud, "fsx")
    cidr = cluster["network"]["cidr"]
    vpc = ec2.create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=cidr, AvailabilityZone=ZONE)["Subnet"]
    file_system = fsx.create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=4800,
        SubnetIds=[subnet["SubnetId"]],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]["FileSystemId"]
    network = {**cluster["network"], "vpcId": vpc, "subnetId": subnet["SubnetId"]}
    [mount] = cluster["storage"]
    return {**cluster, "network": network, "storage": [{**mount, "id": file_system}]}


def _resource_group(cluster: Cluster, cloud: PaperCloud) -> Cluster:
    [pool] = cluster["pools"]
    reservation = client(cloud, "ec2").create_capacity_reservation(
        InstanceType=pool["type"],
        InstancePlatform="Linux/UNIX",
        AvailabilityZone=ZONE,
        InstanceCount=pool["count"] + 2,
        InstanceMatchCriteria="targeted",
    )["CapacityReservation"]
    group = client(cloud, "resource-groups").create_group(
        Name="b300",
        Configuration=[
            {"Type": "AWS::EC2::CapacityReservationPool"},
            {
                "Type": "AWS::ResourceGroups::Generic",
                "Parameters": [
                    {
                        "Name": "allowed-resource-types",
                        "Values": ["AWS::EC2::CapacityReservation"],
                    }
                ],
            },
        ],
    )["Group"]["GroupArn"]
    client(cloud, "resource-groups").group_resources(
        Group=group, ResourceArns=[reservation["CapacityReservationArn"]]
    )
    return {**cluster, "pools": [{**pool, "capacity": {"resourceGroup": group}}]}


_PREPARE: dict[str, Callable[[Cluster, PaperCloud], Cluster]] = {
    "existing-vpc": _existing_vpc,
    "p6-b300": _resource_group,
}
