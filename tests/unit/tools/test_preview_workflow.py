"""The workflow of the preview: rights, what it calls, and one comment however often it runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.preview_comment import MARK

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PREVIEW = ROOT / ".github/workflows/preview.yml"
PINNED = re.compile(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$")
SCRIPT = re.compile(r"(?:^|\s)((?:tools|muster|\.ci)/[\w./-]+)")
MODULE = re.compile(r"python -m ([\w.]+)")


def workflow(path: Path = PREVIEW) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def steps(path: Path = PREVIEW) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def script(name: str) -> str:
    return str(next(step["run"] for step in steps() if step["name"].startswith(name)))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_of_somebody_else_is_pinned_by_its_commit(path: Path) -> None:
    assert steps(path)
    assert [s["uses"] for s in steps(path) if "uses" in s and not PINNED.match(s["uses"])] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_stranger_writes_is_never_part_of_a_script(path: Path) -> None:
    assert [step["name"] for step in steps(path) if "${{" in step.get("run", "")] == []


def test_every_script_that_the_workflow_calls_exists() -> None:
    text = "\n".join(step["run"] for step in steps())
    files = SCRIPT.findall(text)
    modules = [f"{name.replace('.', '/')}.py" for name in MODULE.findall(text)]
    assert "tools/preview" in files
    assert modules
    assert [name for name in [*files, *modules] if not (ROOT / name).is_file()] == []


def test_no_job_may_both_run_the_pull_requests_code_and_write() -> None:
    found = workflow()
    rights = {name: job["permissions"] for name, job in found["jobs"].items()}
    assert found["permissions"] == {}
    assert rights["plan"] == {"contents": "read", "id-token": "write"}
    assert rights["comment"] == {"pull-requests": "write"}
    assert "git" not in " ".join(step["run"] for step in found["jobs"]["comment"]["steps"]).split()


def test_it_runs_nothing_of_a_fork() -> None:
    found = workflow()
    assert set(found[True]) == {"pull_request"}  # YAML reads `on` as true
    assert "head.repo.full_name == github.repository" in found["jobs"]["plan"]["if"]


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed; the runners have it")
@pytest.mark.parametrize(
    ("there", "call"),
    [
        ([], "POST repos/o/r/issues/7/comments"),
        ([(1, "somebody", f"{MARK}\nours?")], "POST repos/o/r/issues/7/comments"),
        ([(2, "github-actions[bot]", "of another job")], "POST repos/o/r/issues/7/comments"),
        (
            [(1, "somebody", "hello"), (9, "github-actions[bot]", f"{MARK}\nold")],
            "PATCH repos/o/r/issues/comments/9",
        ),
    ],
)
def test_its_own_comment_is_written_anew(
    tmp_path: Path, there: list[tuple[int, str, str]], call: str
) -> None:
    pages = [{"id": n, "user": {"login": who}, "body": body} for n, who, body in there]
    (tmp_path / "pages.json").write_text(json.dumps(pages))
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\n[ "$2" = --paginate ] && exec cat pages.json\necho "$@" > call\n')
    gh.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environ = {"PATH": path, "GITHUB_REPOSITORY": "o/r", "NUMBER": "7", "COMMENT": f"{MARK}\nnew"}
    done = _bash(script("Write the comment"), environ, tmp_path)
    assert done.returncode == 0, done.stderr
    method, address = call.split()
    expected = f"api --silent --method {method} {address} --field body=@comment.md"
    assert (tmp_path / "call").read_text().strip() == expected
    assert (tmp_path / "comment.md").read_text() == f"{MARK}\nnew\n"


@pytest.mark.parametrize(("status", "ends"), [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("", 3)])
def test_the_job_fails_with_the_plan(tmp_path: Path, status: str, ends: int) -> None:
    environ = {"PATH": os.environ["PATH"], "STATUS": status}
    assert _bash(script("Fail unless"), environ, tmp_path).returncode == ends


def test_a_comment_that_did_not_arrive_fails_the_job(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "COMMENT": ""}
    assert _bash(script("Write the comment"), environ, tmp_path).returncode == 3


def _bash(text: str, environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        env=environ,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
