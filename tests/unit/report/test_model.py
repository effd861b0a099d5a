"""Reading pairs and events back from a run's directory."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.clock import SystemClock
from muster.errors import MusterError
from muster.report.model import PairValue, load_events, load_pairs, waiver_of
from muster.runstore import Run
from tests.unit.report.sample import event, finding

LINE = {
    "round": 2,
    "a": "gpu-1",
    "b": "gpu-2",
    "rail": 1,
    "value_bps": 4.79e6,
    "valid": True,
    "counters": {"retransmits": 3},
    "kind": "intra",
}


def a_run(tmp_path: Path, *lines: object) -> Run:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "pairs.jsonl").write_text(text, encoding="utf-8")
    return Run(tmp_path, SystemClock())


def test_pair_line_is_read_with_its_retransmits(tmp_path: Path) -> None:
    expected = PairValue(
        round=2,
        a="gpu-1",
        b="gpu-2",
        rail=1,
        value_bps=4.79e6,
        valid=True,
        retransmits=3,
        kind="intra",
    )
    assert load_pairs(a_run(tmp_path, LINE)) == (expected,)


def test_pair_without_counters_has_unknown_retransmits_not_zero(tmp_path: Path) -> None:
    assert load_pairs(a_run(tmp_path, {**LINE, "counters": {}}))[0].retransmits is None


def test_run_without_pairs_or_events_has_none(tmp_path: Path) -> None:
    run = Run(tmp_path, SystemClock())
    assert load_pairs(run) == ()
    assert load_events(run) == ()


def test_last_line_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    run = a_run(tmp_path, LINE)
    with (tmp_path / "pairs.jsonl").open("a") as stream:
        stream.write('{"round": 3, "a": "gp')
    assert len(load_pairs(run)) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rail": "one"}, "rail"),
        ({"value_bps": -1}, "value_bps"),
        ({"value_bps": math.nan}, "value_bps"),
        ({"kind": "sideways"}, "kind"),
        ({"speed": 3}, "speed"),
    ],
)
def test_line_of_another_form_is_named_by_file_line_and_field(
    tmp_path: Path, change: dict[str, object], named: str
) -> None:
    run = a_run(tmp_path, LINE, {**LINE, **change})
    with pytest.raises(MusterError, match=rf"pairs\.jsonl:2: {named}: "):
        load_pairs(run)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(text=st.text())
def test_any_file_is_read_or_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "pairs.jsonl").write_text(text + "\n", encoding="utf-8", newline="")
    refusal = ""
    try:
        load_pairs(Run(tmp_path, SystemClock()))
    except MusterError as error:
        refusal = str(error)
    assert "\n" not in refusal


def test_event_keeps_what_else_was_noted(tmp_path: Path) -> None:
    run = Run(tmp_path, SystemClock())
    run.event("drained", node="gpu-3", reason="slow rail")
    (read,) = load_events(run)
    assert (read.kind, read.data) == ("drained", {"node": "gpu-3", "reason": "slow rail"})


def test_event_concerns_its_node_its_nodes_and_its_component() -> None:
    assert event(0, "drained", node="gpu-3").concerns("gpu-3")
    assert event(0, "resumed", nodes=["gpu-3", "gpu-4"]).concerns("gpu-4")
    assert event(0, "reported", component="leaf:leaf1").concerns("leaf:leaf1")
    assert not event(0, "drained", node="gpu-33").concerns("gpu-3")
    assert not event(0, "noted", nodes="gpu-3").concerns("gpu")


def test_waiver_is_the_text_that_the_campaign_noted() -> None:
    assert waiver_of(finding("gpu-1", "gpu-count", params={"waiver": "why"})) == "why"
    assert waiver_of(finding("gpu-1", "gpu-count")) == ""
