"""Questions are asked side by side, in bounded time, and no answer hides another."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from muster.clock import SystemClock
from muster.cloud.asking import Bounds, Question, ask, ask_all, side_by_side
from muster.cloud.gateway import RecordedGateway
from muster.plan.cloud_view import Unread
from muster.progress import silent

SUBNETS = Question(service="ec2", operation="describe_subnets", of="Subnets")


class Hours:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self._s = 0.0

    def monotonic_s(self) -> float:
        self._s += 1
        return self._s


def gateway(answer: Any) -> RecordedGateway:
    return RecordedGateway("us-east-2", {("ec2", "describe_subnets"): answer})


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeSubnets")


def test_the_list_of_an_answer_is_returned() -> None:
    assert ask(gateway({"Subnets": [{"SubnetId": "a"}]}), SUBNETS) == [{"SubnetId": "a"}]


def test_an_error_that_means_nothing_there_is_an_empty_answer_and_others_are_unread() -> None:
    gone = Question(
        service="ec2", operation="describe_subnets", of="Subnets", absent=frozenset({"Gone"})
    )
    assert ask(gateway(refusal("Gone")), gone) == []
    assert isinstance(ask(gateway(refusal("Other")), gone), Unread)


@pytest.mark.parametrize("answer", [{"Sub": []}, None, KeyError("odd")])
def test_an_answer_of_another_shape_is_unread_not_a_crash(answer: Any) -> None:
    assert isinstance(ask(gateway(answer), SUBNETS), Unread)


def test_one_broken_answer_does_not_hide_the_others() -> None:
    answers = {("ec2", "describe_subnets"): {"Subnets": []}, ("ec2", "describe_vpcs"): refusal("X")}
    asked = {"good": SUBNETS, "bad": Question(service="ec2", operation="describe_vpcs", of="Vpcs")}
    found = ask_all(
        RecordedGateway("us-east-2", answers),
        asked,
        limit_s=10,
        clock=SystemClock(),
        progress=silent,
    )
    assert found["good"] == []
    assert isinstance(found["bad"], Unread)


def test_what_does_not_answer_in_time_is_unread_and_the_wait_is_told() -> None:
    never, said = threading.Event(), list[str]()
    bounds = Bounds(clock=Hours(), limit_s=8, progress=said.append)  # type: ignore[arg-type]  # a clock that is only looked at
    jobs = {"slow": lambda: str(never.wait(60)), "quick": lambda: "here"}
    found = side_by_side(jobs, bounds)
    never.set()
    assert found["quick"] == "here"
    assert found["slow"] == Unread("AWS did not answer within 8 s", "Try again.")
    assert said
    assert said[-1] == "reading the cloud: 1 of 2 answers"


def test_nothing_is_asked_of_nobody() -> None:
    bounds = Bounds(clock=SystemClock(), limit_s=1, progress=silent)
    assert side_by_side({}, bounds) == {}
