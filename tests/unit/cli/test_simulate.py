"""`muster simulate`: what is injected is named, and the reports say that nothing was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_cli import Command, muster, project

__all__ = ["muster", "project"]

SMALL = ("simulate", "--nodes", "32", "--leaf-size", "8", "--rails", "2", "--out", "kept")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are written below the current directory."""
    monkeypatch.chdir(tmp_path)


def test_a_healthy_fleet_is_ready(muster: Command) -> None:
    status, out, _ = muster(*SMALL)
    assert status == 0, out
    assert "32 of 32 nodes accepted" in out
    assert "Nothing here was measured on hardware" in out


def test_each_fault_stands_beside_what_was_named(muster: Command) -> None:
    faults = ("--fault", "slow-node:5=-20%", "--fault", "leaf:2", "--fault", "dead:1", "--json")
    status, out, _ = muster(*SMALL, *faults)
    document = json.loads(out)
    assert status == 1
    assert document["simulated"] is True
    assert [(row["injected"], row["right"]) for row in document["faults"]] == [
        ("slow-node:5=-20% (n5)", True),
        ("leaf:2", True),
        ("dead:1 (n1)", True),
    ]
    assert document["reason"].startswith("simulated")


def test_every_report_says_that_it_is_simulated(muster: Command, tmp_path: Path) -> None:
    muster(*SMALL, "--fault", "slow-rail:3.1")
    (run,) = (tmp_path / "kept/simulation/runs").iterdir()
    page = (run / "report.html").read_text()
    assert "<title>Simulated: Not ready" in page
    assert "This is a simulation" in page
    assert "simulation" in (run / "junit.xml").read_text()
    assert json.loads((run / "readiness.json").read_text())["stack"] == "simulation"


def test_what_could_not_be_told_exits_3_and_accuses_nobody(muster: Command) -> None:
    status, out, _ = muster(*SMALL, "--fault", "broken-test", "--json")
    document = json.loads(out)
    assert (status, document["quarantined"], document["untested"]) == (3, 0, 32)
    assert document["faults"][0]["right"]


@pytest.mark.parametrize("fault", ["all-slow", "foreign-load:2"])
def test_what_is_nobodys_fault_is_blamed_on_nobody(muster: Command, fault: str) -> None:
    _, out, _ = muster(*SMALL, "--fault", fault, "--json")
    document = json.loads(out)
    assert document["quarantined"] == 0
    assert all(row["right"] for row in document["faults"])


def test_a_wrong_fault_is_one_line_and_exit_2(muster: Command) -> None:
    status, out, err = muster(*SMALL, "--fault", "slow-nod:3")
    assert (status, out) == (2, "")
    assert "Did you mean slow-node?" in err


def test_the_same_seed_is_the_same_fleet(muster: Command, tmp_path: Path) -> None:
    for _ in range(2):
        muster(*SMALL, "--seed", "7", "--fault", "slow-rail:1")
    one, two = (tmp_path / "kept/simulation/runs").iterdir()
    assert (one / "pairs.jsonl").read_text() == (two / "pairs.jsonl").read_text()
