"""Both reports from a run's directory, finished or cut short."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from muster.clock import SystemClock
from muster.errors import MusterError
from muster.findings import Outcome
from muster.report.model import PairValue
from muster.report.write import write_reports
from muster.runstore import Run
from tests.unit.report import scenarios
from tests.unit.report.sample import Sample, finding, make_fleet


def stored(tmp_path: Path, sample: Sample) -> Run:
    run = Run(tmp_path / "20261121T093000Z-a1b2c3", SystemClock())
    for found in sample.findings:
        run.append(found)
    for done in sample.events:
        run.event(done.kind, **done.data)
    for path, text in sample.evidence.items():
        _, node, name = path.split("/")
        run.save_evidence(node, name, text)
    (run.directory / "pairs.jsonl").write_text("".join(lines(sample.pairs)), encoding="utf-8")
    if sample.readiness:
        run.write_readiness(sample.readiness)
    return run


def lines(pairs: Iterable[PairValue]) -> Iterable[str]:
    for p in pairs:
        known = {"round": p.round, "a": p.a, "b": p.b, "rail": p.rail, "kind": p.kind}
        counters = {} if p.retransmits is None else {"retransmits": p.retransmits}
        yield (
            json.dumps({**known, "value_bps": p.value_bps, "valid": p.valid, "counters": counters})
            + "\n"
        )


def test_run_directory_gets_both_reports_with_evidence(tmp_path: Path) -> None:
    sample = scenarios.slow_rail()
    paths = write_reports(stored(tmp_path, sample), sample.fleet)
    html = paths.html.read_text(encoding="utf-8")
    assert "7681000.0" in html
    assert "rail 1 moves 0.96 MB/s" in html
    assert 'failures="' in paths.junit.read_text(encoding="utf-8")
    assert paths.html.name == "report.html"
    assert paths.junit.name == "junit.xml"


def test_writing_again_gives_the_same_files(tmp_path: Path) -> None:
    sample = scenarios.slow_rail()
    run = stored(tmp_path, sample)
    first = write_reports(run, sample.fleet).html.read_bytes()
    assert write_reports(run, sample.fleet).html.read_bytes() == first


def test_run_cut_short_gets_reports_that_say_so(tmp_path: Path) -> None:
    sample = scenarios.cut_short()
    paths = write_reports(stored(tmp_path, sample), sample.fleet)
    assert "No verdict" in paths.html.read_text(encoding="utf-8")
    assert "cut short" in paths.junit.read_text(encoding="utf-8")


def test_run_killed_before_its_first_line_gets_reports(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", SystemClock())
    paths = write_reports(run, make_fleet(nodes=2))
    assert "No verdict" in paths.html.read_text(encoding="utf-8")


def test_evidence_outside_the_run_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2", encoding="utf-8")
    bad = finding("gpu-1", "gpu-count", Outcome.FAIL, evidence=("../secret", "/etc/passwd"))
    sample = Sample(fleet=make_fleet(nodes=2), readiness=None, findings=(bad,))
    html = write_reports(stored(tmp_path, sample), sample.fleet).html.read_text(encoding="utf-8")
    assert "../secret" in html
    assert "hunter2" not in html
    assert "root:" not in html


def test_missing_evidence_is_named_and_nothing_else(tmp_path: Path) -> None:
    sample = scenarios.unknowns()
    html = write_reports(stored(tmp_path, sample), sample.fleet).html.read_text(encoding="utf-8")
    assert "evidence/gpu-5/nvidia-smi.txt" in html


def test_long_evidence_is_cut_and_says_so(tmp_path: Path) -> None:
    path = "evidence/gpu-1/log.txt"
    bad = finding("gpu-1", "gpu-count", Outcome.FAIL, evidence=(path,))
    text = "".join(f"line {n}\n" for n in range(100))
    sample = Sample(
        fleet=make_fleet(nodes=2), readiness=None, findings=(bad,), evidence={path: text}
    )
    html = write_reports(stored(tmp_path, sample), sample.fleet).html.read_text(encoding="utf-8")
    assert "line 13\n" in html
    assert "line 14\n" not in html
    assert "86 more lines" in html


def test_broken_pairs_file_is_named_and_no_report_is_half_written(tmp_path: Path) -> None:
    sample = scenarios.healthy()
    run = stored(tmp_path, sample)
    (run.directory / "pairs.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(MusterError, match=r"pairs\.jsonl:1"):
        write_reports(run, sample.fleet)
    assert not (run.directory / "report.html").exists()


def test_only_a_lab_is_called_a_lab(tmp_path: Path) -> None:
    sample = scenarios.healthy()
    run = stored(tmp_path, sample)
    real = sample.fleet.model_copy(update={"target": "hosts"})
    assert "stand-ins" in write_reports(run, sample.fleet).html.read_text(encoding="utf-8")
    assert "stand-ins" not in write_reports(run, real).html.read_text(encoding="utf-8")
