"""The comment of a pull request: red until a loss is acknowledged, and one comment for ever."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster import shell
from muster.cli.main import main as muster_main
from tools.preview_comment import BYTES_MAX, MARK, Section, comment, main

ROOT = Path(__file__).parents[3]
LOSS = ROOT / "tests/unit/plan/fixtures/aws_file_system_replaced.json"
URN = "urn:pulumi:prod::muster::aws:fsx/lustreFileSystem:LustreFileSystem::shared"
UNTOLD = (
    "zone-offers-types",
    "reservation-usable",
    "reservation-size",
    "vcpu-quotas",
    "interface-quota",
    "image-fits",
    "import-bucket",
    "budget",
)
"""What only the cloud knows of the example."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: muster\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUSTER_STORE", str(tmp_path / "store"))
    return tmp_path


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `muster` in this process: to start it takes longer than all that it does."""
    if "as_a_program" in request.node.name:
        return

    def run_here(argv: list[str], **_how: Any) -> shell.Completed:
        assert Path(argv[0]).name == "muster"
        out, err, status = io.StringIO(), io.StringIO(), 0
        with (
            monkeypatch.context() as patched,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patched.setattr(sys, "argv", argv)
            try:
                muster_main()
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else 0
        printed, told = out.getvalue(), err.getvalue()
        return shell.Completed(argv=tuple(argv), rc=status, stdout=printed, stderr=told)

    monkeypatch.setattr(shell, "run", run_here)


def write_stack(project: Path, *acknowledged: str, **changes: Any) -> None:
    text = (ROOT / "stacks/Pulumi.example-p5.yaml").read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    dated = {"reason": "looked at by hand", "until": "2099-12-31"}
    document["config"]["muster:cluster"] |= {
        "preflight": {
            "waivers": [{"rule": rule, **dated} for rule in UNTOLD],
            "acknowledge": [{"urn": urn, **dated} for urn in acknowledged],
        },
        **changes,
    }
    (project / "stacks/Pulumi.prod.yaml").write_text(yaml.safe_dump(document))


def urns_lost() -> list[str]:
    steps = json.loads(LOSS.read_text(encoding="utf-8"))["steps"]
    return [step["urn"] for step in steps if step["op"] == "replace"]


def run(project: Path, *words: str) -> tuple[int, str]:
    out = project / "comment.md"
    status = main(["prod", "--offline", "--out", str(out), *words])
    return status, out.read_text(encoding="utf-8")


def test_as_a_program_it_is_red_and_names_urn_and_tebibytes_that_go(
    project: Path,
) -> None:
    write_stack(project)
    status, text = run(project, "--preview", str(LOSS))
    assert status == 1
    assert text.startswith(f"{MARK}\n## 🔴 prod: ")
    assert URN in text
    assert "46.9 TiB" in text
    assert "958.04 USD an hour" in text
    assert "95.2 kW" in text


def test_it_is_green_once_each_loss_is_acknowledged_by_urn(project: Path) -> None:
    write_stack(project, *urns_lost())
    status, text = run(project, "--preview", str(LOSS))
    assert (status, text.splitlines()[1]) == (0, "## 🟢 prod: nothing speaks against it")
    assert URN in text


def test_one_acknowledgement_of_two_is_not_enough(project: Path) -> None:
    write_stack(project, URN)
    status, text = run(project, "--preview", str(LOSS))
    assert (status, "Blocked: 1 of" in text) == (1, True)


def test_mistakes_in_the_stack_file_are_all_in_the_comment(project: Path) -> None:
    write_stack(project, sheduler="slurm", stages=["accept"])
    status, text = run(project)
    assert status == 2
    assert "## 🔴 prod: its file has mistakes" in text
    assert "muster:cluster.sheduler" in text
    assert "muster:cluster.stages" in text


def test_a_preview_without_steps_is_no_pass_and_the_plan_is_still_told(project: Path) -> None:
    write_stack(project)
    broken = project / "broken.json"
    broken.write_text('{"diagnostics": [{"severity": "error", "message": "no credentials"}]}')
    status, text = run(project, "--preview", str(broken))
    assert status == 3
    assert "What would be built and lost is not known" in text
    assert "no credentials" in text
    assert "958.04 USD an hour" in text


def test_the_comment_is_the_same_when_nothing_changed(project: Path) -> None:
    write_stack(project)
    assert run(project, "--preview", str(LOSS)) == run(project, "--preview", str(LOSS))


def test_the_gravest_stack_decides(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_stack(project)
    (project / "stacks/Pulumi.wrong.yaml").write_text("config: {}\n")
    assert main(["prod", "wrong", "--offline"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines if line.startswith("## ")] == ["## 🟢", "## 🔴"]


def test_a_long_comment_is_cut_between_lines_with_nothing_left_open() -> None:
    body = "first\n<details>\n" + "a line of some length, with an ä\n" * 9000 + "</details>\n"
    sections = [Section(stack=name, status=1, body=body) for name in ("one", "two")]
    text = comment(sections)
    assert len(text.encode()) < BYTES_MAX + 1000
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.count("Cut here") == 2
    assert comment([Section(stack="one", status=0, body="short\n")]).endswith("\nshort\n")


def test_a_stack_that_is_not_deployed_leaves_its_file_as_it_was(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stack(project)
    file = project / "stacks/Pulumi.prod.yaml"
    before = file.read_bytes()
    calls = []

    def engine(argv: list[str], **how: Any) -> shell.Completed:
        words = argv[1:]
        printed = ""
        if Path(argv[0]).name == "muster":
            printed = "the plan\n"
        elif words[:2] == ["stack", "ls"]:
            printed = "[]"
        elif words[:2] == ["stack", "init"]:
            file.write_text("encryptionsalt: v1:abc\n")
        else:
            printed = LOSS.read_text(encoding="utf-8")
        calls.append((words[0], (how["env"] or {}).get("PULUMI_BACKEND_URL", "")))
        return shell.Completed(argv=tuple(argv), rc=0, stdout=printed, stderr="")

    monkeypatch.setattr(shell, "run", engine)
    assert main(["prod"]) == 0
    assert file.read_bytes() == before
    assert [verb for verb, _ in calls] == ["stack", "stack", "preview", "plan"]
    assert all(url.startswith("file:///") for verb, url in calls[1:3])
