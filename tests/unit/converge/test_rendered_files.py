"""The module that writes files on nodes, called as the functions that it is made of."""

from __future__ import annotations

import base64
import getpass
import grp
import importlib.util
import os
import stat
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from muster.converge.digest import PLAYBOOKS


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with a directory of its own for pending services."""
    path = PLAYBOOKS / "library" / "rendered_files.py"
    spec = importlib.util.spec_from_file_location("rendered_files_module", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    monkeypatch.setattr(found, "PENDING", tmp_path / "pending")
    return found


def entry(path: Path, text: str | None, mode: str = "0644") -> dict[str, Any]:
    found = {
        "path": str(path),
        "owner": getpass.getuser(),
        "group": grp.getgrgid(os.getgid()).gr_name,
        "mode": mode,
    }
    if text is not None:
        found["content_base64"] = base64.b64encode(text.encode()).decode()
    return found


def test_missing_file_is_written_with_its_mode_and_then_left_alone(
    module: ModuleType, tmp_path: Path
) -> None:
    files = [entry(tmp_path / "a" / "x", "one\n", "0600")]
    assert module.apply(files, check=False) == [str(tmp_path / "a" / "x")]
    assert stat.S_IMODE((tmp_path / "a" / "x").stat().st_mode) == 0o600
    assert module.apply(files, check=False) == []


def test_check_mode_says_what_would_change_and_changes_nothing(
    module: ModuleType, tmp_path: Path
) -> None:
    files = [entry(tmp_path / "d", None, "0755"), entry(tmp_path / "d" / "x", "one")]
    assert len(module.apply(files, check=True, unit="u")) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("drift", ["content", "mode"])
def test_drift_is_found_and_corrected(module: ModuleType, tmp_path: Path, drift: str) -> None:
    path = tmp_path / "x"
    files = [entry(path, "one")]
    module.apply(files, check=False)
    if drift == "content":
        path.write_text("two")
    else:
        path.chmod(0o777)
    assert module.differences(files[0]) == [drift]
    module.apply(files, check=False)
    assert path.read_text() == "one"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_files_that_do_not_validate_leave_the_old_ones(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "x"
    module.apply([entry(path, "good\n")], check=False)
    command = f"grep -q good {{root}}{path}"
    with pytest.raises(module.RefusedError, match="refused by `grep`, nothing was changed"):
        module.apply([entry(path, "bad\n")], check=False, command=command, unit="u")
    assert path.read_text() == "good\n"
    assert not (tmp_path / "pending" / "u").exists()


def test_directory_in_the_place_of_a_file_is_refused(module: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(module.RefusedError, match="is a directory; move it away"):
        module.apply([entry(tmp_path, "text")], check=False)


def test_unknown_owner_is_refused_before_anything_is_written(
    module: ModuleType, tmp_path: Path
) -> None:
    files = [entry(tmp_path / "x", "one"), entry(tmp_path / "y", "one")]
    files[1]["owner"] = "no-such-user"
    (tmp_path / "y").write_text("old")
    with pytest.raises(module.RefusedError, match="no user or group no-such-user"):
        module.apply(files, check=False)
    assert not (tmp_path / "x").exists()


SERVICE = {"active": "active", "enabled": "enabled", "since": 5_000_000}


def with_service(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, **state: object
) -> list[tuple[str, ...]]:
    """Let systemctl answer with a state; returns the list that its calls are noted in."""
    now = SERVICE | state
    asked: list[tuple[str, ...]] = []

    def systemctl(*words: str) -> str:
        asked.append(words)
        return (
            f"ActiveState={now['active']}\nUnitFileState={now['enabled']}\n"
            f"ActiveEnterTimestampMonotonic={now['since']}\n"
        )

    monkeypatch.setattr(module, "systemctl", systemctl)
    return asked


def test_running_service_that_knows_its_files_may_go_on(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = with_service(module, monkeypatch)
    assert module.look_at_service("u", check=False) == (False, "")
    assert [words[0] for words in asked] == ["show"]


def test_service_that_does_not_run_has_to_be_started(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_service(module, monkeypatch, active="failed")
    assert module.look_at_service("u", check=False) == (False, "is failed")


@pytest.mark.parametrize(("check", "calls"), [(False, ["show", "enable"]), (True, ["show"])])
def test_service_that_would_not_start_after_a_boot_is_enabled(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, *, check: bool, calls: list[str]
) -> None:
    asked = with_service(module, monkeypatch, enabled="disabled")
    assert module.look_at_service("u", check=check) == (True, "")
    assert [words[0] for words in asked] == calls


def test_service_is_due_until_it_started_after_its_files_changed(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module.apply([entry(tmp_path / "x", "one")], check=False, unit="u")
    marker = tmp_path / "pending" / "u"
    with_service(module, monkeypatch, since=1)
    for _ in range(2):
        assert "has not read its files" in module.look_at_service("u", check=False)[1]
    with_service(module, monkeypatch, since=10**18)
    assert module.look_at_service("u", check=True) == (False, "")
    assert marker.exists()
    assert module.look_at_service("u", check=False) == (False, "")
    assert not marker.exists()
