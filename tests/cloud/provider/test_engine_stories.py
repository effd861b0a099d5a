"""The stand-in under the real Pulumi engine, on a program of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from papercloud.cloud.scenario import Scenario
from papercloud.provider.account import Account
from papercloud.server import PaperCloud
from tests.cloud.provider.paper_world import IMAGE

PROJECT = Path(__file__).parent / "project"
SIMULATED = "paper cloud: simulated, nothing here is real"


class Stack:
    """A copy of the project, and the engine to run it with."""

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self.project = directory / "project"
        self.environ = dict(environ)
        shutil.copytree(PROJECT, self.project)
        self.run("stack", "init", "test")
        self.configure(image=IMAGE, **{"aws:region": "us-east-2"})

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pulumi", *words],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def configure(self, **settings: str) -> None:
        pairs = [
            word for key, value in settings.items() for word in ("--plaintext", f"{key}={value}")
        ]
        assert self.run("config", "set-all", *pairs).returncode == 0

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.run("up", "--yes", "--skip-preview", "--non-interactive")

    def steps(self) -> dict[str, str]:
        preview = self.run("preview", "--json", "--non-interactive")
        assert preview.returncode == 0, preview.stdout + preview.stderr
        found = json.loads(preview.stdout[preview.stdout.index("{") :])["steps"]
        return {s["urn"].rsplit("::", 1)[-1]: s["op"] for s in found if s["op"] != "same"}

    def resources(self) -> dict[str, Any]:
        exported = json.loads(self.run("stack", "export").stdout)
        found = exported["deployment"]["resources"]
        return {resource["urn"].rsplit("::", 1)[-1]: resource for resource in found}


@pytest.fixture
def stack(tmp_path: Path, cloud: PaperCloud) -> Iterator[Stack]:
    if not shutil.which("pulumi", path=cloud.environ(tmp_path)["PATH"]):
        pytest.skip("the Pulumi CLI is not here: make setup builds it")
    cloud.reset()
    yield Stack(tmp_path, cloud.environ(tmp_path))
    cloud.set(Scenario())


def test_a_program_goes_up_drifts_is_mended_changes_and_goes(
    stack: Stack, account: Account
) -> None:
    up = stack.up()
    assert up.returncode == 0, up.stdout
    assert SIMULATED in up.stdout
    made = stack.resources()
    assert made["vpc"]["outputs"]["tagsAll"] == {"cost": "train"}
    assert made["vpc"]["outputs"]["__papercloud"] == "simulated"
    assert "c2VjcmV0LWJvb3QK" not in json.dumps(made), "a secret stands in the state in clear"
    quiet = stack.run("preview", "--refresh", "--expect-no-changes", "--non-interactive")
    assert quiet.returncode == 0, quiet.stdout

    rule = made["in"]
    account.call(
        "ec2",
        "RevokeSecurityGroupIngress",
        GroupId=rule["inputs"]["securityGroupId"],
        SecurityGroupRuleIds=[rule["id"]],
    )
    assert stack.run("refresh", "--yes", "--skip-preview", "--non-interactive").returncode == 0
    stack.configure(nodes="3", strategy="spread", capacity="2400")
    assert stack.steps() == {
        "in": "create",
        "near": "replace",
        "node": "update",
        "train": "update",
        "fsx": "replace",
    } | {key: op for key, op in stack.steps().items() if op.startswith(("create-", "delete-"))}

    stack.configure(nodes="2", strategy="cluster", capacity="9600")
    changed = stack.up()
    assert changed.returncode == 0, changed.stdout
    assert stack.resources()["fsx"]["id"] == made["fsx"]["id"]
    gone = stack.run("destroy", "--yes", "--skip-preview", "--non-interactive")
    assert gone.returncode == 0, gone.stdout
    assert account.call("fsx", "DescribeFileSystems")["FileSystems"] == []


def test_too_little_capacity_fails_the_up_keeps_the_group_and_the_next_up_goes_on(
    stack: Stack, cloud: PaperCloud
) -> None:
    cloud.set(Scenario(capacity={"m7i.4xlarge/*": 1}))
    failed = stack.up()
    assert failed.returncode != 0
    assert "1 of 2 instances in service after 3 s" in failed.stdout
    assert "sufficient m7i.4xlarge capacity" in failed.stdout
    assert stack.resources()["train"]["initErrors"]
    cloud.set(Scenario())
    again = stack.up()
    assert again.returncode == 0, again.stdout
    assert "initErrors" not in stack.resources()["train"]
    stack.run("destroy", "--yes", "--skip-preview", "--non-interactive")
