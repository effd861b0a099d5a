"""The command line: one line per mistake, exit statuses, and JSON from every verb."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.cli.main import main
from muster.cli.summary import exit_status
from muster.clock import SystemClock
from muster.readiness import CheckCounts, ComponentVerdict, NodeReadiness, Readiness, Verdict
from muster.runstore import RunStore
from tests.unit.test_edges import fleet

Command = Callable[..., tuple[int, str, str]]
LAB = {"target": "lab", "pools": [{"name": "gpu", "type": "lab.8gpu", "count": 4}]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: muster\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUSTER_STORE", str(tmp_path / "store"))
    return tmp_path


@pytest.fixture
def muster(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    assert project.is_dir()

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["muster", *words])
        try:
            main()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0
        else:
            status = 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def write_spec(
    project: Path, cluster: Any, stack: str = "lab", *, region: str | None = None
) -> None:
    where = {"aws:region": region} if region else {}
    text = yaml.safe_dump({"config": {**where, "muster:cluster": cluster}})
    (project / "stacks" / f"Pulumi.{stack}.yaml").write_text(text)


def finish_run(project: Path, *verdicts: Verdict, leaf: Verdict | None = None) -> str:
    """Store a run in which node i had verdict i; returns its id."""
    store = RunStore(project / "store", "lab", SystemClock())
    store.write_fleet(fleet(port=1))
    run = store.new_run()
    counts = CheckCounts.model_validate({"pass": 1, "fail": 0, "unknown": 0})
    nodes = tuple(
        NodeReadiness(node=f"gpu-{i}", serial=f"s{i}", verdict=verdict, checks=counts)
        for i, verdict in enumerate(verdicts, start=1)
    )
    good = all(verdict is Verdict.ACCEPTED for verdict in verdicts) and leaf is None
    run.write_readiness(
        Readiness(
            stack="lab",
            run=run.id,
            time=datetime.now(UTC),
            ready=good,
            reason="as told",
            wanted=len(nodes),
            accepted=verdicts.count(Verdict.ACCEPTED),
            quarantined=verdicts.count(Verdict.QUARANTINED),
            untested=verdicts.count(Verdict.UNTESTED),
            fleet=(ComponentVerdict(component="leaf:leaf1", verdict=leaf),) if leaf else (),
            nodes=nodes,
        )
    )
    return run.id


def test_a_bad_spec_gets_a_line_per_mistake_and_exit_2(project: Path, muster: Command) -> None:
    write_spec(
        project, {"target": "lab", "pool": [], "pools": [{"name": "G", "type": "lab.8gpus"}]}
    )
    status, out, err = muster("plan", "lab", "--offline")
    assert status == 2
    assert out == ""
    lines = err.splitlines()
    assert len(lines) >= 4
    assert all(line.startswith("muster: Pulumi.lab.yaml: muster:cluster") for line in lines)
    assert "Traceback" not in err


def test_a_stack_that_is_not_there_names_those_that_are(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    status, _, err = muster("plan", "lba", "--offline")
    assert status == 2
    assert len(err.splitlines()) == 1
    assert "lab" in err


def test_a_plan_says_who_sits_where(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    status, out, _ = muster("plan", "lab", "--offline")
    assert status == 0
    assert "leaf1: gpu-3 gpu-4" in out


def test_a_plan_as_json_is_one_document(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    status, out, _ = muster("plan", "lab", "--offline", "--json")
    assert status == 0
    assert json.loads(out)["leaves"] == {"leaf0": ["gpu-1", "gpu-2"], "leaf1": ["gpu-3", "gpu-4"]}


def test_the_catalog_shows_a_type_with_sources(muster: Command) -> None:
    status, out, _ = muster("catalog", "show", "lab.8gpu")
    assert status == 0
    assert "gpu_count" in out
    status, out, _ = muster("catalog", "show", "lab.8gpu", "--json")
    assert json.loads(out)


def test_an_unknown_type_is_exit_2_with_a_hint(muster: Command) -> None:
    status, _, err = muster("catalog", "show", "p5.48xlrage")
    assert status == 2
    assert "p5.48xlarge" in err


def test_the_schema_of_the_spec_is_printed(muster: Command) -> None:
    status, out, _ = muster("spec", "schema")
    assert status == 0
    assert "pools" in json.loads(out)["properties"]


def test_before_any_up_a_verb_says_what_to_run(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    for words in (("status", "lab"), ("ssh", "lab", "head"), ("converge", "lab")):
        status, _, err = muster(*words)
        assert status == 2
        assert "muster up" in err


@pytest.mark.parametrize(
    ("verdicts", "leaf", "expected"),
    [
        ((Verdict.ACCEPTED, Verdict.ACCEPTED), None, 0),
        ((Verdict.ACCEPTED, Verdict.QUARANTINED), None, 1),
        ((Verdict.ACCEPTED, Verdict.SUSPECT), None, 1),
        ((Verdict.ACCEPTED, Verdict.UNTESTED), None, 3),
        ((Verdict.ACCEPTED, Verdict.ACCEPTED), Verdict.QUARANTINED, 1),
    ],
)
def test_the_exit_status_says_pass_fail_or_could_not_tell(
    project: Path, verdicts: tuple[Verdict, ...], leaf: Verdict | None, expected: int
) -> None:
    finish_run(project, *verdicts, leaf=leaf)
    run = RunStore(project / "store", "lab", SystemClock()).latest()
    assert exit_status(run) == expected


def test_reports_are_written_again_from_a_finished_run(project: Path, muster: Command) -> None:
    run_id = finish_run(project, Verdict.ACCEPTED)
    status, out, _ = muster("report", "lab", "--json")
    assert status == 0
    assert run_id in json.loads(out)["html"]
    assert Path(json.loads(out)["junit"]).is_file()


def test_status_that_cannot_ask_the_scheduler_is_exit_3_and_says_why(
    project: Path, muster: Command
) -> None:
    write_spec(project, LAB)
    finish_run(project, Verdict.ACCEPTED)
    status, out, _ = muster("status", "lab", "--json")
    assert status == 3
    assert json.loads(out)["schedulerError"]


def test_a_fault_that_does_not_exist_lists_those_that_do(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    status, _, err = muster("lab", "break", "lab", "slow-rial", "gpu-1")
    assert status == 2
    assert "slow-rail" in err


def test_wrong_usage_is_exit_2(muster: Command) -> None:
    assert muster("no-such-verb")[0] == 2
