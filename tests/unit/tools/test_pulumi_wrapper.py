"""`.venv/bin/pulumi`: this project's defaults, and nothing of them for who has their own."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from tools.pulumi_cli import write_wrapper


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose CLI prints its arguments and environment, in a folder with a space."""
    project = tmp_path / "my project"
    (project / ".venv" / "bin").mkdir(parents=True)
    cli = tmp_path / "cli" / "pulumi"
    cli.parent.mkdir()
    cli.write_text('#!/bin/sh\necho "args=$*"\nenv\n')
    cli.chmod(0o755)
    write_wrapper(project=project, venv=project / ".venv", cli=cli)
    return project


def _run(project: Path, *arguments: str, **environ: str) -> dict[str, str]:
    done = subprocess.run(
        [project / ".venv/bin/pulumi", *arguments],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_state_stays_in_the_project_whatever_the_working_directory(project: Path) -> None:
    seen = _run(project, "up", "-s", "lab")
    assert seen["args"] == "up -s lab"
    assert seen["PULUMI_BACKEND_URL"] == f"file://{project}/.muster/pulumi"
    assert seen["PULUMI_HOME"] == f"{project}/.muster/pulumi-home"
    assert (project / ".muster/pulumi").is_dir()
    assert seen["PULUMI_SKIP_UPDATE_CHECK"] == "1"
    assert seen["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "1"


def test_python_of_the_project_comes_first_on_the_path(project: Path) -> None:
    assert _run(project)["PATH"].startswith(f"{project}/.venv/bin:{project.parent}/cli:")


def test_passphrase_is_secret_long_and_kept(project: Path) -> None:
    passphrase = Path(_run(project)["PULUMI_CONFIG_PASSPHRASE_FILE"])
    text = passphrase.read_text()
    assert len(text) == 64
    assert stat.S_IMODE(passphrase.stat().st_mode) == 0o600
    _run(project)
    assert passphrase.read_text() == text
    assert sorted(e.name for e in passphrase.parent.iterdir() if e.is_file()) == ["passphrase"]


def test_first_runs_side_by_side_agree_on_one_passphrase(project: Path) -> None:
    wrapper = str(project / ".venv/bin/pulumi")
    running = [subprocess.Popen([wrapper], stdout=subprocess.DEVNULL) for _ in range(8)]
    assert [process.wait(30) for process in running] == [0] * 8
    assert sorted(e.name for e in (project / ".muster").iterdir() if e.is_file()) == ["passphrase"]


def test_own_backend_keeps_its_login_and_its_secrets(project: Path) -> None:
    seen = _run(project, PULUMI_BACKEND_URL="s3://state")
    assert seen["PULUMI_BACKEND_URL"] == "s3://state"
    assert "PULUMI_HOME" not in seen
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in seen
    assert not (project / ".muster").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PULUMI_HOME", "/elsewhere"),
        ("PULUMI_CONFIG_PASSPHRASE_FILE", "/my/phrase"),
        ("PULUMI_SKIP_UPDATE_CHECK", "0"),
        ("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "false"),
    ],
)
def test_what_the_user_has_set_is_left(project: Path, name: str, value: str) -> None:
    assert _run(project, **{name: value})[name] == value


def test_empty_passphrase_that_the_user_has_set_is_left(project: Path) -> None:
    seen = _run(project, PULUMI_CONFIG_PASSPHRASE="")
    assert seen["PULUMI_CONFIG_PASSPHRASE"] == ""
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in seen


def test_cli_that_is_gone_is_named_with_what_to_do(project: Path) -> None:
    (project.parent / "cli/pulumi").unlink()
    done = subprocess.run(
        [project / ".venv/bin/pulumi"], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 127
    assert "make setup" in done.stderr
