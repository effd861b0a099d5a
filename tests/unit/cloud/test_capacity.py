"""One call buys, and is never sent twice; what AWS did not answer is not known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from muster.cloud.capacity import members, offerings, purchase, purchase_client, reservation
from muster.cloud.gateway import RecordedGateway
from muster.errors import MusterError, UnknownOutcomeError
from muster.plan.buying import Asked
from muster.plan.cloud_view import Unread
from tests.unit.cli.test_catalog_refresh import refused

OFFER = "cb-0123456789abcdef0"
BOUGHT = {
    "CapacityReservationId": "cr-0123456789abcdef0",
    "InstanceType": "p5.48xlarge",
    "TotalInstanceCount": 4,
    "State": "payment-pending",
}
EXPECTED = {
    "CapacityBlockOfferingId": OFFER,
    "InstancePlatform": "Linux/UNIX",
    "TagSpecifications": [
        {
            "ResourceType": "capacity-reservation",
            "Tags": [{"Key": "muster:purchase", "Value": "n"}],
        }
    ],
}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    return purchase_client("us-east-2")


def buy(client: Any) -> Any:
    return purchase(client, OFFER, {"muster:purchase": "n"})


def test_a_purchase_is_what_the_services_own_model_wants(client: Any) -> None:
    with Stubber(client) as stub:
        stub.add_response("purchase_capacity_block", {"CapacityReservation": BOUGHT}, EXPECTED)
        assert buy(client)["CapacityReservationId"] == "cr-0123456789abcdef0"
        stub.assert_no_pending_responses()


def test_a_refusal_bought_nothing_and_is_not_sent_again(client: Any) -> None:
    with Stubber(client) as stub:
        stub.add_client_error(
            "purchase_capacity_block", "CapacityBlockOfferingNotFound", "gone", 400
        )
        with pytest.raises(MusterError, match="Nothing was bought") as error:
            buy(client)
        assert error.value.exit_code == 1
        assert "CapacityBlockOfferingNotFound" in str(error.value)


@pytest.mark.parametrize("code", ["InternalError", "Unavailable"])
def test_after_a_broken_answer_nobody_knows_whether_it_was_bought(client: Any, code: str) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("purchase_capacity_block", code, "sorry", 503)
        stub.add_response("purchase_capacity_block", {"CapacityReservation": BOUGHT}, EXPECTED)
        with pytest.raises(UnknownOutcomeError, match="not known whether it was bought"):
            buy(client)
        with pytest.raises(AssertionError):
            stub.assert_no_pending_responses()  # the second answer was not asked for


def test_an_answer_that_names_no_block_is_not_taken_for_one(client: Any) -> None:
    with Stubber(client) as stub:
        stub.add_response("purchase_capacity_block", {}, EXPECTED)
        with pytest.raises(UnknownOutcomeError, match="names no reservation"):
            buy(client)


def test_an_answer_that_is_late_leaves_it_unknown() -> None:
    class Late:
        def purchase_capacity_block(self, **_: Any) -> None:
            raise ReadTimeoutError(endpoint_url="here")

    with pytest.raises(UnknownOutcomeError):
        buy(Late())


def test_offers_are_asked_for_by_hours_and_first_day() -> None:
    gateway = RecordedGateway(
        "us-east-2",
        {("ec2", "describe_capacity_block_offerings"): {"CapacityBlockOfferings": []}},
    )
    start = datetime(2026, 12, 1, tzinfo=UTC)
    asked = Asked(region="us-east-2", type="p5.48xlarge", count=4, days=7, start=start)
    assert list(offerings(gateway, asked)) == []
    assert gateway.asked[0][2] == {
        "InstanceType": "p5.48xlarge",
        "InstanceCount": 4,
        "CapacityDurationHours": 168,
        "StartDateRange": start,
    }


def test_offers_that_could_not_be_asked_for_are_unknown_and_not_none() -> None:
    denied = {("ec2", "describe_capacity_block_offerings"): refused("UnauthorizedOperation")}
    asked = Asked(region="us-east-2", type="p5.48xlarge", count=4, days=7)
    with pytest.raises(UnknownOutcomeError, match="DescribeCapacityBlockOfferings is denied"):
        offerings(RecordedGateway("us-east-2", denied), asked)


def test_a_reservation_that_is_not_there_is_none_and_one_not_read_is_unread() -> None:
    key = ("ec2", "describe_capacity_reservations")
    gone = {key: refused("InvalidCapacityReservationId.NotFound")}
    assert reservation(RecordedGateway("us-east-2", gone), "cr-1") is None
    denied = {key: refused("UnauthorizedOperation")}
    assert isinstance(reservation(RecordedGateway("us-east-2", denied), "cr-1"), Unread)


def test_a_group_gives_its_reservations_alone() -> None:
    arn = "arn:aws:ec2:us-east-2:123456789012"
    rows = [
        {"ResourceArn": f"{arn}:capacity-reservation/cr-0aa"},
        {"ResourceArn": f"{arn}:instance/i-0bb"},
    ]
    answers = {("resource-groups", "list_group_resources"): {"ResourceIdentifiers": rows}}
    assert members(RecordedGateway("us-east-2", answers), "g") == ["cr-0aa"]
