"""`muster plan` reads the paper cloud: all is well, or each mistake is found in what AWS says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from muster.catalog import load_catalog
from muster.cli.main import main
from muster.clock import SystemClock
from muster.cloud.asking import Bounds
from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway
from muster.cloud.reading import read_cloud
from muster.plan.aws.plan import plan_aws
from muster.plan.rules.model import View
from muster.plan.rules.run import Result, preflight
from muster.progress import silent
from muster.spec import parse_spec
from papercloud.cloud.scenario import Fault, Reservation, Scenario
from papercloud.server import PaperCloud
from tests.cloud.stories.paper_stack import PaperStack

REGION, ZONE = "us-east-2", "us-east-2a"
HELD = "cr-0123456789abcdef0"
FSX = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 4800, "throughput": 250}
IMAGE = "ami-0123456789abcdef0"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleEx you"
# What the catalog does not price in this region, and what a reservation in no group always leaves.
UNPRICED, LOOSE = "budget", "placement-agrees"


def reserved(count: int = 4, type_name: str = "p5.48xlarge", **more: Any) -> Reservation:
    return Reservation(id=HELD, type=type_name, count=count, zone=ZONE, **more)


def cluster(**more: Any) -> dict[str, Any]:
    """Four p5 in a reservation, with a new file system that a bucket fills."""
    train = {"name": "train", "type": "p5.48xlarge", "count": 4}
    usual = {
        "target": "aws",
        "network": {"zoneId": "use2-az1", "cidr": "10.0.0.0/16"},
        "image": IMAGE,
        "access": {"publicKeys": [KEY]},
        "pools": [{**train, "capacity": {"reservation": HELD}}],
        "storage": [{**FSX, "import": "s3://data-set/prefix"}],
        "buckets": [{"name": "results-of-test"}],
        "budget": {"maxHourlyUsd": 5000.0},
    }
    return {**usual, **more}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperCloud]:
    with PaperCloud() as served, pytest.MonkeyPatch.context() as patch:
        for name, value in served.environ(tmp_path_factory.mktemp("state")).items():
            patch.setenv(name, value)
        yield served


@pytest.fixture
def fresh(cloud: PaperCloud) -> PaperCloud:
    """An empty account with a reservation for four nodes and a bucket to read from."""
    cloud.reset()
    cloud.set(Scenario(reservations=(reserved(),)))
    where = {"LocationConstraint": REGION}
    client("s3").create_bucket(Bucket="data-set", CreateBucketConfiguration=where)
    return cloud


def client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)


@cache
def gateway() -> AwsGateway:
    """One for all tests: making clients takes longer than asking."""
    return AwsGateway(Clients(REGION))


def results(spec: dict[str, Any]) -> dict[str, list[Result]]:
    """What every rule says of a cluster, after reading the cloud."""
    clock, catalog = SystemClock(), load_catalog()
    parsed = parse_spec(spec, where="test", catalog=catalog, today=clock.now().date())
    found = plan_aws(parsed, catalog, "test")
    bounds = Bounds(clock=clock, limit_s=120, progress=silent)
    read = read_cloud(found, gateway(), bounds)
    now = clock.now()
    judged = preflight(View(spec=parsed, plan=found, catalog=catalog, now=now, cloud=read))
    said: dict[str, list[Result]] = {}
    for result in judged.results:
        said.setdefault(result.rule, []).append(result)
    return said


def worst(said: dict[str, list[Result]], rule: str) -> Result:
    order = ["fail", "unknown", "warning", "waived", "pass"]
    return min(said[rule], key=lambda result: order.index(result.standing))


@pytest.mark.usefixtures("fresh")
def test_where_all_is_well_in_the_account_every_rule_passes() -> None:
    said = results(cluster())
    wrong = {
        rule: result.said.what for rule in said if (result := worst(said, rule)).standing != "pass"
    }
    assert set(wrong) == {UNPRICED, LOOSE}, wrong


@pytest.mark.parametrize(
    ("scenario", "rule", "words"),
    [
        (Scenario(), "reservation-usable", "does not exist"),
        (Scenario(reservations=(reserved(3),)), "reservation-size", "3 are free"),
        (
            Scenario(reservations=(reserved(4, "p5e.48xlarge"),)),
            "reservation-usable",
            "is of p5e.48xlarge",
        ),
        (
            Scenario(reservations=(reserved(block=True, ends_in_s=86400),)),
            "reservation-usable",
            "name it as block",
        ),
        (
            Scenario(reservations=(reserved(),), offered={"p5.48xlarge": ("us-east-2b",)}),
            "zone-offers-types",
            "Zones with all types: use2-az2.",
        ),
        (
            Scenario(reservations=(reserved(),), quotas={"L-1216C47A": 4}),
            "vcpu-quotas",
            "8 of 4",
        ),
        (
            Scenario(reservations=(reserved(),), quotas={"L-0263D0A3": 0}),
            "network-quotas",
            "1 of 0",
        ),
        (
            Scenario(reservations=(reserved(),), quotas={"L-8F1B9C74": 2400}),
            "storage-quotas",
            "4800 of 2400",
        ),
        (Scenario(reservations=(reserved(),), images={}), "image-fits", "does not exist"),
    ],
)
def test_each_mistake_is_found_in_what_the_account_says(
    cloud: PaperCloud, scenario: Scenario, rule: str, words: str
) -> None:
    cloud.reset()
    cloud.set(scenario)
    found = worst(results(cluster()), rule)
    assert found.standing == "fail"
    assert words in f"{found.said.what} {found.said.do}"


@pytest.mark.usefixtures("fresh")
def test_a_bucket_that_is_missing_and_one_that_somebody_has_are_found() -> None:
    client("s3").delete_bucket(Bucket="data-set")
    where = {"LocationConstraint": REGION}
    client("s3").create_bucket(Bucket="results-of-test", CreateBucketConfiguration=where)
    said = results(cluster())
    assert worst(said, "import-bucket").standing == "fail"
    assert worst(said, "bucket-names").standing == "fail"


def test_what_the_caller_may_not_read_is_unknown_and_names_the_action(fresh: PaperCloud) -> None:
    denied = Fault(match="ec2:DescribeCapacityReservations", code="UnauthorizedOperation")
    fresh.set(Scenario(reservations=(reserved(),), faults=(denied,)))
    found = worst(results(cluster()), "reservation-usable")
    assert found.standing == "unknown"
    assert "Allow ec2:DescribeCapacityReservations to the caller." in found.said.do


def test_an_account_that_is_throttled_a_little_is_read_all_the_same(fresh: PaperCloud) -> None:
    slow = Fault(match="ec2:Describe*", code="RequestLimitExceeded", rate=0.2)
    fresh.set(Scenario(seed=1, reservations=(reserved(),), faults=(slow,)))
    said = results(cluster())
    assert {worst(said, rule).standing for rule in said} == {"pass", "unknown", "warning"}
    assert [rule for rule in said if worst(said, rule).standing == "unknown"] == [UNPRICED]


@pytest.mark.usefixtures("fresh")
def test_existing_network_without_a_way_out_and_with_public_addresses_is_refused() -> None:
    ec2 = client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_subnet(VpcId=vpc, CidrBlock="10.8.0.0/28", AvailabilityZone=ZONE)
    subnet = made["Subnet"]["SubnetId"]
    ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    network = {"zoneId": "use2-az1", "vpcId": vpc, "subnetId": subnet}
    pools = [{**cluster()["pools"][0], "count": 12}]
    said = results(cluster(network=network, pools=pools))
    assert "no endpoints of" in worst(said, "way-out").said.what
    assert "gives its nodes public addresses" in worst(said, "no-public-address").said.what
    assert "enableDnsHostnames off" in worst(said, "network-agrees").said.what
    assert "are free" in worst(said, "free-addresses").said.what
    names = ("way-out", "no-public-address", "network-agrees", "free-addresses")
    assert {worst(said, name).standing for name in names} == {"fail"}


def test_what_a_standing_stack_has_is_not_wanted_twice(cloud: PaperCloud, tmp_path: Path) -> None:
    """The account holds this stack to the last vCPU, address and GiB, and nothing besides."""
    vpcs = len(client("ec2").describe_vpcs()["Vpcs"])
    quotas = {"L-417A185B": 768, "L-1216C47A": 8, "L-0263D0A3": 1, "L-8F1B9C74": 4800}
    cloud.reset()
    cloud.set(Scenario(reservations=(reserved(),), quotas={**quotas, "L-F678F1CE": vpcs + 1}))
    spec = cluster(stages=["infra"], storage=[{**FSX, "import": "s3://results-of-test/data"}])
    stack = PaperStack.make(tmp_path / "program", cloud, spec, stack="test")
    before = results(spec)
    stack.must_up()
    after = results(spec)
    rules = {
        rule for said in (before, after) for rule in said if worst(said, rule).standing == "fail"
    }
    assert rules == set()
    assert worst(after, "bucket-names").said.what == "results-of-test is this stack's already"
    assert worst(after, "fabric-group").standing == "pass"
    assert {rule for rule in after if worst(after, rule).standing == "unknown"} == {UNPRICED}


@pytest.mark.usefixtures("fresh")
def test_the_command_line_reads_the_same_cloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: muster\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks").mkdir()
    config = {"config": {"aws:region": REGION, "muster:cluster": cluster()}}
    (tmp_path / "stacks" / "Pulumi.test.yaml").write_text(yaml.safe_dump(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["muster", "plan", "test", "--no-preview", "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 3  # the catalog has no price of the head in this region
    document = json.loads(capsys.readouterr().out)
    unknown = {r["rule"] for r in document["results"] if r["standing"] == "unknown"}
    assert unknown == {UNPRICED}
