"""What a run found survives a kill at any moment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.clock import SystemClock
from muster.errors import UsageError
from muster.findings import Finding, Outcome
from muster.readiness import Readiness
from muster.runstore import Run, RunStore


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return RunStore(tmp_path, "lab", SystemClock()).new_run()


def finding(check: str = "gpu-count") -> Finding:
    return Finding(check=check, verdict=Outcome.PASS, summary="8 GPUs, expected 8", node="gpu-1")


def readiness(run: Run) -> Readiness:
    return Readiness(
        stack="lab",
        run=run.id,
        time=datetime.now(UTC),
        ready=True,
        reason="all accepted",
        wanted=1,
        accepted=1,
        quarantined=0,
        untested=0,
    )


def test_a_finding_is_stored_with_its_run_and_read_back(run: Run) -> None:
    stored = run.append(finding())
    assert stored.run_id == run.id
    assert run.findings() == (stored,)


def test_the_outcome_is_written_as_verdict(run: Run) -> None:
    run.append(finding())
    record = json.loads((run.directory / "results.jsonl").read_text())
    assert record["verdict"] == "pass"
    assert "outcome" not in record


def test_a_line_cut_short_by_a_kill_is_left_out(run: Run) -> None:
    stored = run.append(finding())
    with (run.directory / "results.jsonl").open("a") as stream:
        stream.write('{"check": "nic-cou')
    assert run.findings() == (stored,)


def test_evidence_keeps_its_text_under_a_safe_name(run: Run) -> None:
    relative = run.save_evidence("gpu-1", "../../x y.json", "text")
    path = run.directory / relative
    assert path.read_text() == "text"
    assert path.resolve().is_relative_to(run.directory.resolve())


def test_latest_is_the_newest_run_with_a_verdict(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "lab", SystemClock())
    finished = store.new_run()
    finished.write_readiness(readiness(finished))
    cut_short = store.new_run()
    cut_short.append(finding())
    assert store.latest().id == finished.id
    assert {r.id for r in store.runs()} == {finished.id, cut_short.id}


def test_a_stack_without_a_finished_run_says_what_to_do(tmp_path: Path) -> None:
    store = RunStore(tmp_path, "lab", SystemClock())
    with pytest.raises(UsageError, match="muster accept lab"):
        store.latest()
    with pytest.raises(UsageError, match="muster up"):
        store.fleet()


def test_readiness_is_read_back_as_written_in_the_documented_form(run: Run) -> None:
    path = run.write_readiness(readiness(run))
    document = json.loads(path.read_text())
    assert document["apiVersion"] == "muster/v1"
    assert document["kind"] == "Readiness"
    assert run.readiness() == readiness(run).model_copy(
        update={"time": datetime.fromisoformat(document["time"])}
    )
