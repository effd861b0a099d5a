"""Prices read from AWS lie in their own files, come first, and show where they are from."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import CatalogError, load_catalog
from muster.catalog.prices_file import (
    RegionPrices,
    load_region_prices,
    write_region_prices,
)
from muster.catalog.prices_merge import Merged, Place, Reading, Region, merge, shipped_price
from muster.catalog.prices_products import NoPrice, Price
from muster.catalog.show import type_json, type_rows, type_text
from muster.spec_aws_rules import budget_covers_pools
from muster.spec_view import Facts, View

DAY = date(2026, 11, 21)
LATER = date(2026, 12, 1)
OHIO = Region(name="us-east-2", zones="use2", read=DAY)
P5 = Place("on_demand", "p5.48xlarge")
SPOT = Place("spot", "p5.48xlarge", "use2-az1")
NAT = Place("item", "natGateway")
READING: Reading = {
    P5: Price(55.04, DAY),
    SPOT: Price(21.5, DAY),
    NAT: Price(0.045, DAY),
    Place("capacity_block", "p5.48xlarge"): NoPrice("AWS offers none now"),
}


def merged(
    reading: Reading = READING,
    before: RegionPrices | None = None,
    *,
    region: Region = OHIO,
    jump: float = 5,
) -> Merged:
    types = load_catalog().types
    return merge(region, reading, before, lambda place: shipped_price(types, place), jump=jump)


def test_what_is_written_is_what_is_loaded(tmp_path: Path) -> None:
    prices = merged().prices
    write_region_prices(tmp_path, prices)
    assert load_region_prices(tmp_path) == (prices,)


def test_no_folder_and_no_project_mean_no_prices(tmp_path: Path) -> None:
    assert load_region_prices(tmp_path / "none") == ()
    assert load_region_prices(None) == ()


def test_what_could_not_be_read_says_why_and_is_not_written() -> None:
    found = merged()
    assert found.unknown == ((Place("capacity_block", "p5.48xlarge"), "AWS offers none now"),)
    assert not found.prices.instances["p5.48xlarge"].capacity_block


def test_what_was_asked_for_and_is_gone_is_taken_out_and_the_rest_stays() -> None:
    before = merged().prices
    after = merged({Place("spot", "p5.48xlarge"): NoPrice("AWS offers none now")}, before).prices
    assert not after.instances["p5.48xlarge"].spot
    assert after.instances["p5.48xlarge"].on_demand == before.instances["p5.48xlarge"].on_demand
    assert after.items == before.items


def test_a_price_that_stays_keeps_the_day_it_was_read() -> None:
    later = Region(name="us-east-2", zones="use2", read=LATER)
    after = merged({NAT: Price(0.05, LATER)}, merged().prices, region=later).prices
    assert after.item("natGateway")
    old = after.instances["p5.48xlarge"].on_demand
    assert old
    assert after.sources[old.source].read == DAY
    assert {source.read for source in after.sources.values()} == {DAY, LATER}


places = st.builds(
    Place,
    st.just("spot"),
    st.sampled_from(["p5.48xlarge", "p4d.24xlarge"]),
    st.sampled_from(["use2-az1", "use2-az2"]),
) | st.builds(Place, st.just("item"), st.sampled_from(["natGateway", "ebs.gp3"]), st.just(""))
prices = st.builds(Price, st.floats(0.001, 1000), st.just(DAY), st.just("")) | st.just(
    NoPrice("none")
)
readings = st.dictionaries(places, prices)


@given(readings, readings)
def test_reading_the_same_again_changes_nothing(first: Reading, second: Reading) -> None:
    once = merged(second, merged(first).prices).prices
    assert merged(second, once).prices == once


@given(readings, readings)
def test_no_price_moves_further_than_it_may(first: Reading, second: Reading) -> None:
    before = {where: row.usd for where, _, row in merged(first).prices.rows()}
    after = {where: row.usd for where, _, row in merged(second, merged(first).prices).prices.rows()}
    assert all(before[w] / 5 <= after[w] <= before[w] * 5 for w in before.keys() & after.keys())


@pytest.mark.parametrize("usd", [55.04 * 5.1, 55.04 / 5.1])
def test_a_price_that_jumped_is_not_taken(usd: float) -> None:
    before = merged().prices
    found = merged({P5: Price(usd, DAY)}, before)
    assert [jump.place for jump in found.jumped] == [P5]
    assert found.taken == ()
    assert found.prices == before


def test_a_first_price_far_from_the_catalogs_own_is_not_taken() -> None:
    found = merged({P5: Price(5504, DAY)})
    assert found.jumped[0].before == load_catalog().types["p5.48xlarge"].on_demand_usd_per_hour
    assert found.prices.instances == {}


def test_a_jump_that_is_accepted_is_taken() -> None:
    found = merged({P5: Price(5504, DAY)}, jump=math.inf)
    assert found.jumped == ()
    row = found.prices.instances["p5.48xlarge"].on_demand
    assert row
    assert row.usd == 5504


def test_catalog_show_names_the_region_and_source_of_what_was_read(tmp_path: Path) -> None:
    write_region_prices(tmp_path, merged().prices)
    catalog = load_catalog(prices=tmp_path)
    rows = {(row.value, row.source) for row in type_rows(catalog, "p5.48xlarge")}
    assert ("55.04 in us-east-2", "us-east-2-price-list-2026-11-21") in rows
    assert ("21.5 in use2-az1", "us-east-2-spot-2026-11-21") in rows
    assert "us-east-2-spot-2026-11-21: Amazon EC2" in type_text(catalog, "p5.48xlarge")
    document = type_json(catalog, "p5.48xlarge")
    assert document["regionPrices"]["us-east-2"]["on_demand"]["usd"] == 55.04
    assert "us-east-2-price-list-2026-11-21" in document["sources"]


def test_a_budget_is_judged_by_the_price_that_was_read(tmp_path: Path) -> None:
    write_region_prices(tmp_path, merged({P5: Price(100, DAY)}).prices)
    pool = {"name": "a", "type": "p5.48xlarge", "count": 2, "capacity": {"onDemand": True}}
    spec = {"target": "aws", "network": {"zoneId": "use2-az1"}, "pools": [pool]}
    facts = Facts(catalog=load_catalog(prices=tmp_path), today=DAY)

    def mistakes(usd: int) -> list[str]:
        wanted = View({**spec, "budget": {"maxHourlyUsd": usd}})
        return [mistake.what for mistake in budget_covers_pools(wanted, facts)]

    assert mistakes(200) == []
    assert "cost: 200.00 USD" in mistakes(199)[0]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("usd: 55.04", "usd: -1", "greater than 0"),
        ("usd: 55.04", "usd: .inf", "finite"),
        ("source: us-east-2-spot-2026-11-21", "source: nobody", "not listed"),
        ("use2-az1", "use1-az1", "is not of us-east-2"),
        ("region: us-east-2", "region: us-east-1", "holds prices of us-east-1"),
        ("natGateway", "natGatevay", "natGatevay"),
        ("as_of: '2026-11-21'", "as_of: '2027-01-01'", "after"),
    ],
)
def test_a_spoilt_file_does_not_load(tmp_path: Path, before: str, after: str, told: str) -> None:
    path = write_region_prices(tmp_path, merged().prices)
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(CatalogError, match=told) as error:
        load_catalog(prices=tmp_path)
    assert error.value.where == "us-east-2.yaml"
