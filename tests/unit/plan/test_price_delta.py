"""What a plan costs beside what is deployed, from the stack's exported state alone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import load_catalog
from muster.plan.aws.model import AwsPlan
from muster.plan.power import power_of
from muster.plan.price import price_of
from muster.plan.price_delta import NOT_READ, NOTHING, PoolDelta, PriceDelta, delta_of, deployed_in
from muster.report.price import price_as_document, price_as_markdown, price_as_text
from tests.unit.plan.aws_plans import plan, pool


def state(*resources: dict[str, Any], **outputs: Any) -> dict[str, Any]:
    stack = {"type": "pulumi:pulumi:Stack", "urn": "s", "outputs": outputs}
    return {"version": 3, "deployment": {"resources": [stack, *resources]}}


def group(pool_name: str, size: Any, **changes: Any) -> dict[str, Any]:
    tags = [{"key": "Name", "value": "x"}, {"key": "muster:pool", "value": pool_name}]
    inputs = {"tags": tags, "desiredCapacity": size}
    return {"type": "aws:autoscaling/group:Group", "inputs": inputs, **changes}


def delta(found: dict[str, Any], wish: AwsPlan) -> PriceDelta:
    return delta_of(deployed_in(found), wish, price_of(wish, load_catalog()))


def test_the_difference_is_planned_less_deployed_by_the_hour() -> None:
    found = delta(state(group("ondemand", 16), hourlyUsd=880.64), plan(pool(count=17)))
    assert found.usd is not None
    assert abs(found.usd - 55.04) < 1e-9
    assert found.pools == (PoolDelta("ondemand", 16, 17),)


def test_a_stack_without_resources_costs_nothing() -> None:
    assert deployed_in(state(hourlyUsd=5.0)) == NOTHING
    assert deployed_in({}) == NOTHING
    assert delta({}, plan(pool())).usd == 2 * 55.04


def test_a_stack_that_does_not_say_what_it_costs_is_unknown_and_not_free() -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    for usd in (None, "12", True, secret, float("nan")):
        found = delta(state(group("ondemand", 2), hourlyUsd=usd), plan(pool()))
        assert found.deployed_usd is None
        assert found.usd is None


def test_a_state_that_could_not_be_read_calls_no_pool_new() -> None:
    wish = plan(pool())
    found = delta_of(NOT_READ, wish, price_of(wish, load_catalog()))
    assert (found.deployed_usd, found.usd, found.pools) == (None, None, ())


def test_pools_that_come_and_go_are_named() -> None:
    found = delta(state(group("old", 4), hourlyUsd=1.0), plan(pool()))
    assert found.pools == (PoolDelta("ondemand", None, 2), PoolDelta("old", 4, None))


def test_what_only_waits_for_its_deletion_does_not_count() -> None:
    found = deployed_in(state(group("a", 3), group("a", 9, delete=True)))
    assert found.pools == {"a": 3}


def test_node_groups_of_kubernetes_count_as_pools() -> None:
    inputs = {"tags": {"muster:pool": "gpu"}, "scalingConfig": {"desiredSize": 5}}
    found = deployed_in(state({"type": "aws:eks/nodeGroup:NodeGroup", "inputs": inputs}))
    assert found.pools == {"gpu": 5}


def test_it_stands_first_in_text_markdown_and_json() -> None:
    wish = plan(pool(count=17))
    sheet, power = price_of(wish, load_catalog()), power_of(wish)
    found = delta(state(group("ondemand", 16), hourlyUsd=880.64), wish)
    line = "deployed 880.64 -> planned 935.68 USD/h (+55.04)"
    assert f"{line}\npool ondemand: 16 -> 17 instances" in price_as_text(sheet, power, found)
    assert f"### Price\n\n- {line}\n" in price_as_markdown(sheet, power, found)
    document = price_as_document(sheet, power, found)["delta"]
    assert document["deployedHourlyUsd"] == 880.64
    assert document["pools"] == [{"pool": "ondemand", "deployed": 16, "planned": 17}]


def test_json_names_the_source_of_each_price_and_each_way_of_buying() -> None:
    wish = plan(pool(count=2))
    document = price_as_document(price_of(wish, load_catalog()), power_of(wish))
    assert document["sources"]["price-list"]["as_of"] == "2026-07-28"
    (ways,) = document["pools"]
    assert (ways["onDemandHourlyUsd"], ways["spotHourlyUsd"]) == (110.08, None)
    assert ways["cheapestKnown"] == "Capacity Block"


def test_without_a_look_at_the_stack_nothing_is_said_of_it() -> None:
    wish = plan(pool())
    sheet, power = price_of(wish, load_catalog()), power_of(wish)
    assert "deployed" not in price_as_text(sheet, power)
    assert price_as_document(sheet, power)["delta"] is None


def test_an_unknown_line_of_the_plan_is_named_beside_the_difference() -> None:
    wish = plan(pool(buying="spot"))
    sheet, power = price_of(wish, load_catalog()), power_of(wish)
    found = delta(state(group("spot", 2)), wish)
    said = price_as_text(sheet, power, found)
    assert "deployed unknown -> planned 0.00 USD/h, and what is unknown" in said


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_state_breaks_the_reading_or_makes_up_a_price(junk: Any) -> None:
    for found in ({"deployment": junk}, {"deployment": {"resources": junk}}, state(junk)):
        assert deployed_in(found).hourly_usd in {None, NOTHING.hourly_usd}
    strange = deployed_in(state({"type": "aws:autoscaling/group:Group", "inputs": junk}))
    assert (strange.resources, strange.hourly_usd) == (1, None)
