"""Distributions: where dots sit, and who is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.findings import Finding, Outcome
from muster.report.links import measure_links
from muster.report.strips import WIDTH, Strip, check_strips, pair_strips
from tests.unit.report.sample import finding, make_fleet, make_pairs

FLEET = make_fleet()


def values(*numbers: float, **fields: Any) -> list[Finding]:
    return [
        finding(f"gpu-{n}", "cpu-gemm", value=number, **({"unit": "FLOP/s"} | fields))
        for n, number in enumerate(numbers, start=1)
    ]


def the_strip(findings: list[Finding]) -> Strip:
    (strip,) = check_strips(findings)
    return strip


def test_outlier_is_named_and_its_peers_are_not() -> None:
    strip = the_strip(values(40e9, 41e9, 40.5e9, 20e9))
    assert [label.text for label in strip.names] == ["gpu-4"]
    assert "median 40.2 GFLOP/s" in strip.caption


def test_noise_names_nobody() -> None:
    assert the_strip(values(40e9, 40.2e9, 40.1e9, 40.3e9)).names == ()


def test_failed_value_is_named_even_if_it_is_no_outlier() -> None:
    findings = values(40e9, 40.1e9, 40.2e9)
    findings.append(finding("gpu-9", "cpu-gemm", Outcome.FAIL, value=40.15e9, unit="FLOP/s"))
    strip = the_strip(findings)
    assert [label.text for label in strip.names] == ["gpu-9"]
    assert strip.dots[-1].state == "fail"


def test_near_floor_is_drawn_and_far_floor_is_named_at_the_edge() -> None:
    near = the_strip(values(40e9, 41e9, floor=37e9))
    assert near.limit_seen
    far = the_strip(values(40e9, 41e9, floor=1e9))
    assert not far.limit_seen
    assert far.limit
    assert far.limit.text == "◂ floor 1 GFLOP/s"


def test_limit_above_the_values_is_not_called_a_floor() -> None:
    strip = the_strip(values(0.0004, 0.0005, unit="s", floor=0.01))
    assert strip.limit
    assert strip.limit.text == "limit 10 ms ▸"


def test_equal_values_and_single_values_make_no_strip() -> None:
    assert check_strips(values(8, 8, 8)) == ()
    assert check_strips(values(8)) == ()


def test_types_of_nodes_are_not_mixed() -> None:
    mixed = values(40e9, 41e9, shape="a") + values(90e9, 91e9, shape="b")
    assert [strip.title for strip in check_strips(mixed)] == ["cpu-gemm · a", "cpu-gemm · b"]


def test_deviations_are_shown_in_percent() -> None:
    strip = the_strip(values(0.001, -0.002, 0.0, -0.8, unit="deviation from the fleet's median"))
    assert [label.text for label in strip.names] == ["gpu-4"]
    assert strip.ticks[0].text.endswith(" %")


def test_pairs_have_a_strip_per_rail_and_path_and_slow_ones_are_named() -> None:
    pairs = make_pairs(FLEET, slow={("gpu-3", 1): 0.2})
    strips = pair_strips(pairs, measure_links(pairs, FLEET.leaves()))
    assert [strip.title for strip in strips] == [
        "pairs · rail 0 · inside a leaf",
        "pairs · rail 0 · over the spine",
        "pairs · rail 1 · inside a leaf",
        "pairs · rail 1 · over the spine",
    ]
    assert strips[0].names == ()
    assert strips[2].names[0].text == "gpu-3 to gpu-4"


def test_invalid_measurements_are_counted_not_drawn() -> None:
    pairs = [replace(p, valid=p.round != 0) for p in make_pairs(FLEET)]
    strip = pair_strips(pairs, measure_links(pairs, FLEET.leaves()))[0]
    assert "12 measurements, 4 more invalid" in strip.caption
    assert len(strip.dots) == 12


@given(st.lists(st.floats(0, 1e15), min_size=2, max_size=40), st.none() | st.floats(0, 1e15))
def test_everything_stays_inside_the_plot(numbers: list[float], floor: float | None) -> None:
    for strip in check_strips(values(*numbers, floor=floor)):
        places = [dot.x for dot in strip.dots] + [label.x for label in strip.names]
        places += [strip.median_x, *([strip.limit.x] if strip.limit else [])]
        assert all(0 <= x <= WIDTH for x in places)
