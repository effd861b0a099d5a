"""The gateway asks through boto3: all pages, and errors as they are."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsGateway]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield AwsGateway(Clients("us-east-2"))


def test_every_page_of_a_long_answer_is_read(gateway: AwsGateway) -> None:
    ec2 = boto3.client("ec2", region_name="us-east-2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    for number in range(7):
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24")
    mine = {"Filters": [{"Name": "vpc-id", "Values": [vpc]}], "MaxResults": 5}
    pages = list(gateway.pages("ec2", "describe_subnets", mine))
    assert sum(len(page["Subnets"]) for page in pages) == 7


def test_an_operation_without_pages_is_one_page(gateway: AwsGateway) -> None:
    (page,) = gateway.pages("sts", "get_caller_identity", {})
    assert page["Account"] == "123456789012"


def test_an_error_of_aws_reaches_the_caller(gateway: AwsGateway) -> None:
    with pytest.raises(ClientError, match="InvalidAMIID"):
        list(gateway.pages("ec2", "describe_images", {"ImageIds": ["ami-0123456789abcdef9"]}))


def test_it_says_which_region_it_asks(gateway: AwsGateway) -> None:
    assert gateway.region == "us-east-2"
