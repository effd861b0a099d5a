"""A simulated cloud for tests: a clock that tests move, and clients that do not retry."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from papercloud.server import PaperCloud

REGION = "us-east-2"


class MovedClock:
    """Time that only a test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def monotonic_s(self) -> float:
        return self.at.timestamp()

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def client(cloud: PaperCloud, service: str) -> Any:
    return boto3.client(
        service,
        region_name=REGION,
        endpoint_url=cloud.endpoint,
        aws_access_key_id="paper",
        aws_secret_access_key="paper",  # noqa: S106  # no real account
        config=Config(retries={"total_max_attempts": 1}),
    )


def code_of(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])


def subnet(cloud: PaperCloud, *, zone: str = "us-east-2a") -> str:
    ec2 = client(cloud, "ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/18", AvailabilityZone=zone)
    return str(made["Subnet"]["SubnetId"])
