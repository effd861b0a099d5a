"""`muster catalog refresh`: what is asked is what AWS's own model allows, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.validate import validate_parameters

from muster.catalog import load_catalog
from muster.cli import catalog_refresh
from muster.cloud.clients import Clients
from muster.cloud.gateway import RecordedGateway
from tests.unit.catalog.price_answers import instance, product
from tests.unit.cli.test_cli import Command, muster, project

__all__ = ["muster", "project"]

ZONES = {"AvailabilityZones": [{"ZoneName": "us-east-2a", "ZoneId": "use2-az1"}]}
NOW = datetime(2026, 11, 20, tzinfo=UTC)
REFRESH = ("catalog", "refresh", "--region", "us-east-2", "--type", "p5.48xlarge")


def products(parameters: Mapping[str, Any]) -> dict[str, Any]:
    fields = {row["Field"]: row["Value"] for row in parameters["Filters"]}
    if fields.get("instanceType") == "p5.48xlarge":
        return {"PriceList": [instance()]}
    if fields.get("productFamily") == "NAT Gateway":
        shown = {"regionCode": fields["regionCode"], "usagetype": "USE2-NatGateway-Hours"}
        return {"PriceList": [product("0.045", family="NAT Gateway", **shown)]}
    return {"PriceList": []}


def answers(**changes: Any) -> dict[tuple[str, str], Any]:
    spot = {
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-2a",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": "21.5",
        "Timestamp": NOW,
    }
    offer = {
        "AvailabilityZone": "us-east-2a",
        "InstanceCount": 1,
        "CapacityBlockDurationHours": 24,
        "StartDate": NOW,
        "EndDate": NOW + timedelta(hours=24),
        "UpfrontFee": "996.672",
        "CurrencyCode": "USD",
    }
    return {
        ("ec2", "describe_availability_zones"): ZONES,
        ("ec2", "describe_spot_price_history"): {"SpotPriceHistory": [spot]},
        ("ec2", "describe_capacity_block_offerings"): {"CapacityBlockOfferings": [offer]},
        ("pricing", "get_products"): products,
        **{tuple(key.split("__", 1)): value for key, value in changes.items()},  # type: ignore[misc]  # two parts by the keys' form
    }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RecordedGateway]:
    return record(monkeypatch, answers())


def record(
    monkeypatch: pytest.MonkeyPatch, found: Mapping[tuple[str, str], Any]
) -> list[RecordedGateway]:
    made: list[RecordedGateway] = []

    def gateway(clients: Clients) -> RecordedGateway:
        made.append(RecordedGateway(clients.region, found))
        return made[-1]

    monkeypatch.setattr(catalog_refresh, "AwsGateway", gateway)
    return made


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetProducts")


def test_prices_are_read_written_and_shown(
    project: Path, muster: Command, asked: list[RecordedGateway]
) -> None:
    status, out, _ = muster(*REFRESH, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["taken"] == [
        "p5.48xlarge on_demand",
        "natGateway",
        "p5.48xlarge spot in use2-az1",
        "p5.48xlarge capacity_block in use2-az1",
    ]
    assert Path(document["file"]) == project / "stacks/prices/us-east-2.yaml"
    shown = json.loads(muster("catalog", "show", "p5.48xlarge", "--json")[1])
    prices = shown["regionPrices"]["us-east-2"]
    assert prices["capacity_block"]["use2-az1"]["usd"] == 41.528
    assert [gateway.region for gateway in asked] == ["us-east-2", "us-east-1"]


def test_what_is_asked_is_what_the_services_own_models_allow(
    muster: Command, asked: list[RecordedGateway]
) -> None:
    assert muster(*REFRESH)[0] == 0
    questions = [question for gateway in asked for question in gateway.asked]
    assert len(questions) > 10
    for service, operation, parameters in questions:
        model = boto3.client(service, region_name="us-east-1").meta
        shape = model.service_model.operation_model(
            model.method_to_api_mapping[operation]
        ).input_shape
        validate_parameters(parameters, shape)


def test_what_aws_does_not_state_is_unknown_by_name(
    muster: Command, asked: list[RecordedGateway]
) -> None:
    assert asked == []
    _, out, _ = muster(*REFRESH)
    assert "unknown  eksControlPlane: the price list has no such product" in out


def test_a_denied_price_list_leaves_the_other_prices(
    muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(monkeypatch, answers(pricing__get_products=refused("AccessDeniedException")))
    status, out, _ = muster(*REFRESH, "--json")
    document = json.loads(out)
    assert status == 0
    assert "p5.48xlarge spot in use2-az1" in document["taken"]
    why = {row["what"]: row["why"] for row in document["unknown"]}
    assert why["p5.48xlarge on_demand"] == "pricing:GetProducts is denied"


def test_without_credentials_nothing_is_written(
    project: Path, muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(monkeypatch, answers(ec2__describe_availability_zones=NoCredentialsError()))
    status, out, err = muster(*REFRESH)
    assert (status, out) == (3, "")
    assert "no AWS credentials" in err
    assert not (project / "stacks/prices").exists()


def test_where_nothing_could_be_read_the_outcome_is_unknown(
    project: Path, muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = refused("UnauthorizedOperation")
    gone = {
        "pricing__get_products": {"PriceList": []},
        "ec2__describe_spot_price_history": denied,
        "ec2__describe_capacity_block_offerings": denied,
    }
    record(monkeypatch, answers(**gone))
    status, _, err = muster(*REFRESH)
    assert status == 3
    assert "no price could be read" in err
    assert not (project / "stacks/prices").exists()


def test_a_price_that_jumped_is_told_and_taken_only_when_accepted(
    muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = {"PriceList": [instance("5504")]}
    record(monkeypatch, answers(pricing__get_products=dear))
    status, out, _ = muster(*REFRESH)
    assert status == 1
    assert "NOT TAKEN  p5.48xlarge on_demand: 55.04 -> 5504 USD" in out
    status, out, _ = muster(*REFRESH, "--accept-jumps")
    assert status == 0
    assert "NOT TAKEN" not in out


def test_the_shipped_catalog_is_never_written_to(
    muster: Command, asked: list[RecordedGateway]
) -> None:
    assert asked == []
    before = load_catalog()
    assert muster(*REFRESH)[0] == 0
    assert load_catalog() is before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("catalog", "refresh"), "Give --region"),
        ((*REFRESH[:4], "--type", "p5.48xlarg"), "p5.48xlarge"),
    ],
)
def test_wrong_usage_says_what_to_write(
    muster: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    status, _, err = muster(*words)
    assert status == 2
    assert told in err
