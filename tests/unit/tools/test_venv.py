"""`.venv` is what the lock says: made once, kept, and taken up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import venv


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / venv.LOCK).write_text(
        "# made\na==1 \\\n    --hash=sha256:0\nb-c==2.0\n    # via a==1\n"
    )
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return tmp_path


def test_stamp_changes_with_the_lock_and_with_the_project(project: Path) -> None:
    before = venv.stamp_text(project)
    assert venv.stamp_text(project) == before
    (project / venv.LOCK).write_text("a==2\n")
    after = venv.stamp_text(project)
    assert after != before
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert venv.stamp_text(project) != after


def test_environment_of_a_project_that_was_moved_is_known(project: Path) -> None:
    stamp = venv.stamp_text(project)
    assert not venv.moved(stamp, project)
    assert venv.moved(stamp, project / "copy")
    assert not venv.moved("", project)


def test_only_pins_are_counted(project: Path) -> None:
    assert venv.package_count((project / venv.LOCK).read_text()) == 2


def test_progress_says_how_many_packages_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv, "_PROGRESS_EVERY_S", 0.0)
    output = ["Collecting a==1\n", "  Downloading\n", "Installing collected packages: a\n"]
    output += ["Successfully installed a\n"]
    assert list(venv.progress_lines(output, 2)) == [
        "1 of 2 packages fetched",
        "1 of 2 packages fetched",
        "1 of 2 packages fetched, installing them",
    ]


def _programs(project: Path, *, status: int) -> None:
    """Stand-in for the environment's Python: notes its arguments, and fails if told to."""
    bin_folder = project / ".venv" / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    python = bin_folder / "python"
    install = f'echo "ERROR: no such hash" >&2; exit {status}' if status else "exit 0"
    python.write_text(
        f'#!/bin/sh\necho "$*" >> {project}/calls\ncase "$*" in *" install "*) {install} ;; esac\n'
    )
    python.chmod(0o755)


def _installs(project: Path) -> list[str]:
    calls = project / "calls"
    lines = calls.read_text().splitlines() if calls.exists() else []
    return [line for line in lines if " install " in line]


def test_environment_made_by_hand_is_adopted_and_then_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venv, "PROJECT", project)
    _programs(project, status=0)
    venv.set_up(project)
    first = _installs(project)
    assert len(first) == 2
    assert f"--require-hashes -r {venv.LOCK}" in first[0]
    assert "--no-deps --no-build-isolation --editable ." in first[1]
    venv.set_up(project)
    assert _installs(project) == first


def test_failed_install_is_quoted_and_tried_again(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(venv, "PROJECT", project)
    _programs(project, status=1)
    with pytest.raises(venv.SetupError, match="no such hash"):
        venv.set_up(project)
    _programs(project, status=0)
    venv.set_up(project)
    assert len(_installs(project)) == 3
