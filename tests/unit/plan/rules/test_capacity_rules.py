"""What is bought: each rule passes, fails and does not know where it should."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plan.aws.model import CapacityPlan
from muster.plan.rules import capacity, quotas, reservations
from muster.plan.rules.model import Said, View
from tests.unit.plan.rules.views import (
    FAIL,
    NOW,
    PASS,
    UNKNOWN,
    cluster,
    only,
    pool,
    says,
    view,
    with_plan,
    with_pool,
)

RULES = (*capacity.RULES, *reservations.RULES, *quotas.RULES)
RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"


def reserved(name: str = "train", **more: Any) -> dict[str, Any]:
    return pool(name, capacity={"reservation": RESERVATION}, **more)


def block(
    name: str = "train", ends: str | None = "2026-12-01T11:30Z", **more: Any
) -> dict[str, Any]:
    capacity = {"block": RESERVATION, **({"ends": ends} if ends else {})}
    return pool(name, capacity=capacity, **more)


def ultraservers(count: int) -> dict[str, Any]:
    return block(type="p6e-gb200.36xlarge", count=count)


def block_ending(left: timedelta) -> View:
    """A block of p5 that is usable for that long."""
    found = view(cluster(block()))
    capacity = replace(found.plan.pools[0].capacity, ends=NOW + left + timedelta(minutes=40))
    return with_pool(found, capacity=capacity)


def one(name: str, *pools: dict[str, Any]) -> Said:
    return only(RULES, name, view(cluster(*pools)))


def test_whether_the_zone_offers_the_types_is_asked_once_for_all_pools_and_the_head() -> None:
    said = one("zone-offers-types", pool(), pool("cpu", type="m7i.4xlarge"))
    assert said.outcome is UNKNOWN
    assert "m7i.2xlarge, m7i.4xlarge, p5.48xlarge" in said.what
    assert "describe-instance-type-offerings" in said.do
    assert "Name=location,Values=use2-az1" in said.do


def test_a_stack_of_no_nodes_asks_nothing_of_the_zone() -> None:
    found = with_plan(view(cluster(pool())), pools=(), head=None)
    assert [says(RULES, rule.id, found) for rule in RULES] == [()] * len(RULES)


def test_whether_a_reservation_is_usable_is_unknown_and_the_command_is_given() -> None:
    said = one("reservation-usable", reserved())
    assert (said.outcome, said.path) == (UNKNOWN, "pools[0].capacity.reservation")
    assert f"--capacity-reservation-ids {RESERVATION}" in said.do


def test_a_resource_group_is_looked_at_by_its_arn_quoted() -> None:
    found = with_pool(
        view(cluster(pool())), capacity=CapacityPlan(buying="resourceGroup", id=f"{GROUP};x")
    )
    said = only(RULES, "reservation-usable", found)
    assert said.path == "pools[0].capacity.resourceGroup"
    assert f"list-group-resources --group '{GROUP};x'" in said.do


def test_one_reservation_for_two_types_fails() -> None:
    said = one("reservation-usable", reserved(), reserved("more", type="p5en.48xlarge"))
    assert said.outcome is FAIL
    assert "p5.48xlarge, p5en.48xlarge" in said.what


def test_one_id_as_reservation_and_as_block_fails() -> None:
    said = one("reservation-usable", reserved(), block("more"))
    assert said.outcome is FAIL
    assert "as block and as reservation" in said.what


def test_pools_bought_on_demand_say_nothing_of_reservations() -> None:
    found = view(cluster(pool()))
    assert says(RULES, "reservation-usable", found) == ()
    assert says(RULES, "reservation-size", found) == ()


def test_the_nodes_of_all_pools_in_a_reservation_are_summed_with_spares() -> None:
    said = one("reservation-size", reserved(count=16, spares=1), reserved("more", count=3))
    assert said.outcome is UNKNOWN
    assert "20 nodes of train, more" in said.what


@pytest.mark.parametrize(("count", "outcome"), [(32, UNKNOWN), (33, FAIL)])
def test_pools_of_more_than_64_nodes_in_one_block_fail(count: int, outcome: str) -> None:
    said = one("reservation-size", block(count=32), block("more", count=count))
    assert said.outcome == outcome


def test_a_block_with_days_left_passes_and_says_until_when_it_is_usable() -> None:
    said = one("block-time", block())
    assert said.outcome is PASS
    assert "usable until 2026-12-01 10:50 UTC" in said.what


def test_an_ultraserver_is_ended_half_an_hour_earlier() -> None:
    assert "usable until 2026-12-01 10:20 UTC" in one("block-time", ultraservers(9)).what


def test_a_block_whose_end_is_not_given_is_unknown() -> None:
    said = one("block-time", block(ends=None))
    assert said.outcome is UNKNOWN
    assert "EndDate" in said.do


@pytest.mark.parametrize(
    ("left", "outcome", "severity"),
    [
        (timedelta(0), FAIL, "error"),
        (timedelta(minutes=59), FAIL, "error"),
        (timedelta(hours=1), FAIL, "warning"),
        (timedelta(hours=23, minutes=59), FAIL, "warning"),
        (timedelta(hours=24), PASS, "error"),
        (timedelta(days=237), PASS, "error"),
        (timedelta(days=239), FAIL, "error"),
    ],
)
def test_time_left_in_a_block(left: timedelta, outcome: str, severity: str) -> None:
    said = only(RULES, "block-time", block_ending(left))
    assert (said.outcome, said.severity) == (outcome, severity)


@given(st.integers(min_value=-(10**6), max_value=59))
def test_a_block_with_less_than_an_hour_left_never_passes(minutes: int) -> None:
    said = only(RULES, "block-time", block_ending(timedelta(minutes=minutes)))
    assert (said.outcome, said.severity) == (FAIL, "error")


def test_spares_in_a_block_fail() -> None:
    found = with_pool(view(cluster(block())), spares=1)
    said, time = says(RULES, "block-time", found)
    assert (said.outcome, said.path) == (FAIL, "pools[0].spares")
    assert time.outcome is PASS


def test_a_pool_without_a_block_says_nothing_of_its_end() -> None:
    assert says(RULES, "block-time", view(cluster(reserved()))) == ()


@pytest.mark.parametrize(
    ("count", "outcome"), [(8, FAIL), (9, PASS), (10, FAIL), (18, PASS), (27, PASS)]
)
def test_ultraservers_are_taken_whole(count: int, outcome: str) -> None:
    assert one("whole-domains", ultraservers(count)).outcome == outcome


def test_nodes_sold_one_by_one_have_no_domain() -> None:
    assert says(RULES, "whole-domains", view(cluster(pool()))) == ()


def test_types_bought_as_they_are_sold_pass_the_head_too() -> None:
    said = says(RULES, "sold-this-way", view(cluster(pool(), reserved("more"), block("last"))))
    assert [(each.outcome, each.path) for each in said] == [
        (PASS, "pools[0].capacity"),
        (PASS, "pools[1].capacity"),
        (PASS, "pools[2].capacity"),
        (PASS, "head.type"),
    ]


@pytest.mark.parametrize(
    ("purchase", "buying", "outcome"),
    [
        (("spot", "capacityBlock"), "onDemand", FAIL),
        (("spot", "capacityBlock"), "reservation", FAIL),
        (("spot", "capacityBlock"), "resourceGroup", FAIL),
        (("onDemand",), "spot", FAIL),
        (("onDemand",), "block", FAIL),
        (("spot",), "spot", PASS),
        (None, "onDemand", UNKNOWN),
    ],
)
def test_how_a_type_is_sold(purchase: Any, buying: Any, outcome: str) -> None:
    found = view(cluster(pool()))
    kind = found.plan.pools[0].type.model_copy(update={"purchase": purchase})
    found = with_pool(found, type=kind, capacity=CapacityPlan(buying=buying, id=RESERVATION))
    said, _head = says(RULES, "sold-this-way", found)
    assert said.outcome == outcome


def quota(name: str, *pools: dict[str, Any]) -> Said:
    found = says(RULES, "vcpu-quotas", view(cluster(*pools)))
    (said,) = (each for each in found if name in each.what)
    return said


def test_vcpus_are_summed_over_pools_by_quota_and_never_taken_for_granted() -> None:
    pools = [pool(count=16, spares=1), pool("more", type="p4d.24xlarge", count=2)]
    said = quota("Running On-Demand P instances", *pools)
    assert said.outcome is UNKNOWN
    assert f"{17 * 192 + 2 * 96} vCPUs" in said.what
    assert "--quota-code L-417A185B" in said.do


def test_the_head_counts_with_the_cpu_pools() -> None:
    said = quota("Standard", pool(), pool("cpu", type="m7i.4xlarge", count=3))
    assert f"{3 * 16 + 8} vCPUs" in said.what


def test_reserved_vcpus_and_those_in_blocks_are_told_apart() -> None:
    said = quota("On-Demand P", pool(count=1), reserved("two", count=2), block("three", count=3))
    assert "576 vCPUs, 384 of them in reservations, which may count already" in said.what
    assert "576 more if Capacity Blocks count, which is not confirmed" in said.what


def test_spot_has_quotas_of_its_own() -> None:
    said = quota("All P Spot", pool(capacity={"spot": True}))
    assert "384 vCPUs" in said.what
    assert "L-C4BD4855" in said.what
    assert "--quota-code L-7212CCBC" in said.do


def test_a_class_without_a_known_quota_is_unknown_too() -> None:
    said = quota("gr6.8xlarge", pool(type="gr6.8xlarge", count=2))
    assert said.outcome is UNKNOWN
    assert "64 vCPUs" in said.what
    assert "list-service-quotas" in said.do
