"""The simulated cloud serves on loopback, logs its calls, and answers with faults."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pydantic import ValidationError

from muster.errors import UsageError
from papercloud.cloud.scenario import Fault, Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, code_of


def post(cloud: PaperCloud, path: str, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{cloud.endpoint}/_paper/{path}", data=data, method="POST")  # noqa: S310
    urllib.request.urlopen(request, timeout=10).read()  # noqa: S310


def test_two_clouds_one_after_the_other_share_nothing() -> None:
    with PaperCloud() as first:
        client(first, "ec2").create_vpc(CidrBlock="10.9.0.0/16")
        before = len(client(first, "ec2").describe_vpcs()["Vpcs"])
    with PaperCloud() as second:
        after = len(client(second, "ec2").describe_vpcs()["Vpcs"])
    assert (before, after) == (2, 1)


def test_two_clouds_at_one_time_are_refused() -> None:
    with PaperCloud(), pytest.raises(UsageError, match="another paper cloud"), PaperCloud():
        pass


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "localhost.example"])  # noqa: S104
def test_it_listens_nowhere_but_on_loopback(host: str) -> None:
    with pytest.raises(UsageError, match="loopback only"):
        PaperCloud(host=host)


def test_the_first_calls_get_a_counted_fault_and_the_next_one_does_not() -> None:
    fault = Fault(match="ec2:CreateVpc", code="RequestLimitExceeded", count=2)
    with PaperCloud(Scenario(faults=(fault,))) as cloud:
        ec2 = client(cloud, "ec2")
        for _ in range(2):
            with pytest.raises(ClientError) as failed:
                ec2.create_vpc(CidrBlock="10.0.0.0/16")
            assert code_of(failed.value) == "RequestLimitExceeded"
        ec2.create_vpc(CidrBlock="10.0.0.0/16")
        assert [call.error for call in cloud.calls()] == ["RequestLimitExceeded"] * 2 + [""]


@pytest.mark.parametrize(
    ("service", "code", "call"),
    [
        ("fsx", "ServiceLimitExceeded", "describe_file_systems"),
        ("iam", "ServiceFailure", "list_roles"),
        ("efs", "InternalServerError", "describe_file_systems"),
        ("eks", "ServerException", "list_clusters"),
        ("autoscaling", "ResourceContention", "describe_auto_scaling_groups"),
        ("s3", "SlowDown", "list_buckets"),
    ],
)
def test_faults_reach_clients_of_every_protocol(service: str, code: str, call: str) -> None:
    with PaperCloud(Scenario(faults=(Fault(match="*:*", code=code),))) as cloud:
        with pytest.raises(ClientError) as failed:
            getattr(client(cloud, service), call)()
        assert code_of(failed.value) == code
        assert cloud.calls()[-1].error == code


@pytest.mark.parametrize(
    ("service", "code", "status"),
    [
        ("ec2", "RequestLimitExceeded", 503),
        ("iam", "Throttling", 400),
        ("ec2", "InternalError", 500),
    ],
)
def test_a_common_code_has_its_own_status_so_that_clients_retry_it(
    service: str, code: str, status: int
) -> None:
    call = {"ec2": "describe_vpcs", "iam": "list_roles"}[service]
    with PaperCloud(Scenario(faults=(Fault(match=f"{service}:*", code=code, count=1),))) as cloud:
        with pytest.raises(ClientError) as refused:
            getattr(client(cloud, service), call)()
        assert code_of(refused.value) == code
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_a_share_of_calls_fails_the_same_way_in_every_run() -> None:
    fault = Fault(match="ec2:Describe*", code="RequestLimitExceeded", rate=0.5)

    def run() -> list[str]:
        with PaperCloud(Scenario(seed=7, faults=(fault,))) as cloud:
            ec2 = client(cloud, "ec2")
            for _ in range(12):
                try:
                    ec2.describe_vpcs()
                except ClientError:
                    continue
            return [call.error for call in cloud.calls()]

    first = run()
    assert first == run()
    assert len(set(first)) == 2


def test_a_fault_that_aws_never_sends_is_refused() -> None:
    with pytest.raises(ValidationError, match="never answers"):
        Fault(match="fsx:CreateFileSystem", code="InsufficientInstanceCapacity")
    with pytest.raises(ValidationError, match="not a service"):
        Fault(match="lustre:CreateFileSystem", code="Throttling")


def test_a_slow_call_is_answered_late() -> None:
    clock = MovedClock()
    begun = clock.now()
    slow = Scenario(faults=(Fault(match="ec2:DescribeVpcs", delay_s=30, count=1),))
    with PaperCloud(slow, clock=clock) as cloud:
        client(cloud, "ec2").describe_vpcs()
        assert (clock.now() - begun).total_seconds() == 30


def test_what_ec2_has_just_made_is_not_found_for_a_while() -> None:
    clock = MovedClock()
    with PaperCloud(Scenario(visible_after=5), clock=clock) as cloud:
        ec2 = client(cloud, "ec2")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        with pytest.raises(ClientError) as failed:
            ec2.describe_vpcs(VpcIds=[vpc])
        assert code_of(failed.value) == "InvalidVpcID.NotFound"
        clock.sleep(6)
        assert ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"]


def test_another_process_can_change_the_scenario_and_read_the_calls() -> None:
    with PaperCloud() as cloud:
        post(cloud, "scenario", {"faults": [{"match": "ec2:*", "code": "InternalError"}]})
        with pytest.raises(ClientError):
            client(cloud, "ec2").describe_vpcs()
        post(cloud, "reset", {})
        assert client(cloud, "ec2").describe_vpcs()["Vpcs"]
        answer = urllib.request.urlopen(f"{cloud.endpoint}/_paper/calls", timeout=10)  # noqa: S310
        assert [call["error"] for call in json.load(answer)] == [""]


def test_the_environment_holds_nothing_of_a_real_account(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    with PaperCloud() as cloud:
        environ = cloud.environ(tmp_path)
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN"} & set(environ)
    assert environ["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert environ["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/pulumi"


def test_zones_have_the_ids_of_the_scenario() -> None:
    scenario = Scenario(zone_ids={"us-east-2a": "use2-az3", "us-east-2c": "use2-az1"})
    with PaperCloud(scenario) as cloud:
        zones = client(cloud, "ec2").describe_availability_zones()["AvailabilityZones"]
    assert [zone["ZoneId"] for zone in zones] == ["use2-az3", "use2-az2", "use2-az1"]
