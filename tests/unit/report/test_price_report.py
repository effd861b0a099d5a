"""What a person reads of price and power."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muster.catalog import load_catalog
from muster.plan.aws.model import AwsPlan
from muster.plan.power import power_of
from muster.plan.price import price_of
from muster.report.price import price_as_markdown, price_as_text
from tests.conftest import Golden
from tests.unit.plan.aws_plans import head, lustre, network, plan, pool

Form = Callable[[AwsPlan], str]
FULL = plan(
    pool("p5.48xlarge", "reservation", count=16, spares=1),
    pool("p6-b300.48xlarge", "block", count=4),
    pool("m7i.4xlarge", "spot"),
    head=head(),
    file_systems=(lustre(),),
    network=network(public_cidr="10.0.255.240/28"),
)


def text(wish: AwsPlan) -> str:
    return price_as_text(price_of(wish, load_catalog()), power_of(wish))


def markdown(wish: AwsPlan) -> str:
    return price_as_markdown(price_of(wish, load_catalog()), power_of(wish))


each_form = pytest.mark.parametrize("form", [text, markdown])


def test_price_as_text_is_as_reviewed(golden: Golden) -> None:
    golden("price/full.txt", text(FULL))


def test_price_as_markdown_is_as_reviewed(golden: Golden) -> None:
    golden("price/full.md", markdown(FULL))


@each_form
def test_an_unknown_price_is_called_unknown_and_never_nothing(form: Form) -> None:
    said = form(plan(pool(buying="spot")))
    assert "price unknown, so not in the sum: pool spot" in said
    assert "0.00" not in said


@each_form
def test_a_sum_with_something_unknown_says_that_more_comes_on_top(form: Form) -> None:
    assert "on top what is unknown" in form(plan(pool(), pool(buying="spot")))
    assert "on top what is unknown" not in form(plan(pool()))


@each_form
def test_an_unknown_power_is_called_unknown(form: Form) -> None:
    said = form(plan(pool("p6-b300.48xlarge")))
    assert "power unknown, so not in the sum: ondemand" in said
    assert "0.0 kW" not in said


@each_form
def test_the_hourly_share_of_a_block_says_that_it_was_paid(form: Form) -> None:
    assert "paid up front" in form(plan(pool(buying="block")))


@each_form
def test_a_stack_of_storage_alone_shows_no_power(form: Form) -> None:
    said = form(plan(file_systems=(lustre(),)))
    assert "kW" not in said
    assert "file system /fsx" in said
