"""Whatever AWS answers instead of an answer is told in words, with what to do."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    TokenRetrievalError,
)

from muster.cloud.refusals import action_of, unread


def refusal(code: str, message: str = "no\nway") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "DescribeSubnets")


@pytest.mark.parametrize(
    ("code", "why", "do"),
    [
        ("UnauthorizedOperation", "ec2:DescribeSubnets is denied", "Allow ec2:DescribeSubnets"),
        ("AccessDeniedException", "ec2:DescribeSubnets is denied", "Allow ec2:DescribeSubnets"),
        ("ExpiredToken", "does not accept the credentials (ExpiredToken)", "aws sso login"),
        ("AuthFailure", "does not accept the credentials", "AWS_PROFILE"),
        ("RequestLimitExceeded", "throttled after all retries", "in a minute"),
        ("InternalError", "ec2:DescribeSubnets failed with InternalError: no way", "Try again"),
    ],
)
def test_each_error_of_aws_says_why_and_what_to_do(code: str, why: str, do: str) -> None:
    found = unread(refusal(code), "ec2", "describe_subnets")
    assert why in found.why
    assert do in found.do
    assert "\n" not in found.why


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (NoCredentialsError(), "there are no AWS credentials"),
        (TokenRetrievalError(provider="sso", error_msg="expired"), "login has expired"),
        (EndpointConnectionError(endpoint_url="https://ec2"), "got no answer"),
        (KeyError("Subnets"), "was not understood (KeyError: 'Subnets')"),
    ],
)
def test_each_error_on_the_way_to_aws_says_why(error: Exception, why: str) -> None:
    assert why in unread(error, "ec2", "describe_subnets").why


def test_a_long_message_is_cut() -> None:
    assert len(unread(refusal("Odd", "x " * 5000), "ec2", "describe_subnets").why) < 400


@pytest.mark.parametrize(
    ("service", "operation", "action"),
    [
        ("ec2", "describe_subnets", "ec2:DescribeSubnets"),
        ("efs", "describe_mount_targets", "elasticfilesystem:DescribeMountTargets"),
        ("service-quotas", "get_service_quota", "servicequotas:GetServiceQuota"),
        ("s3", "head_bucket", "s3:ListBucket"),
    ],
)
def test_actions_are_called_as_iam_calls_them(service: str, operation: str, action: str) -> None:
    assert action_of(service, operation) == action
