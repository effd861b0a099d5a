"""What a run prints at its end, and what status prints."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from muster.fleet import Fleet
from muster.readiness import Readiness, Verdict
from muster.report.terminal import show_status, summarize
from tests.unit.report import scenarios
from tests.unit.report.sample import judged, make_fleet, make_readiness

REPORT = Path(".muster/lab/runs/20261121T093000Z-a1b2c3/report.html")


def summary(readiness: Readiness | None, *, width: int = 120, login: str = "") -> str:
    assert readiness
    out = io.StringIO()
    console = Console(file=out, width=width)
    console.print(summarize(readiness, report=REPORT, login=login), crop=False)
    return out.getvalue()


def status(fleet: Fleet, readiness: Readiness | None, *, age: str = "") -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(show_status(fleet, readiness, age=age), crop=False)
    return out.getvalue()


def test_ready_run_ends_with_the_line_that_scripts_look_for() -> None:
    sample = scenarios.healthy()
    text = summary(sample.readiness)
    assert "\nready: true (8 of 8 nodes are accepted)\n" in text
    assert "disk-throughput 4.2 s" in text


def test_bad_node_is_named_with_component_and_reason() -> None:
    sample = scenarios.slow_rail()
    text = summary(sample.readiness)
    (line,) = [line for line in text.splitlines() if line.startswith("gpu-3")]
    assert "quarantined  rail:1" in line
    assert "0.96 MB/s against every partner" in line
    assert "ready: false" in text


def test_bad_leaf_is_named_though_all_nodes_are_good() -> None:
    sample = scenarios.slow_uplink()
    text = summary(sample.readiness, width=200)
    assert "leaf:leaf1 rail:0: quarantined: every path over leaf1's uplink" in text


def test_report_path_and_login_are_never_broken_over_lines() -> None:
    sample = scenarios.healthy()
    text = summary(sample.readiness, width=30, login="muster ssh lab head")
    assert f"report: {REPORT}\n" in text
    assert "log in: muster ssh lab head\n" in text


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_node_verdict_and_component_are_whole_at_any_width(width: int) -> None:
    text = summary(scenarios.slow_rail().readiness, width=width)
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("gpu-3 ")] == [
        ["gpu-3", "quarantined", "rail:1"]
    ]


def test_reason_folds_and_keeps_every_word_in_eighty_columns() -> None:
    sample = scenarios.slow_rail()
    text = summary(sample.readiness, width=80)
    assert {"moves", "0.96", "MB/s", "against", "partner;"} <= set(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_output_to_a_file_has_no_escape_codes() -> None:
    sample = scenarios.slow_rail()
    assert "\x1b" not in summary(sample.readiness)


def test_square_brackets_in_a_reason_are_printed_as_they_are() -> None:
    fleet = make_fleet(nodes=2)
    bad = {"gpu-1": judged("gpu-1", Verdict.UNTESTED, "", "[bold]odd[/bold] [link=x]")}
    readiness = make_readiness(fleet, bad=bad, ready=False, reason="[red]no[/red]")
    text = summary(readiness)
    assert "[bold]odd[/bold] [link=x]" in text
    assert "([red]no[/red])" in text


def test_large_fleet_shows_the_bad_nodes_and_counts_the_rest() -> None:
    sample = scenarios.many()
    text = summary(sample.readiness)
    assert "gpu-33" in text
    assert "gpu-35" not in text
    assert "59 more nodes are accepted." in text


def test_status_without_a_run_is_unknown_and_all_untested() -> None:
    text = status(make_fleet(nodes=2), None)
    assert text.count("untested") == 2
    assert "ready: unknown" in text


def test_verdict_on_replaced_hardware_is_not_taken_for_the_new_one() -> None:
    fleet = make_fleet(nodes=2)
    readiness = make_readiness(fleet)
    swapped = fleet.nodes[0].model_copy(update={"serial": "NEW"})
    fleet = fleet.model_copy(update={"nodes": (swapped, fleet.nodes[1])})
    lines = status(fleet, readiness, age="3 min ago").splitlines()
    assert "untested" in lines[1]
    assert "accepted" in lines[2]
    assert "(3 min ago)" in lines[-1]
