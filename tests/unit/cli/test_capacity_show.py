"""`muster capacity show`: what is held, what is idle, and what it could not tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.block_cloud import BLOCK, Cloud, block, cloud
from tests.unit.cli.test_catalog_refresh import refused
from tests.unit.cli.test_cli import Command, muster, project, write_spec
from tests.unit.cli.test_plan import example

__all__ = ["cloud", "muster", "project"]

Show = Callable[..., tuple[int, list[dict[str, Any]]]]


@pytest.fixture
def show(project: Path, muster: Command) -> Show:
    """Show a stack whose one pool is bought in a way."""
    return lambda kind="block": _show(project, muster, kind)


def _show(project: Path, muster: Command, kind: str) -> tuple[int, list[dict[str, Any]]]:
    pool = {"name": "train", "type": "p5.48xlarge", "count": 4, "capacity": {kind: BLOCK}}
    write_spec(project, example(pools=[pool]), "prod")
    words = ("capacity", "show", "prod", "--region", "us-east-2", "--json")
    status, out, _ = muster(*words)
    rows: list[dict[str, Any]] = json.loads(out)["capacity"]
    return status, rows


def test_a_block_shows_what_runs_in_it_and_costs_no_more(show: Show, cloud: Cloud) -> None:
    cloud.reservations = [block()]
    status, (row,) = show()
    assert status == 0
    assert (row["used"], row["free"], row["idleUsdPerHour"]) == (3, 1, 0.0)
    assert row["end"] == "2026-12-08T11:30Z"


def test_what_is_free_in_a_reservation_costs_its_on_demand_price(show: Show, cloud: Cloud) -> None:
    cloud.reservations = [block(ReservationType="default", EndDate=None)]
    _, (row,) = show("reservation")
    assert row["idleUsdPerHour"] == 55.04


@pytest.mark.parametrize(
    ("rows", "status", "state"),
    [
        ([], 1, "not found"),
        ([block(State="expired")], 1, "expired"),
        ([block(State="scheduled")], 0, "scheduled"),
        ([block(State="assessing")], 3, "assessing"),
    ],
)
def test_the_exit_status_follows_the_worst_of_them(
    show: Show,
    cloud: Cloud,
    rows: list[dict[str, Any]],
    status: int,
    state: str,
) -> None:
    cloud.reservations = rows
    found, (row,) = show()
    assert (found, row["state"]) == (status, state)


def test_what_could_not_be_read_is_unknown(show: Show, cloud: Cloud) -> None:
    cloud.unread = refused("UnauthorizedOperation")
    status, (row,) = show()
    assert (status, row["state"], row["free"]) == (3, "unknown", None)


def test_a_stack_that_names_nothing_asks_nothing(
    project: Path, muster: Command, cloud: Cloud
) -> None:
    assert cloud.offers
    pool = {"name": "cpu", "type": "m7i.4xlarge", "count": 2, "capacity": {"onDemand": True}}
    write_spec(project, example(pools=[pool]), "prod")
    status, out, _ = muster("capacity", "show", "prod")
    assert status == 0
    assert "names no reservation and no block" in out
