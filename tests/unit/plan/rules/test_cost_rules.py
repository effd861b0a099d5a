"""Cost: what is above the budget, or could be, is told before it is spent."""

from __future__ import annotations

from dataclasses import replace

from muster.plan.price import price_of
from muster.plan.rules.cost import RULES
from muster.plan.rules.model import Said, View
from muster.spec import Budget
from tests.unit.plan.rules.views import (
    FAIL,
    PASS,
    UNKNOWN,
    cluster,
    only,
    pool,
    says,
    view,
    with_plan,
)


def priced() -> View:
    """Return a stack of which every price is known."""
    found = view(cluster(pool()))
    network = replace(found.plan.network, public_cidr=None)
    found = with_plan(found, head=None, network=network)
    assert not price_of(found.plan, found.catalog).unknown
    return found


def spot() -> View:
    found = priced()
    capacity = replace(found.plan.pools[0].capacity, buying="spot")
    second = replace(found.plan.pools[0], name="cheap", capacity=capacity)
    found = with_plan(found, pools=(*found.plan.pools, second))
    assert price_of(found.plan, found.catalog).unknown
    return found


def within(found: View, usd: float | None) -> Said:
    budget = None if usd is None else Budget.model_validate({"maxHourlyUsd": usd})
    spec = found.spec.model_copy(update={"budget": budget})
    return only(RULES, "budget", replace(found, spec=spec))


def test_plan_that_costs_as_much_as_the_budget_passes() -> None:
    found = priced()
    assert within(found, price_of(found.plan, found.catalog).hourly_usd).outcome is PASS


def test_plan_above_the_budget_fails_with_both_figures() -> None:
    said = within(priced(), 100.0)
    assert (said.outcome, said.severity) == (FAIL, "error")
    assert "110.08" in said.what
    assert "100.00" in said.what


def test_unknown_price_makes_it_unknown_and_is_named() -> None:
    said = within(spot(), 1000.0)
    assert said.outcome is UNKNOWN
    assert "pool cheap" in said.what


def test_known_part_above_the_budget_fails_whatever_the_rest_costs() -> None:
    assert within(spot(), 100.0).outcome is FAIL


def test_no_budget_is_a_warning() -> None:
    said = within(priced(), None)
    assert (said.outcome, said.severity) == (FAIL, "warning")


def test_training_nodes_on_demand_are_a_warning_with_their_price() -> None:
    said = only(RULES, "idle-cost", priced())
    assert (said.outcome, said.severity) == (FAIL, "warning")
    assert "110.08 USD per hour" in said.what


def test_reserved_training_nodes_pass() -> None:
    reserved = pool(capacity={"reservation": "cr-0123456789abcdef0"})
    assert only(RULES, "idle-cost", view(cluster(reserved))).outcome is PASS


def test_other_nodes_on_demand_are_nobodys_worry() -> None:
    assert not says(RULES, "idle-cost", view(cluster(pool(type="m7i.4xlarge"))))
