"""`muster plan` of a stack on AWS: every form, and the exit status that follows from it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.engine import Engine
from muster.errors import MusterError
from tests.unit.cli.test_cli import LAB, Command, muster, project, write_spec

__all__ = ["muster", "project"]

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests/unit/plan/fixtures"
LOSS = str(FIXTURES / "aws_file_system_replaced.json")


def example(**changes: Any) -> dict[str, Any]:
    text = (ROOT / "stacks/Pulumi.example-p5.yaml").read_text(encoding="utf-8")
    cluster: dict[str, Any] = yaml.safe_load(text)["config"]["muster:cluster"]
    return {**cluster, **changes}


def test_what_only_the_cloud_knows_makes_the_plan_unknown(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    status, out, err = muster("plan", "prod", "--offline")
    assert (status, err) == (3, "")
    assert "17 must be available" in out
    assert "958.04 USD an hour" in out
    assert "95.2 kW" in out


def test_a_plan_that_would_fail_says_why_and_exits_1(project: Path, muster: Command) -> None:
    storage = [{"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 48001, "throughput": 500}]
    write_spec(project, example(storage=storage), "prod")
    status, out, _ = muster("plan", "prod", "--offline")
    assert status == 1
    assert "storage[0].capacityGiB" in out


def test_a_waiver_lets_what_is_unknown_through(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    document = json.loads(muster("plan", "prod", "--offline", "--json")[1])
    rules = {r["rule"] for r in document["results"] if r["standing"] == "unknown"}
    assert rules
    waivers = [
        {"rule": rule, "reason": "looked at by hand", "until": "2099-12-31"} for rule in rules
    ]
    write_spec(project, example(preflight={"waivers": waivers}), "prod")
    status, out, _ = muster("plan", "prod", "--offline")
    assert status == 0, out


@pytest.mark.parametrize("form", ["json", "markdown", "junit", "sarif"])
def test_each_form_is_whole(project: Path, muster: Command, form: str) -> None:
    write_spec(project, example(), "prod")
    status, out, _ = muster("plan", "prod", "--offline", "--format", form)
    assert status == 3
    if form == "junit":
        root = ET.fromstring(out)  # noqa: S314 - our own output
        assert len(list(root.iter("error"))) == 9
    elif form == "markdown":
        assert "### Price" in out
    else:
        assert json.loads(out)


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


@pytest.mark.usefixtures("no_credentials")
def test_without_credentials_what_only_the_cloud_knows_is_unknown_for_that_reason(
    project: Path, muster: Command
) -> None:
    write_spec(project, example(), "prod", region="us-east-2")
    status, out, _ = muster("plan", "prod", "--no-preview", "--json")
    results = {r["rule"]: r for r in json.loads(out)["results"]}
    assert status == 3
    assert "there are no AWS credentials" in results["zone-offers-types"]["what"]
    assert "aws sso login" in results["dry-run"]["do"]


def test_a_stack_that_names_no_region_says_so(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    status, out, _ = muster("plan", "prod", "--no-preview", "--json")
    assert status == 3
    assert "Set aws:region in Pulumi.prod.yaml." in out


def test_an_engine_that_cannot_preview_is_unknown_and_says_why(
    project: Path, muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spec(project, example(), "prod")
    monkeypatch.setattr(Engine, "is_present", lambda _engine: True)
    monkeypatch.setattr(Engine, "ensure_stack", _no_passphrase)
    status, out, err = muster("plan", "prod")
    assert status == 3
    assert "the preview stopped: no passphrase" in out
    assert "asking the engine" in err


def test_without_an_engine_the_plan_says_what_it_does_not_show(
    project: Path, muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_spec(project, example(), "prod")
    monkeypatch.setattr(Engine, "is_present", lambda _engine: False)
    status, _, err = muster("plan", "prod")
    assert status == 3
    assert "there is no pulumi here" in err


def _no_passphrase(_engine: Engine, _stack: str) -> None:
    raise MusterError("no passphrase")


def test_a_preview_that_loses_a_file_system_is_red(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    command = ("plan", "prod", "--offline", "--preview", LOSS, "--format", "markdown")
    status, out, _ = muster(*command)
    assert status == 1
    assert out.startswith("🔴 **Blocked")
    assert "lustreFileSystem:LustreFileSystem::shared" in out
    assert "46.9 TiB" in out


def test_an_acknowledged_loss_is_let_through(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    command = ("plan", "prod", "--offline", "--preview", LOSS, "--json")
    blocked = json.loads(muster(*command)[1])["blast"]["blocked"]
    known = [
        {"urn": change["urn"], "reason": "moved to the new one", "until": "2099-12-31"}
        for change in blocked
    ]
    write_spec(project, example(preflight={"acknowledge": known}), "prod")
    status, out, _ = muster(*command)
    assert json.loads(out)["blast"]["outcome"] == "pass"
    assert status == 3  # the rules that need the cloud are still unknown


def test_a_preview_of_a_lab_is_judged_as_well(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    preview = str(FIXTURES / "engine_preview.json")
    status, out, _ = muster("plan", "lab", "--preview", preview)
    assert status == 0
    assert "pool gpu: 4 x lab.8gpu" in out
    assert "none of them a loss" in out


def test_a_preview_that_cannot_be_read_is_a_mistake_of_one_line(
    project: Path, muster: Command
) -> None:
    write_spec(project, LAB)
    status, _, err = muster("plan", "lab", "--preview", "nowhere.json")
    assert status == 2
    assert len(err.splitlines()) == 1


def test_a_lab_has_no_preflight_to_write(project: Path, muster: Command) -> None:
    write_spec(project, LAB)
    status, _, err = muster("plan", "lab", "--offline", "--format", "sarif")
    assert status == 2
    assert "Use text or json." in err


def test_an_exported_state_shows_what_changes_in_price(project: Path, muster: Command) -> None:
    write_spec(project, example(), "prod")
    resources = [
        {"type": "pulumi:pulumi:Stack", "outputs": {"hourlyUsd": 900.0}},
        {"type": "aws:ec2/vpc:Vpc", "inputs": {}},
    ]
    state = project / "state.json"
    state.write_text(json.dumps({"deployment": {"resources": resources}}))
    _, out, _ = muster("plan", "prod", "--offline", "--state", str(state))
    assert "deployed 900.00 -> planned 958.04 USD/h (+58.04)" in out


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_a_file_that_is_no_state_is_a_mistake_of_one_line(
    project: Path, muster: Command, text: str
) -> None:
    write_spec(project, example(), "prod")
    (project / "state.json").write_text(text)
    status, _, err = muster("plan", "prod", "--offline", "--state", "state.json")
    assert status == 2
    assert len(err.splitlines()) == 1
