"""The AWS program on mocks: what it asks for, for each example, type and way of buying."""

from __future__ import annotations

import base64
import json
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml

from muster.catalog import load_catalog
from muster.errors import UsageError
from muster.plan.aws.interfaces import interfaces_of
from muster.spec import SpecError
from tests.cloud.program.recording import PROJECT, Recording, cluster, example, pool, run
from tests.cloud.program.summary import summary
from tests.conftest import Golden

EXAMPLES = sorted(path.stem[7:] for path in PROJECT.glob("stacks/Pulumi.example-*.yaml"))
EFA_TYPES = sorted(
    name for name, found in load_catalog().types.items() if found.target == "aws" and found.rails
)
RESERVED = "cr-0123456789abcdef0"
RESOURCE_GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/h100"
BLOCK = {"block": RESERVED, "ends": "2026-12-01T11:30Z"}
OWN_SUBNET = {
    "zoneId": "use2-az1",
    "vpcId": "vpc-0123456789abcdef0",
    "subnetId": "subnet-0123456789abcdef0",
}


def mistakes(recording: Recording) -> list[str]:
    """What the SDK would not take of what was asked for."""
    from papercloud.provider.schema import check_inputs  # noqa: PLC0415 - reads the slow SDK

    return [
        f"{asked.name}: {mistake}"
        for asked in recording.resources
        if asked.type.startswith("aws:")
        for mistake in check_inputs(asked.type, asked.inputs)
    ]


def named(recording: Recording) -> list[tuple[str, str]]:
    """Types and names, in an order that does not hang on what was registered first."""
    return sorted((asked.type, asked.name) for asked in recording.resources)


@cache
def built(name: str) -> tuple[Recording, dict[str, Any]]:
    """An example, run once for all tests that only look."""
    return run(example(name))


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_asks_for_what_the_sdk_takes(name: str, golden: Golden) -> None:
    recording, outputs = built(name)
    assert mistakes(recording) == []
    golden(f"aws/{name}.txt", summary(recording, outputs))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_preview_of_each_example_asks_for_the_same(name: str) -> None:
    previewed, _ = run(example(name), preview=True)
    assert named(previewed) == named(built(name)[0])


@pytest.mark.parametrize("kind", EFA_TYPES)
def test_each_efa_type_is_launched_with_the_interfaces_of_its_plan(kind: str) -> None:
    found = load_catalog().types[kind]
    whole = (found.domain_sizes or (2,))[0]
    capacity = {"reservation": RESERVED}
    recording, _ = run(cluster(pool(type=kind, count=whole, capacity=capacity)))
    asked = recording.one("LaunchTemplate", "train").inputs
    assert mistakes(recording) == []
    assert asked["instanceType"] == kind
    assert [
        (n["networkCardIndex"], n["deviceIndex"], n["interfaceType"])
        for n in asked["networkInterfaces"]
    ] == [(i.card, i.device, i.kind) for i in interfaces_of(found, "fewAddresses", where="test")]


@pytest.mark.parametrize(
    ("capacity", "market", "target"),
    [
        ({"onDemand": True}, None, None),
        ({"spot": True}, "spot", None),
        ({"reservation": RESERVED}, None, {"capacityReservationId": RESERVED}),
        (BLOCK, "capacity-block", {"capacityReservationId": RESERVED}),
        (
            {"resourceGroup": RESOURCE_GROUP},
            None,
            {"capacityReservationResourceGroupArn": RESOURCE_GROUP},
        ),
    ],
    ids=["onDemand", "spot", "reservation", "block", "resourceGroup"],
)
def test_each_way_of_buying_is_in_the_launch_template(
    capacity: dict[str, Any], market: str | None, target: dict[str, str] | None
) -> None:
    recording, _ = run(cluster(pool(capacity=capacity)))
    asked = recording.one("LaunchTemplate", "train").inputs
    bought = asked.get("capacityReservationSpecification", {})
    assert mistakes(recording) == []
    assert asked.get("instanceMarketOptions", {}).get("marketType") == market
    assert bought.get("capacityReservationTarget") == target


def test_nothing_is_bought_by_the_program() -> None:
    for capacity in ({"reservation": RESERVED}, BLOCK, {"resourceGroup": RESOURCE_GROUP}):
        recording, _ = run(cluster(pool(capacity=capacity)))
        assert not recording.of("CapacityReservation")
        assert not recording.of("CapacityBlockReservation")


def test_a_capacity_block_is_emptied_before_ec2_ends_it_and_has_no_placement_group() -> None:
    recording, _ = run(cluster(pool(capacity=BLOCK)))
    schedule = recording.one("Schedule").inputs
    # 30 minutes before the end EC2 ends the instances, and it warns 10 before that; 5 are ours.
    assert schedule["startTime"] == "2026-12-01T10:45:00Z"
    assert (schedule["minSize"], schedule["maxSize"], schedule["desiredCapacity"]) == (0, 0, 0)
    assert not recording.of("PlacementGroup")


def test_an_ultraserver_is_let_go_earlier() -> None:
    kind = "p6e-gb200.36xlarge"
    count = load_catalog().types[kind].domain_sizes or ()
    recording, _ = run(cluster(pool(type=kind, count=count[0], capacity=BLOCK)))
    assert recording.one("Schedule").inputs["startTime"] == "2026-12-01T10:15:00Z"


def test_the_number_of_resources_does_not_depend_on_the_number_of_nodes() -> None:
    network = {"zoneId": "use2-az1", "cidr": "10.0.0.0/16"}
    small, _ = run(cluster(pool(count=8), network=network))
    large, _ = run(cluster(pool(count=1250), network=network))
    assert named(small) == named(large)
    assert large.one("Group", "train").inputs["desiredCapacity"] == 1250


def test_spares_are_launched_with_the_nodes_and_told_to_the_fleet_apart() -> None:
    recording, _ = run(cluster(pool(count=4, spares=1)))
    asked = recording.one("Group", "train").inputs
    [told] = recording.one("Fleet").inputs["pools"]
    assert (asked["minSize"], asked["maxSize"], asked["desiredCapacity"]) == (0, 5, 5)
    assert (told["count"], told["size"], told["group"]) == (4, 5, "test-train")


def test_the_nodes_group_lets_everything_flow_among_nodes_both_ways() -> None:
    recording, _ = run(cluster())
    for kind in ("SecurityGroupIngressRule", "SecurityGroupEgressRule"):
        asked = recording.one(kind, "nodes-to-nodes-all").inputs
        assert asked["securityGroupId"] == asked["referencedSecurityGroupId"] == "test-nodes-id"
        assert asked["ipProtocol"] == "-1"


def test_session_manager_needs_no_way_in_and_direct_lets_only_private_ranges() -> None:
    recording, _ = run(cluster())
    assert not [r for r in recording.of("SecurityGroupIngressRule") if "cidrIpv4" in r.inputs]
    access = {**cluster()["access"], "via": "direct"}
    recording, _ = run(cluster(access=access))
    ranges = [r.inputs["cidrIpv4"] for r in recording.of("SecurityGroupIngressRule")[1:]]
    assert ranges == ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]


def test_an_existing_subnet_is_used_as_it_is() -> None:
    recording, outputs = run(cluster(network=OWN_SUBNET))
    made = Counter(r.type.rsplit(":", 1)[-1] for r in recording.resources)
    assert not made.keys() & {"Vpc", "Subnet", "RouteTable", "NatGateway", "VpcEndpoint", "Eip"}
    assert outputs["network"] == {"vpc": OWN_SUBNET["vpcId"], "subnet": OWN_SUBNET["subnetId"]}


@pytest.mark.parametrize(
    ("mocks", "key"),
    [
        (Recording(zone_id="use2-az2"), "zoneId"),
        (Recording(vpc_id="vpc-0fedcba9876543210"), "vpcId"),
    ],
    ids=["zone", "vpc"],
)
def test_a_subnet_elsewhere_stops_the_program_with_the_key_that_is_wrong(
    mocks: Recording, key: str
) -> None:
    with pytest.raises(UsageError, match=f"muster:cluster.network.{key}: subnet-0123"):
        run(cluster(network=OWN_SUBNET), mocks=mocks)
    assert not mocks.of("Group")


def test_an_image_that_is_not_there_stops_the_program_with_one_line() -> None:
    mocks = Recording(missing={"aws:ec2/getAmi:getAmi"})
    with pytest.raises(UsageError, match=r"muster:cluster.image: image ami-.* Check the id"):
        run(cluster(), mocks=mocks)
    assert [asked.type for asked in mocks.resources] == ["pulumi:providers:aws"]


def test_a_new_subnet_in_an_existing_vpc_uses_the_gateway_that_is_there() -> None:
    network = {"zoneId": "use2-az1", "cidr": "10.9.0.0/20", "vpcId": OWN_SUBNET["vpcId"]}
    recording, _ = run(cluster(network=network))
    assert not recording.of("Vpc")
    assert not recording.of("InternetGateway")
    assert recording.one("Route", "internet").inputs["gatewayId"] == "igw-0123456789abcdef0"


def test_without_nat_there_are_endpoints_and_no_way_to_the_internet() -> None:
    recording, _ = run(cluster(network={**cluster()["network"], "internet": "endpoints"}))
    services = {r.inputs["serviceName"].rsplit(".", 1)[-1] for r in recording.of("VpcEndpoint")}
    assert services == {"s3", "ec2", "ec2messages", "fsx", "logs", "ssm", "ssmmessages"}
    assert not recording.of("NatGateway")
    assert not recording.of("Route")


def test_user_data_lets_the_keys_in_and_holds_nothing_else() -> None:
    recording, _ = run(cluster())
    text = base64.b64decode(recording.one("LaunchTemplate", "train").inputs["userData"]).decode()
    assert text.startswith("#cloud-config\n")
    said = yaml.safe_load(text)
    keys = cluster()["access"]["publicKeys"]
    assert said["ssh_authorized_keys"] == keys
    assert said["disable_root"] is False
    assert said["users"] == [
        "default",
        {
            "name": "ubuntu",
            "shell": "/bin/bash",
            "ssh_authorized_keys": keys,
            "sudo": "ALL=(ALL) NOPASSWD:ALL",
        },
    ]
    assert set(said) == {"disable_root", "ssh_authorized_keys", "ssh_pwauth", "users"}


def test_more_keys_than_ec2_takes_are_refused() -> None:
    keys = [f"ssh-ed25519 {'A' * 68} person-{number}" for number in range(100)]
    with pytest.raises(UsageError, match="bytes of user data; EC2 takes 16384"):
        run(cluster(access={"publicKeys": keys}))


def test_a_cluster_that_nobody_can_log_in_to_is_refused() -> None:
    with pytest.raises(UsageError, match="nobody could log in"):
        run(cluster(access=None))


def test_a_pool_without_an_image_is_refused() -> None:
    with pytest.raises(UsageError, match="train has no image"):
        run(cluster(image=None))


def test_the_root_disk_has_the_name_that_the_image_gives_it() -> None:
    recording, _ = run(cluster())
    [disk] = recording.one("LaunchTemplate", "train").inputs["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/sda1"
    assert disk["ebs"]["encrypted"] == "true"
    asked = [args for token, args in recording.calls if token.endswith(":getAmi")]
    assert asked[0]["filters"] == [{"name": "image-id", "values": [cluster()["image"]]}]


def test_the_node_role_reads_only_the_buckets_that_fill_file_systems_and_writes_nothing() -> None:
    recording, _ = built("example-p5")
    policy = json.loads(recording.one("RolePolicy").inputs["policy"])
    allowed = {s["Action"]: s["Resource"] for s in policy["Statement"]}
    assert allowed == {
        "ec2:DescribeInstanceTopology": "*",
        "s3:ListBucket": "arn:aws:s3:::bucket",
        "s3:GetObject": "arn:aws:s3:::bucket/prefix*",
    }


def lustre(**changes: Any) -> Recording:
    system = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 9600, "throughput": 500}
    return run(cluster(storage=[{**system, **changes}]))[0]


def test_lustre_opens_its_ports_both_ways_and_over_efa_everything() -> None:
    plain, efa = lustre(), lustre(efa=True)
    pairs = ("nodes-to-fs-fsx", "fs-fsx-to-nodes", "fs-fsx-to-fs-fsx")

    def rules(recording: Recording) -> list[str]:
        return sorted(
            r.name
            for r in recording.of("SecurityGroupIngressRule")
            if any(pair in r.name for pair in pairs)
        )

    assert rules(plain) == sorted(f"test-{p}-tcp-{n}" for p in pairs for n in (988, 1018))
    assert rules(efa) == sorted(f"test-{pair}-all" for pair in pairs)
    assert efa.one("LustreFileSystem").inputs["efaEnabled"] is True


def test_each_lustre_deployment_has_the_sizes_that_it_takes() -> None:
    scratch = lustre(deployment="scratch2", throughput=None).one("LustreFileSystem").inputs
    assert scratch["deploymentType"] == "SCRATCH_2"
    assert "perUnitStorageThroughput" not in scratch
    tiering = {"deployment": "intelligentTiering", "capacityGiB": None, "throughput": 4000}
    tiered = lustre(**tiering, metadataIops=6000).one("LustreFileSystem").inputs
    assert tiered["storageType"] == "INTELLIGENT_TIERING"
    assert tiered["metadataConfiguration"] == {"mode": "USER_PROVISIONED", "iops": 6000}
    assert "storageCapacity" not in tiered


def test_an_export_writes_changes_back() -> None:
    imported = lustre(**{"import": "s3://bucket/prefix"}).one("DataRepositoryAssociation")
    exported = lustre(**{"import": "s3://bucket/prefix"}, export=True)
    assert "autoExportPolicy" not in imported.inputs["s3"]
    assert exported.one("DataRepositoryAssociation").inputs["s3"].keys() == {
        "autoImportPolicy",
        "autoExportPolicy",
    }


def test_an_existing_file_system_is_only_named() -> None:
    recording, outputs = run(
        cluster(storage=[{"mount": "/fsx", "kind": "fsxLustre", "id": "fs-0123456789abcdef0"}])
    )
    assert not recording.of("LustreFileSystem")
    assert outputs["storage"] == {"/fsx": "fs-0123456789abcdef0"}


def test_the_stages_stop_where_the_spec_says() -> None:
    infra, _ = run(cluster(stages=["infra"]))
    assert infra.of("Fleet")
    assert not infra.of("Convergence")
    converged, _ = run(cluster(stages=["infra", "converge"]))
    assert converged.of("Convergence")
    assert not converged.of("Acceptance")


def test_the_fleet_is_told_everything_that_it_waits_for() -> None:
    recording, _ = run(cluster())
    told = recording.one("Fleet").inputs
    assert told["head"] == {"instance": "test-head-id", "type": "m7i.2xlarge"}
    assert told["launched"] == {"train": "test-train-id:1"}
    assert told["access"] == {
        "user": "ubuntu",
        "keyFile": "~/.ssh/id_ed25519",
        "via": "sessionManager",
    }
    assert (told["zoneId"], told["region"]) == ("use2-az1", "us-east-2")


def test_the_fleet_is_told_what_all_machines_mount() -> None:
    recording, _ = built("example-mixed")
    assert recording.one("Fleet").inputs["storage"] == [
        {"mount": "/fsx", "kind": "fsxLustre", "address": "test-fsx.invalid"},
        {"mount": "/home", "kind": "fsxOpenZfs", "address": "test-home.invalid"},
    ]


def test_a_node_group_says_spot_and_subnet_itself() -> None:
    data = {**example("example-eks"), "budget": {"maxHourlyUsd": 3000}}
    recording, _ = run({**data, "pools": [pool(type="g6e.48xlarge", capacity={"spot": True})]})
    template = recording.one("LaunchTemplate").inputs
    assert "instanceMarketOptions" not in template
    assert "iamInstanceProfile" not in template
    assert all("subnetId" not in one for one in template["networkInterfaces"])
    assert recording.one("NodeGroup").inputs["capacityType"] == "SPOT"


def test_a_node_of_eks_is_told_its_cluster() -> None:
    recording, _ = built("example-eks")
    text = base64.b64decode(recording.one("LaunchTemplate", "train").inputs["userData"]).decode()
    assert "Content-Type: application/node.eks.aws" in text
    assert "apiServerEndpoint: https://eks.invalid" in text
    assert "cidr: 172.20.0.0/16" in text


def test_eks_has_a_subnet_in_a_second_zone_and_no_public_api() -> None:
    recording, _ = built("example-eks")
    config = recording.one("Cluster").inputs["vpcConfig"]
    assert recording.one("Subnet", "control").inputs["availabilityZoneId"] == "use2-az2"
    assert config["subnetIds"] == ["test-private-id", "test-control-id"]
    assert config["endpointPublicAccess"] is False


def test_eks_in_a_single_existing_subnet_is_refused() -> None:
    with pytest.raises(UsageError, match="EKS needs subnets in two"):
        run({**example("example-eks"), "network": OWN_SUBNET})


def test_kubernetes_beyond_infrastructure_is_refused() -> None:
    with pytest.raises((UsageError, SpecError), match="not converged or tested yet"):
        run({**example("example-eks"), "stages": ["infra", "converge"]})
