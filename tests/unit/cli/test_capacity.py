"""`muster capacity`: every reason not to buy has its test, and so has buying."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from muster.plan.buying import Offer, read_offers, snippet
from tests.unit.cli.block_cloud import BLOCK, OFFER, START, Cloud, block, cloud, offer
from tests.unit.cli.test_catalog_refresh import refused
from tests.unit.cli.test_cli import Command, muster, project, write_spec
from tests.unit.cli.test_plan import example

__all__ = ["cloud", "muster", "project"]

WANTED = ("--type", "p5.48xlarge", "--count", "4", "--days", "7")
LIST = ("capacity", "offers", *WANTED, "--region", "us-east-2")
BUY = ("capacity", "buy", OFFER, "--max-upfront-usd", "30000", "--yes")


@pytest.fixture
def listed(muster: Command, cloud: Cloud) -> Cloud:
    assert muster(*LIST)[0] == 0
    return cloud


def test_offers_are_listed_with_zone_time_and_price(muster: Command, cloud: Cloud) -> None:
    cloud.offers.append(offer(CapacityBlockOfferingId="cb-2", UpfrontFee="20000"))
    status, out, _ = muster(*LIST, "--json")
    found = json.loads(out)["offers"]
    assert status == 0
    assert [row["offer"] for row in found] == ["cb-2", OFFER]
    assert found[1] == {
        "offer": OFFER,
        "type": "p5.48xlarge",
        "count": 4,
        "zone": "us-east-2a",
        "zoneId": "use2-az1",
        "start": "2026-12-01T11:30Z",
        "end": "2026-12-08T11:30Z",
        "upfrontUsd": 27906.816,
        "usdPerInstanceHour": 41.528,
    }


def test_offers_of_another_zone_are_left_out(muster: Command, cloud: Cloud) -> None:
    assert cloud.offers
    status, out, _ = muster(*LIST, "--zone-id", "use2-az3", "--json")
    assert (status, json.loads(out)["offers"]) == (1, [])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"CurrencyCode": "EUR"}, "EUR"),
        ({"UpfrontFee": "0"}, "not state all"),
        ({"UpfrontFee": "NaN"}, "not state all"),
        ({"EndDate": None}, "not state all"),
        ({"CapacityBlockOfferingSegments": [{}, {}]}, "several segments"),
    ],
)
def test_an_offer_that_is_not_understood_in_full_cannot_be_bought(
    muster: Command, cloud: Cloud, changes: dict[str, Any], told: str
) -> None:
    cloud.offers = [offer(**changes)]
    status, out, _ = muster(*LIST, "--json")
    assert status == 1
    assert told in json.loads(out)["leftOut"][0]
    assert muster(*BUY)[0] == 2
    assert cloud.bought == []


def test_a_block_is_bought_once_and_the_spec_for_it_is_printed(
    project: Path, muster: Command, listed: Cloud
) -> None:
    status, out, err = muster(*BUY)
    assert (status, err) == (0, "")
    assert f'capacity: {{block: {BLOCK}, ends: "2026-12-08T11:30Z"}}' in out
    (bought,) = listed.bought
    assert bought["CapacityBlockOfferingId"] == OFFER
    lines = (project / "store/capacity/purchases.jsonl").read_text().splitlines()
    assert [json.loads(line)["state"] for line in lines] == ["sent", "bought"]


def test_the_printed_spec_is_one_that_a_plan_reads(project: Path, muster: Command) -> None:
    (found,), _ = read_offers([offer()], {"us-east-2a": "use2-az1"})
    assert isinstance(found, Offer)
    pools = yaml.safe_load(snippet(found, BLOCK))["pools"]
    write_spec(project, example(pools=pools), "prod")
    status, _, err = muster("plan", "prod", "--offline")
    assert status != 2, err


def test_the_id_that_aws_gives_the_offer_now_is_the_one_bought(
    muster: Command, listed: Cloud
) -> None:
    listed.offers = [offer(CapacityBlockOfferingId="cb-new")]
    assert muster(*BUY)[0] == 0
    assert listed.bought[0]["CapacityBlockOfferingId"] == "cb-new"


Change = Callable[[Cloud], None]


def _gone(cloud: Cloud) -> None:
    cloud.offers = []


def _shorter(cloud: Cloud) -> None:
    cloud.offers = [offer(EndDate=START + timedelta(days=6), CapacityBlockDurationHours=144)]


def _dearer(cloud: Cloud) -> None:
    cloud.offers = [offer(UpfrontFee="28000")]


def _cheaper(cloud: Cloud) -> None:
    cloud.offers = [offer(UpfrontFee="1.00")]


def _just_bought(cloud: Cloud) -> None:
    cloud.reservations = [block(CreateDate=datetime.now(UTC) - timedelta(minutes=50))]


def _of_unknown_age(cloud: Cloud) -> None:
    cloud.reservations = [block()]


def _blind(cloud: Cloud) -> None:
    cloud.unread = refused("UnauthorizedOperation")


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        (_gone, 1, "no longer offers it"),
        (_shorter, 1, "no longer offers it"),
        (_dearer, 1, "fee changed from 27,906.82 to 28,000.00"),
        (_cheaper, 1, "fee changed"),
        (_just_bought, 1, "not an hour old"),
        (_of_unknown_age, 1, "not an hour old"),
        (_blind, 3, "DescribeCapacityReservations is denied"),
    ],
)
def test_nothing_is_bought_where_anything_speaks_against_it(
    muster: Command, listed: Cloud, change: Change, status: int, told: str
) -> None:
    change(listed)
    found, out, err = muster(*BUY)
    assert (found, out) == (status, "")
    assert told in err
    assert listed.bought == []


def test_nothing_above_the_limit_is_bought(muster: Command, listed: Cloud) -> None:
    words = ("capacity", "buy", OFFER, "--max-upfront-usd", "27906.81", "--yes")
    status, _, err = muster(*words)
    assert status == 1
    assert "above --max-upfront-usd" in err
    assert listed.bought == []


@pytest.mark.parametrize(
    "reservation",
    [
        block(CreateDate=datetime(2026, 1, 1, tzinfo=UTC)),
        block(TotalInstanceCount=8),
        block(State="payment-failed"),
        block(EndDate=START),
        block(AvailabilityZone="us-east-2b"),
        block(ReservationType="default"),
    ],
)
def test_another_block_or_an_old_one_is_no_second_purchase(
    muster: Command, listed: Cloud, reservation: dict[str, Any]
) -> None:
    listed.reservations = [reservation]
    assert muster(*BUY)[0] == 0


def test_bought_twice_only_when_told_so(muster: Command, listed: Cloud) -> None:
    assert muster(*BUY)[0] == 0
    assert muster(*BUY)[0] == 1
    assert len(listed.bought) == 1
    assert muster(*BUY, "--again")[0] == 0
    assert len(listed.bought) == 2


def test_what_aws_does_not_show_yet_is_not_bought_again(muster: Command, listed: Cloud) -> None:
    assert muster(*BUY)[0] == 0
    listed.reservations = []
    status, _, err = muster(*BUY)
    assert status == 1
    assert "it was bought at" in err
    assert len(listed.bought) == 1


def test_a_purchase_without_an_answer_is_not_repeated(muster: Command, listed: Cloud) -> None:
    broken = {"Error": {"Code": "InternalError"}, "ResponseMetadata": {"HTTPStatusCode": 500}}
    listed.refuses = ClientError(broken, "PurchaseCapacityBlock")
    status, _, err = muster(*BUY)
    assert status == 3
    assert "not known whether it was bought" in err
    listed.refuses = None
    status, _, err = muster(*BUY)
    assert status == 3
    assert "its end is not known" in err
    assert len(listed.bought) == 1


def test_after_a_refusal_it_may_be_tried_again(muster: Command, listed: Cloud) -> None:
    answer = {"Error": {"Code": "InsufficientFunds"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    listed.refuses = ClientError(answer, "PurchaseCapacityBlock")
    assert muster(*BUY)[0] == 1
    listed.refuses = None
    assert muster(*BUY)[0] == 0


def test_a_record_that_cannot_be_read_is_no_clean_slate(
    project: Path, muster: Command, listed: Cloud
) -> None:
    (project / "store/capacity/purchases.jsonl").write_text("{\n")
    status, _, err = muster(*BUY)
    assert status == 3
    assert "cannot be ruled out" in err
    assert listed.bought == []


def test_a_block_that_differs_from_its_offer_is_told_and_fails(
    muster: Command, listed: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"CapacityReservation": block(TotalInstanceCount=3)}
    monkeypatch.setattr(listed, "purchase_capacity_block", lambda **_: other)
    status, out, err = muster(*BUY)
    assert status == 1
    assert "count is 3, not 4" in err
    assert BLOCK in out


def test_without_a_person_and_without_yes_nothing_is_bought(
    muster: Command, listed: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    status, _, err = muster(*BUY[:-1])
    assert status == 2
    assert "nobody is there to confirm" in err
    assert listed.bought == []


@pytest.mark.parametrize(("answer", "bought"), [(True, 1), (False, 0)])
def test_a_person_is_shown_what_and_asked(
    muster: Command,
    listed: Cloud,
    monkeypatch: pytest.MonkeyPatch,
    answer: bool,
    bought: int,
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: answer)
    status, _, err = muster(*BUY[:-1])
    assert status == (0 if answer else 1)
    assert "4 x p5.48xlarge in use2-az1 from 2026-12-01T11:30Z to 2026-12-08T11:30Z" in err
    assert "27,906.82 USD, charged now" in err
    assert len(listed.bought) == bought


def test_yes_alone_does_not_buy(muster: Command, listed: Cloud) -> None:
    assert muster("capacity", "buy", OFFER, "--yes")[0] == 2
    assert listed.bought == []


def test_an_offer_that_was_not_listed_is_not_bought(muster: Command, cloud: Cloud) -> None:
    status, _, err = muster(*BUY)
    assert status == 2
    assert "muster capacity offers" in err
    assert cloud.bought == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--type", "p5.48xlarg", "--count", "4", "--days", "7"), "p5.48xlarge"),
        (("--type", "p6e-gb200.36xlarge", "--count", "4", "--days", "7"), "UltraServers"),
        (("--type", "p5.48xlarge", "--count", "65", "--days", "7"), "at most 64"),
        (("--type", "p5.48xlarge", "--count", "4", "--days", "183"), "at most 182"),
    ],
)
def test_what_cannot_be_had_is_refused_before_aws_is_asked(
    muster: Command, words: tuple[str, ...], told: str
) -> None:
    status, _, err = muster("capacity", "offers", *words, "--region", "us-east-2")
    assert status == 2
    assert told in err
