"""What AWS answers becomes the parts of a view, and whatever it refuses says why."""

from __future__ import annotations

from typing import Any

import botocore.session
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.validate import ParamValidator

from muster.cloud.asking import Question
from muster.cloud.dry_runs import launches
from muster.cloud.questions import WHO, questions_of
from muster.plan.cloud_view import (
    Bucket,
    DryRun,
    FileSystem,
    GroupRules,
    Image,
    Interfaces,
    PortRule,
    Reservation,
    TypeFacts,
    Unread,
    Used,
    Vpc,
)
from muster.plan.rules.model import View
from tests.unit.cloud.answers import (
    ENDS,
    FS,
    HELD,
    SUBNET,
    VPC,
    account,
    instance,
    read,
    refusal,
    reservation,
)
from tests.unit.plan.rules.views import cluster, pool, view

IMAGE = "ami-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"


def stack(*pools: dict[str, Any]) -> View:
    """A stack in an existing network, with an existing file system and two buckets."""
    reserved = pool(capacity={"reservation": HELD}, count=3)
    storage = [
        {"mount": "/fsx", "kind": "fsxLustre", "id": FS},
        {
            "mount": "/new",
            "kind": "fsxLustre",
            "capacityGiB": 4800,
            "throughput": 250,
            "import": "s3://data-set/prefix",
        },
    ]
    network = {"zoneId": "use2-az1", "vpcId": VPC, "subnetId": SUBNET}
    parts = {"network": network, "image": IMAGE, "storage": storage}
    return view(cluster(*(pools or (reserved,)), **parts, buckets=[{"name": "made-here"}]))


def spot() -> dict[str, Any]:
    return pool("cheap", capacity={"spot": True})


def in_block() -> dict[str, Any]:
    return pool("fast", capacity={"block": HELD})


def in_group() -> dict[str, Any]:
    return pool("mixed", capacity={"resourceGroup": GROUP})


def test_types_and_where_they_are_offered() -> None:
    found = read(stack(), account())
    assert found.offers == {"p5.48xlarge": frozenset({"use2-az1"})}
    assert isinstance(found.types, dict)
    assert found.types["p5.48xlarge"] == TypeFacts(
        usage=frozenset({"on-demand", "capacity-block"}),
        network_cards=32,
        efa_interfaces=32,
        strategies=frozenset({"cluster"}),
        boot_modes=frozenset({"uefi"}),
        arches=frozenset({"x86_64"}),
    )


def test_a_reservation_and_the_nodes_of_this_stack_in_it() -> None:
    found = read(stack(), account())
    one = found.reservations[HELD]
    assert isinstance(one, Reservation)
    assert (one.state, one.available, one.total, one.block) == ("active", 3, 8, False)
    assert found.own_nodes(HELD) == 1
    assert isinstance(found.held, dict)
    assert set(found.held) == {HELD}


def test_a_reservation_that_does_not_exist_is_told_from_one_that_was_not_read() -> None:
    none = account(describe_capacity_reservations={"CapacityReservations": []})
    assert read(stack(), none).reservations[HELD] is None
    denied = account(describe_capacity_reservations=refusal("UnauthorizedOperation"))
    why = read(stack(), denied).reservations[HELD]
    assert isinstance(why, Unread)
    assert why.why == "ec2:DescribeCapacityReservations is denied"


def test_a_block_of_another_account_in_a_group_of_this_stack() -> None:
    held = reservation(
        ReservationType="capacity-block", EndDate=ENDS, OwnerId="2", PlacementGroupArn="arn:own"
    )
    gateway = account(describe_capacity_reservations={"CapacityReservations": [held]})
    one = read(stack(), gateway).reservations[HELD]
    assert isinstance(one, Reservation)
    assert (one.block, one.ends, one.shared, one.own_group) == (True, ENDS, True, True)


def test_whose_a_placement_group_is_may_stay_unknown() -> None:
    gateway = account(describe_placement_groups=refusal("UnauthorizedOperation"))
    one = read(stack(), gateway).reservations[HELD]
    assert isinstance(one, Reservation)
    assert one.own_group is None


def test_the_reservations_of_a_resource_group_are_read_with_it() -> None:
    found = read(stack(in_group()), account())
    assert found.groups == {GROUP: (HELD,)}
    assert isinstance(found.reservations[HELD], Reservation)


def test_a_resource_group_that_does_not_exist_has_none() -> None:
    gateway = account(list_group_resources=refusal("NotFoundException"))
    assert read(stack(in_group()), gateway).groups == {GROUP: None}


def test_instances_by_market_and_pool_with_their_vcpus() -> None:
    found = read(stack(), account()).instances
    assert isinstance(found, tuple)
    assert [(each.market, each.pool, each.vcpus) for each in found] == [
        ("onDemand", "train", 192),
        ("block", "", 192),
        ("spot", "", None),
    ]


def test_the_subnet_and_its_way_out() -> None:
    found = read(stack(), account()).subnet
    assert not isinstance(found, Unread)
    assert found is not None
    assert (found.zone_id, found.free_addresses, found.way_out) == ("use2-az1", 4000, "nat-1")


@pytest.mark.parametrize(
    ("routes", "out"),
    [
        ([{"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"}], "igw-1"),
        ([{"DestinationCidrBlock": "0.0.0.0/0", "TransitGatewayId": "tgw-1"}], "tgw-1"),
        ([{"DestinationCidrBlock": "0.0.0.0/0", "VpcPeeringConnectionId": "pcx-1"}], "pcx-1"),
        ([{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "n", "State": "blackhole"}], ""),
        ([], ""),
    ],
)
def test_the_subnets_own_route_table_comes_before_the_main_one(
    routes: list[dict[str, Any]], out: str
) -> None:
    main = {"Associations": [{"Main": True}], "Routes": []}
    own = {"Associations": [{"SubnetId": SUBNET}], "Routes": routes}
    found = read(stack(), account(describe_route_tables={"RouteTables": [main, own]})).subnet
    assert not isinstance(found, Unread)
    assert found is not None
    assert found.way_out == out


def test_the_vpc_its_names_and_endpoints() -> None:
    assert read(stack(), account()).vpc == Vpc(
        cidrs=("10.0.0.0/16",),
        taken={"10.0.0.0/20": False},
        dns_support=True,
        dns_hostnames=True,
        internet_gateway=False,
        endpoints=frozenset({"ssm"}),
    )


def test_interfaces_of_this_stack_are_those_of_its_nodes_and_endpoints() -> None:
    found = read(stack(), account()).interfaces
    assert found == Interfaces(total=4, own=2, own_addresses=2)


def test_what_the_region_has_and_what_of_it_is_this_stacks() -> None:
    found = read(stack(), account())
    assert found.addresses == Used(total=2, own=1)
    assert found.stored == {"lustrePersistent2Gib": Used(total=9600, own=0)}
    assert found.quotas["L-417A185B"] == 640.0


def test_an_existing_file_system_and_what_its_groups_let_in() -> None:
    found = read(stack(), account()).file_systems[FS]
    rules = (
        PortRule(protocol="tcp", first=988, last=1023, cidr="10.0.0.0/16", group="", own=False),
        PortRule(protocol="tcp", first=988, last=1023, cidr="", group="sg-own", own=True),
    )
    zones = frozenset({"use2-az1"})
    assert found == FileSystem(
        kind="fsxLustre", lifecycle="available", vpc_id=VPC, zone_ids=zones, efa=True, opens=rules
    )


def test_a_file_system_is_known_though_its_groups_are_not() -> None:
    gateway = account(describe_security_groups=refusal("UnauthorizedOperation"))
    found = read(stack(), gateway).file_systems[FS]
    assert isinstance(found, FileSystem)
    assert found.opens == Unread(
        "ec2:DescribeSecurityGroups is denied", "Allow ec2:DescribeSecurityGroups to the caller."
    )


def test_the_stacks_own_group_does_not_let_itself_out_by_a_range() -> None:
    own = GroupRules(id="sg-own", name="test-fabric", self_in=True, self_out=False)
    assert read(stack(), account()).security_groups == (own,)


def test_images_and_buckets() -> None:
    found = read(stack(), account())
    boot = "uefi-preferred"
    assert found.images[IMAGE] == Image(
        state="available", arch="x86_64", boot_mode=boot, root_gib=64
    )
    assert found.buckets == {
        "data-set": Bucket(region="us-west-2", own=False),
        "made-here": Bucket(region="us-west-2", own=True),
    }


@pytest.mark.parametrize("code", ["404", "NoSuchBucket"])
def test_a_bucket_that_nobody_has_is_none_and_one_that_is_closed_is_unread(code: str) -> None:
    assert read(stack(), account(head_bucket=refusal(code))).buckets["data-set"] is None
    closed = read(stack(), account(head_bucket=refusal("403"))).buckets["data-set"]
    assert isinstance(closed, Unread)


def test_an_image_that_does_not_exist_is_none() -> None:
    gateway = account(describe_images=refusal("InvalidAMIID.NotFound"))
    assert read(stack(), gateway).images[IMAGE] is None


def test_a_dry_run_is_of_all_nodes_that_do_not_run_yet_in_the_subnet_and_the_reservation() -> None:
    gateway = account()
    found = read(stack(), gateway)
    launches = {p["MinCount"]: p for s, o, p in gateway.asked if o == "run_instances"}
    assert found.dry_runs["train"] == DryRun(code="DryRunOperation", message="would have succeeded")
    assert set(launches) == {2, 1}  # two of three nodes, and the head
    launch = launches[2]
    assert launch["DryRun"] is True
    assert launch["CapacityReservationSpecification"] == {
        "CapacityReservationTarget": {"CapacityReservationId": HELD}
    }
    assert {found["SubnetId"] for found in launch["NetworkInterfaces"]} == {SUBNET}
    assert len(launch["NetworkInterfaces"]) == 33


def test_a_dry_run_is_bought_as_the_pool_is() -> None:
    gateway = account()
    read(stack(spot(), in_block(), in_group()), gateway)
    launches = [p for _, o, p in gateway.asked if o == "run_instances"]
    markets = {p.get("InstanceMarketOptions", {}).get("MarketType") for p in launches}
    targets = [p.get("CapacityReservationSpecification") for p in launches]
    assert markets == {"spot", "capacity-block", None}
    group = {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": GROUP}}
    assert group in targets


@pytest.mark.parametrize(
    ("code", "kind"),
    [("VcpuLimitExceeded", DryRun), ("RequestLimitExceeded", Unread)],
)
def test_what_ec2_says_to_a_dry_run_is_the_answer_unless_it_did_not_look(
    code: str, kind: type
) -> None:
    found = read(stack(), account(run_instances=refusal(code))).dry_runs["train"]
    assert isinstance(found, kind)


def test_without_a_subnet_the_default_one_of_the_zone_is_asked_and_may_be_missing() -> None:
    gateway = account(run_instances=refusal("VPCIdNotSpecified"), describe_instances=_none())
    found = read(view(cluster(pool(), image=IMAGE)), gateway)
    launch = next(p for _, o, p in gateway.asked if o == "run_instances")
    assert launch["Placement"] == {"AvailabilityZoneId": "use2-az1"}
    why = found.dry_runs["train"]
    assert isinstance(why, Unread)
    assert "no subnet yet" in why.why


def _none() -> dict[str, Any]:
    return {"Reservations": [{"Instances": [instance("i-1")]}]}


def test_iam_is_asked_about_the_role_behind_a_session() -> None:
    gateway = account()
    found = read(stack(), gateway)
    asked = next(p for _, o, p in gateway.asked if o == "simulate_principal_policy")
    assert asked["PolicySourceArn"] == "arn:aws:iam::123456789012:role/builder"
    assert isinstance(found.decisions, dict)
    assert set(found.decisions.values()) == {"allowed"}


def test_what_the_root_of_an_account_may_do_cannot_be_simulated() -> None:
    who = {"Account": "1", "Arn": "arn:aws:iam::1:root"}
    found = read(stack(), account(get_caller_identity=who)).decisions
    assert isinstance(found, Unread)
    assert "cannot simulate" in found.why


def test_without_credentials_nothing_else_is_asked_and_every_part_says_so() -> None:
    gateway = account(get_caller_identity=NoCredentialsError())
    found = read(stack(), gateway)
    assert [operation for _, operation, _ in gateway.asked] == ["get_caller_identity"]
    parts: list[object] = [found.offers, found.instances, found.subnet, found.decisions]
    parts += [found.reservations[HELD], found.dry_runs["train"], found.images[IMAGE]]
    assert {part.why for part in parts if isinstance(part, Unread)} == {
        "there are no AWS credentials"
    }
    assert all(isinstance(part, Unread) for part in parts)


@pytest.mark.parametrize("operation", ["describe_subnets", "describe_instances", "describe_vpcs"])
def test_an_answer_that_lacks_what_its_model_promises_is_unread(operation: str) -> None:
    key = {"describe_subnets": "Subnets", "describe_instances": "Reservations"}.get(
        operation, "Vpcs"
    )
    found = read(stack(), account(**{operation: {key: [{}]}}))
    broken = {"Subnets": found.subnet, "Reservations": found.instances, "Vpcs": found.vpc}[key]
    assert isinstance(broken, Unread)
    assert "was not understood" in broken.why


def test_a_plan_of_many_pools_asks_no_more_than_one_of_one() -> None:
    few = questions_of(stack().plan)
    pools = [pool(f"pool{n}", capacity={"onDemand": True}) for n in range(9)]
    assert len(questions_of(stack(*pools).plan)) == len(few)


def test_every_question_is_one_that_the_service_takes() -> None:
    session = botocore.session.get_session()
    plans = [stack(spot(), in_block(), in_group()).plan, view(cluster(pool(image=IMAGE))).plan]
    asked = [q for plan in plans for q in questions_of(plan).values()]
    asked += [WHO]
    asked += [
        Question(service="ec2", operation="run_instances", parameters=launch)
        for plan in plans
        for _, launch in launches(plan, None, {})
    ]
    for question in asked:
        model = session.get_service_model(question.service)
        name = "".join(part.capitalize() for part in question.operation.split("_"))
        operation = model.operation_model(name)
        shape = operation.input_shape
        report = ParamValidator().validate(dict(question.parameters), shape)
        assert not report.has_errors(), report.generate_report()
        assert not question.of or question.of in operation.output_shape.members
