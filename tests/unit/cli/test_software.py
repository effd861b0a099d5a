"""`muster software`: one line for each finding, exit statuses, JSON from every verb."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.clock import SystemClock
from tests.unit.cli.test_cli import Command, muster, project

__all__ = ["muster", "project"]


def test_check_says_fail_before_unknown_before_pass(muster: Command) -> None:
    status, out, _ = muster("software", "check", "2026.11", "--type", "p3dn.24xlarge")
    words = [line.split()[0] for line in out.splitlines()[:-1]]
    assert status == 1
    assert words == sorted(words, key=["fail", "unknown", "pass"].index)
    assert "fail     cuda-13-needs-turing: V100 is volta; cuda 13.0.2" in out


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--type", "m7i.4xlarge", "--os", "debian-12", "--scheduler", "kubernetes"), 0),
        (("--type", "p3dn.24xlarge", "--os", "debian-12"), 1),
        (("--type", "p5.48xlarge", "--os", "debian-12"), 3),
        ((), 3),
    ],
)
def test_check_exits_by_the_worst_finding(
    muster: Command, words: tuple[str, ...], status: int
) -> None:
    found, out, _ = muster("software", "check", "2026.11", *words, "--json")
    outcomes = {rule["outcome"] for rule in json.loads(out)["rules"]}
    assert found == status
    assert ({"fail": 1, "unknown": 3}.keys() & outcomes != set()) == (status != 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "2026.1"), "no row '2026.1' in the version matrix. Did you mean 2026.11?"),
        (("check", "2026.11", "--type", "p5.48xlrge"), "Did you mean p5.48xlarge?"),
        (("check", "2026.11", "--os", "debian-31"), "--os: unknown 'debian-31'"),
        (("check", "2026.11", "--storage", "luster"), "Did you mean lustre?"),
        (("check", "2026.11", "--scheduler", "slrm"), "Did you mean slurm?"),
        (("explain", "nvmll"), "no role or component 'nvmll' in row 2026.11. Did you mean nvml?"),
        (("diff", "2026.11", "2025.11"), "no row '2025.11'"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    muster: Command, words: tuple[str, ...], message: str
) -> None:
    status, _, err = muster("software", *words)
    assert (status, len(err.splitlines())) == (2, 1)
    assert message in err


def test_explain_says_version_source_rules_and_whether_it_is_needed(muster: Command) -> None:
    status, out, _ = muster("software", "explain", "efa", "--type", "m7i.4xlarge")
    assert status == 0
    assert "not needed on m7i.4xlarge" in out
    assert "rule efa-before-lustre: " in out
    _, out, _ = muster("software", "explain", "efa", "--type", "p5.48xlarge", "--json")
    document = json.loads(out)
    assert document["needed"] is True
    assert document["arguments"]["efa_devices"] == 32
    assert document["components"]["efa"]["source"]["as_of"] == "2026-07-23"
    assert document["missing"] == ["efa: no sha256 of aws-efa-installer-1.48.0.tar.gz"]


def test_diff_of_a_row_with_itself_is_nothing(muster: Command) -> None:
    assert muster("software", "diff", "2026.11", "2026.11")[:2] == (0, "0 differences\n")


def test_pin_keeps_what_it_could_read_and_says_what_it_could_not(
    muster: Command, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(url: str, timeout: float) -> Any:
        assert timeout > 0
        if "efa-installer" not in url:
            raise urllib.error.URLError("no route to host")
        found = BytesIO(b"installer")
        found.headers = {"Content-Length": "9"}  # type: ignore[attr-defined] # as an answer has
        return found

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setattr(SystemClock, "sleep", lambda _clock, _seconds: None)
    status, out, _ = muster("software", "pin", "2026.11")
    assert status == 3
    assert "unknown  pyxis: " in out
    assert "no route to host" in out
    assert out.splitlines()[-1].startswith("1 checksums pinned, 4 unknown: ")
    kept = yaml.safe_load((project / "stacks" / "software" / "2026.11.yaml").read_text())
    assert [url.rpartition("/")[2] for url in kept["sha256"]] == ["aws-efa-installer-1.48.0.tar.gz"]
    _, out, _ = muster("software", "explain", "efa", "--type", "p5.48xlarge", "--json")
    assert json.loads(out)["missing"] == []


def test_pin_outside_a_project_is_wrong_usage(
    muster: Command, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    status, _, err = muster("software", "pin", "2026.11")
    assert (status, err) == (2, "muster: this is no project. Run muster where Pulumi.yaml is.\n")
