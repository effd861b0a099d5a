"""Power of a plan's accelerators."""

from __future__ import annotations

from dataclasses import replace

from muster.catalog import load_catalog
from muster.plan.power import power_of
from tests.unit.plan.aws_plans import plan, pool

CATALOG = load_catalog()


def test_power_is_that_of_all_accelerators_with_spares() -> None:
    tdp = CATALOG.gpus["H100"].tdp_w
    assert tdp
    sheet = power_of(plan(pool("p5.48xlarge", count=16, spares=1)))
    (row,) = sheet.pools
    assert (row.accelerators, row.model, row.tdp_w) == (17 * 8, "H100", tdp)
    assert row.watts == 17 * 8 * tdp
    assert sheet.kilowatts == 17 * 8 * tdp / 1000
    assert sheet.unknown == ()


def test_power_names_its_source() -> None:
    (row,) = power_of(plan(pool())).pools
    assert row.source == "ml-engineering"


def test_power_is_unknown_where_no_source_states_one_figure() -> None:
    sheet = power_of(plan(pool("p6-b300.48xlarge")))
    assert sheet.pools[0].watts is None
    assert sheet.unknown == ("ondemand",)
    assert "no source" in sheet.pools[0].note


def test_a_power_that_cites_no_source_is_unknown() -> None:
    kind = CATALOG.instance_type("p6-b300.48xlarge").model_copy(update={"gpu_tdp_w": 1200})
    assert power_of(plan(replace(pool(), type=kind))).pools[0].watts is None


def test_nodes_without_accelerators_add_nothing_and_are_not_unknown() -> None:
    sheet = power_of(plan(pool("m7i.4xlarge")))
    assert (sheet.kilowatts, sheet.unknown) == (0, ())
    assert sheet.pools[0].note == "no accelerators"


def test_pools_add_up_and_unknown_ones_stay_named() -> None:
    known, open_one = pool("p4d.24xlarge", "spot"), pool("p6-b300.48xlarge", "block")
    sheet = power_of(plan(known, open_one))
    assert sheet.kilowatts == power_of(plan(known)).kilowatts
    assert sheet.unknown == ("block",)


def test_the_sheet_says_that_the_rest_of_the_node_comes_on_top() -> None:
    assert "on top" in power_of(plan()).note
