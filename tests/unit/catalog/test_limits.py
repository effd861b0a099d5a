"""Impossible limits, as really published, do not load; the shipped ones are found by scope."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import Limit, Quantity, load_catalog
from muster.catalog.limits import check_limits

QUANTITIES = {
    "busbw": Quantity(
        unit="GB/s",
        better="higher",
        line=True,
        conditions=("algorithm",),
        pinned={"algorithm": "ring"},
        about="all-reduce",
    ),
    "copy": Quantity(unit="GB/s", better="higher", line=True, about="memory copy"),
    "gemm": Quantity(unit="TFLOP/s", better="higher", line=True, about="matrix product"),
    "offset": Quantity(unit="ms", better="lower", line=False, about="clock"),
}
RING = {"algorithm": "ring"}


def row(quantity: str, kind: str, value: float, unit: str = "GB/s", **more: Any) -> Limit:
    scope = more.pop("scope", "any")
    data = {"quantity": quantity, "kind": kind, "value": value, "unit": unit, "scope": scope}
    return Limit.model_validate({**data, "source": "s", **more})


def complaints(*limits: Limit) -> list[str]:
    return list(check_limits(QUANTITIES, limits, ["gpu:H200"]))


@pytest.mark.parametrize(("line", "floor"), [(50, 300), (400, 800), (400, 900)])
def test_a_floor_above_the_line_rate_as_published_for_p4d_p5_and_p6_is_refused(
    line: float, floor: float
) -> None:
    floors = row("busbw", "vendor-floor", floor, conditions={"algorithm": "default"})
    [found] = complaints(row("busbw", "spec", line), floors)
    assert "above the line rate" in found


@pytest.mark.parametrize(
    ("line_gb_per_s", "floor_mb_per_s"),
    [(4800, 2333), (864, 49050), (1555, 127500), (2039, 137500), (3350, 122250)],
)
def test_a_floor_that_lost_a_digit_as_in_dcgm_is_refused(
    line_gb_per_s: float, floor_mb_per_s: float
) -> None:
    floor = row("copy", "vendor-floor", floor_mb_per_s / 1000)
    [found] = complaints(row("copy", "spec", line_gb_per_s), floor)
    assert "under a tenth of the line rate" in found


def test_megabytes_where_gigabytes_are_meant_are_refused() -> None:
    [found] = complaints(row("copy", "spec", 4800), row("copy", "ours", 2333, "MB/s"))
    assert "unit is MB/s, must be GB/s" in found


def test_gflops_where_tflops_are_meant_are_refused() -> None:
    spec = row("gemm", "spec", 989, "TFLOP/s")
    [found] = complaints(spec, row("gemm", "vendor-floor", 769, "GFLOP/s"))
    assert "unit is GFLOP/s" in found


def test_a_floor_that_healthy_hardware_fails_is_refused() -> None:
    measured = row("busbw", "measured", 365, conditions=RING)
    floor = row("busbw", "ours", 370, conditions=RING)
    [found] = complaints(row("busbw", "spec", 400), measured, floor)
    assert "healthy hardware" in found


def test_a_floor_without_a_line_rate_is_refused() -> None:
    [found] = complaints(row("copy", "ours", 100))
    assert "no line rate" in found


def test_an_enforced_floor_pins_the_algorithm() -> None:
    floor = row("busbw", "ours", 320, conditions={"algorithm": "default"})
    [found] = complaints(row("busbw", "spec", 400), floor)
    assert "algorithm must be ring" in found


def test_a_missing_condition_is_refused() -> None:
    found = complaints(row("busbw", "spec", 400), row("busbw", "measured", 320))
    assert any("does not state algorithm" in line for line in found)


def test_an_unknown_scope_or_quantity_is_refused() -> None:
    assert "no such scope" in complaints(row("copy", "spec", 1, scope="gpu:H900"))[0]
    assert "no such quantity" in complaints(row("speed", "spec", 1))[0]


def test_a_missing_scope_is_refused() -> None:
    with pytest.raises(ValueError, match="scope"):
        Limit.model_validate(
            {"quantity": "copy", "kind": "ours", "value": 1, "unit": "GB/s", "source": "s"}
        )


def test_a_ceiling_below_what_was_measured_is_refused() -> None:
    [found] = complaints(row("offset", "measured", 5, "ms"), row("offset", "ours", 2, "ms"))
    assert "healthy hardware" in found


def test_good_rows_bring_no_complaint() -> None:
    measured = row("busbw", "measured", 365, conditions=RING)
    assert not complaints(
        row("busbw", "spec", 400), measured, row("busbw", "ours", 320, conditions=RING)
    )


@given(line=st.floats(1, 1e6), floor=st.floats(0, 1e7))
def test_no_floor_outside_a_tenth_to_all_of_the_line_rate_ever_loads(
    line: float, floor: float
) -> None:
    found = complaints(row("copy", "spec", line), row("copy", "ours", floor))
    assert bool(found) == (not 0.1 * line <= floor <= line)


def test_the_narrowest_scope_wins() -> None:
    catalog = load_catalog()
    lab = catalog.limit("rail-bandwidth", "lab.8gpu", locality="same-leaf")
    cloud = catalog.limit("rail-bandwidth", "p5.48xlarge", locality="same-leaf")
    assert lab is not None
    assert cloud is not None
    assert (lab.scope, lab.value) == ("type:lab.8gpu", 0.85)
    assert (cloud.scope, cloud.value) == ("any", 0.95)


def test_a_limit_applies_only_under_its_conditions() -> None:
    catalog = load_catalog()
    given_all = {"algorithm": "ring", "nodes": 8, "gib": 16}
    found = catalog.limit("allreduce-busbw", "p5.48xlarge", **given_all)
    assert found is not None
    assert found.value == 320
    assert catalog.limit("allreduce-busbw", "p5.48xlarge", **{**given_all, "nodes": 2}) is None
    assert catalog.limit("allreduce-busbw", "p5.48xlarge", **{**given_all, "gib": 1}) is None
    assert catalog.limit("allreduce-busbw", "p5.48xlarge") is None
    assert catalog.limit("allreduce-busbw", "lab.8gpu", **given_all) is None
