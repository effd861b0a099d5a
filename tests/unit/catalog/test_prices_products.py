"""A price is taken where the answer states one, and only one; all else is unknown."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog.prices_products import (
    Found,
    NoPrice,
    Price,
    block_prices,
    listed_price,
    spot_prices,
)
from muster.catalog.prices_queries import load_price_queries
from tests.unit.catalog.price_answers import instance, product

QUERIES = load_price_queries()
P5 = QUERIES.instance.of_type("p5.48xlarge").in_region("us-east-2")
NAT = QUERIES.items["natGateway"].in_region("us-east-2")
BUCKET = QUERIES.items["s3.standard"].in_region("us-east-2")
ZONES = {"us-east-2a": "use2-az1", "us-east-2b": "use2-az2"}
DAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def why(found: Found) -> str:
    assert isinstance(found, NoPrice)
    return found.why


def test_one_product_with_one_price_is_taken_with_the_day_it_was_published() -> None:
    assert listed_price([instance()], P5) == Price(55.04, date(2026, 11, 18))


def test_the_same_product_on_two_pages_is_one() -> None:
    assert listed_price([instance(), instance()], P5) == Price(55.04, date(2026, 11, 18))


def test_a_capacity_block_under_the_same_name_is_passed_over() -> None:
    block = instance("0.0", sku="SKU2", marketoption="CapacityBlock")
    assert listed_price([block, instance()], P5) == Price(55.04, date(2026, 11, 18))


def test_a_product_of_another_family_is_passed_over() -> None:
    other = product("0.045", family="Other", usagetype="NatGateway-Hours", regionCode="us-east-2")
    assert "no such product" in why(listed_price([other], NAT))


def test_a_regional_nat_gateway_is_not_taken_for_a_zonal_one() -> None:
    zonal: dict[str, Any] = {"family": "NAT Gateway", "regionCode": "us-east-2"}
    regional = product("0.1", sku="R", usagetype="USE2-RegionalNatGateway-Hours", **zonal)
    plain = product("0.045", sku="Z", usagetype="USE2-NatGateway-Hours", **zonal)
    assert listed_price([regional, plain], NAT) == Price(0.045, date(2026, 11, 18))


@pytest.mark.parametrize(
    ("products", "told"),
    [
        ([], "no such product"),
        ([instance(instanceType="p4d.24xlarge")], "no such product"),
        ([instance(regionCode="us-east-1")], "no such product"),
        ([instance(usagetype="USE2-UnusedBox:p5.48xlarge")], "no such product"),
        ([instance(), instance("60", sku="SKU2")], "2 products fit: SKU1, SKU2"),
        ([instance(), instance("60")], "2 prices for one product"),
        ([instance(terms=2)], "2 on-demand terms"),
        ([instance(terms=0)], "0 on-demand terms"),
        ([instance(unit="Quantity")], "per 'Quantity', not per hour"),
        ([instance("0.0000000000")], "no price above 0"),
        ([instance("NaN")], "no price above 0"),
        ([instance("-1")], "no price above 0"),
        (["{"], "not JSON"),
        (["[]"], "no mapping"),
        (["{}"], "no mapping"),
    ],
)
def test_what_is_missing_or_doubled_is_unknown_and_says_why(products: list[str], told: str) -> None:
    assert told in why(listed_price(products, P5))


def test_tiers_are_ambiguous_but_where_the_first_is_asked_for() -> None:
    rates = {
        f"R{begin}": {"unit": "GB-Mo", "beginRange": begin, "pricePerUnit": {"USD": usd}}
        for begin, usd in (("0", "0.023"), ("51200", "0.022"))
    }
    fields: dict[str, Any] = {"storageClass": "General Purpose", "volumeType": "Standard"}
    tiered = product(
        rates=rates, usagetype="USE2-TimedStorage-ByteHrs", regionCode="us-east-2", **fields
    )
    first = listed_price([tiered], BUCKET)
    assert isinstance(first, Price)
    assert (first.usd, first.note) == (0.023, "up to the first tier")
    unasked = BUCKET.model_copy(update={"first_tier": False})
    assert "2 prices" in why(listed_price([tiered], unasked))


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_answer_breaks_the_reading(answer: Any) -> None:
    assert isinstance(listed_price([json.dumps(answer)], P5), NoPrice)


@given(st.data())
def test_a_product_with_any_part_replaced_never_gives_another_price(data: st.DataObject) -> None:
    document = json.loads(instance())
    place = data.draw(st.sampled_from(["product", "terms", "publicationDate"]))
    junk = st.none() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text())
    document[place] = data.draw(junk)
    assert isinstance(listed_price([json.dumps(document)], P5), NoPrice)


def spot(usd: str, zone: str = "us-east-2a", minutes: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "AvailabilityZone": zone,
        "InstanceType": "p5.48xlarge",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": usd,
        "Timestamp": NOON + timedelta(minutes=minutes),
        **changes,
    }


def test_the_newest_spot_price_of_each_zone_counts_whatever_the_order() -> None:
    rows = [spot("20.1", minutes=-5), spot("21.5"), spot("9", "us-east-2b"), spot("1", minutes=-9)]
    found = {"use2-az1": Price(21.5, DAY), "use2-az2": Price(9, DAY)}
    assert spot_prices(rows, "p5.48xlarge", ZONES) == found
    assert spot_prices(rows[::-1], "p5.48xlarge", ZONES) == found


def test_two_spot_prices_of_one_moment_are_unknown() -> None:
    (found,) = spot_prices([spot("20"), spot("21")], "p5.48xlarge", ZONES).values()
    assert "2 spot prices of one moment" in why(found)


def test_spot_prices_of_windows_other_types_and_strange_zones_are_passed_over() -> None:
    rows = [
        spot("1", ProductDescription="Windows"),
        spot("1", InstanceType="p4d.24xlarge"),
        spot("1", "us-east-2-dfw-1a"),
        spot("nothing"),
        spot("1", Timestamp=None),
    ]
    assert spot_prices(rows, "p5.48xlarge", ZONES) == {}


def offer(fee: str, count: int = 1, hours: int = 24, **changes: Any) -> dict[str, Any]:
    return {
        "AvailabilityZone": "us-east-2a",
        "InstanceCount": count,
        "CapacityBlockDurationHours": hours,
        "StartDate": NOON,
        "EndDate": NOON + timedelta(hours=hours),
        "UpfrontFee": fee,
        "CurrencyCode": "USD",
        **changes,
    }


def test_a_block_costs_its_fee_by_the_instance_hour() -> None:
    offers = [offer("996.67"), offer("1993.34", count=2)]
    assert block_prices(offers, ZONES, DAY) == {"use2-az1": Price(41.527917, DAY)}


@pytest.mark.parametrize("changes", [{"CapacityBlockDurationMinutes": 24 * 60}, {}])
def test_the_minutes_of_a_block_are_not_counted_twice(changes: dict[str, Any]) -> None:
    (found,) = block_prices([offer("240", **changes)], ZONES, DAY).values()
    assert found == Price(10, DAY)


def test_minutes_on_top_of_the_hours_count() -> None:
    end: dict[str, Any] = {
        "CapacityBlockDurationMinutes": 30,
        "EndDate": NOON + timedelta(hours=24, minutes=30),
    }
    (found,) = block_prices([offer("245", **end)], ZONES, DAY).values()
    assert found == Price(10, DAY)


def test_offerings_that_disagree_by_more_than_a_cent_are_unknown() -> None:
    (found,) = block_prices([offer("996.67"), offer("1200")], ZONES, DAY).values()
    assert "41.53 to 50.00" in why(found)


def test_an_offering_that_does_not_say_enough_is_passed_over() -> None:
    bad = [
        offer("0"),
        offer("5", CurrencyCode="CNY"),
        offer("5", AvailabilityZone="elsewhere"),
        offer("5", hours=0),
        offer("5", EndDate=NOON + timedelta(hours=25)),
        {"AvailabilityZone": "us-east-2a", "UpfrontFee": "5"},
    ]
    assert block_prices(bad, ZONES, DAY) == {}


@given(
    rate=st.decimals("0.01", "1000", places=3),
    sizes=st.lists(st.tuples(st.integers(1, 64), st.integers(1, 182)), min_size=1, max_size=6),
)
def test_the_hourly_price_comes_back_from_fees_rounded_to_the_cent(
    rate: Any, sizes: list[tuple[int, int]]
) -> None:
    offers = [
        offer(f"{max(rate * count * days * 24, 1):.2f}", count, days * 24)
        for count, days in sizes
        if rate * count * days * 24 >= 1
    ]
    for found in block_prices(offers, ZONES, DAY).values():
        assert isinstance(found, Price)
        assert abs(found.usd - float(rate)) <= 0.01 / 24
