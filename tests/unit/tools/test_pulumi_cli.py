"""Which Pulumi CLI is taken, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import pulumi_cli
from tools.pulumi_build import ToolchainError, parse_version


def _program(folder: Path, name: str, *, says: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def _cli(folder: Path, version: str) -> Path:
    _program(folder, "pulumi-language-python")
    return _program(folder, "pulumi", says=version)


def _environ(tmp_path: Path, *folders: Path) -> dict[str, str]:
    path = ":".join([*map(str, folders), "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(tmp_path / "home")}


def _silent(_line: str) -> None:
    """Drop the line."""


@given(st.integers(0, 999), st.integers(0, 9999), st.integers(0, 99))
def test_version_is_read_from_what_pulumi_and_go_print(major: int, minor: int, patch: int) -> None:
    assert parse_version(f"v{major}.{minor}.{patch}") == (major, minor)
    assert parse_version(f"go version go{major}.{minor} linux/amd64") == (major, minor)


@given(st.text())
def test_no_text_makes_the_version_parser_fail(text: str) -> None:
    found = parse_version(text)
    assert found is None or all(part >= 0 for part in found)


@pytest.mark.parametrize("version", ["v3.250.0", "v3.272.1", "v3.1000.0"])
def test_installed_cli_that_is_new_enough_is_taken(tmp_path: Path, version: str) -> None:
    cli = _cli(tmp_path / "bin", version)
    assert pulumi_cli.installed_cli(_environ(tmp_path, tmp_path / "bin"), _silent) == cli


@pytest.mark.parametrize("version", ["v3.249.9", "v2.999.0", "v4.0.0", "what?"])
def test_cli_of_another_version_is_passed_over_and_named(tmp_path: Path, version: str) -> None:
    cli = _cli(tmp_path / "bin", version)
    said: list[str] = []
    assert pulumi_cli.installed_cli(_environ(tmp_path, tmp_path / "bin"), said.append) is None
    assert len(said) == 1
    assert said[0].startswith(f"{cli} is not used: ")


def test_later_cli_on_path_is_found_behind_one_that_is_too_old(tmp_path: Path) -> None:
    _cli(tmp_path / "old", "v3.100.0")
    new = _cli(tmp_path / "new", "v3.260.0")
    environ = _environ(tmp_path, tmp_path / "old", tmp_path / "new")
    assert pulumi_cli.installed_cli(environ, _silent) == new


def test_cli_without_its_python_language_host_is_passed_over(tmp_path: Path) -> None:
    _program(tmp_path / "bin", "pulumi", says="v3.260.0")
    said: list[str] = []
    assert pulumi_cli.installed_cli(_environ(tmp_path, tmp_path / "bin"), said.append) is None
    assert "pulumi-language-python" in said[0]


def test_cli_that_the_official_installer_has_just_put_is_found_though_not_on_path(
    tmp_path: Path,
) -> None:
    cli = _cli(tmp_path / "home" / ".pulumi" / "bin", "v3.260.0")
    assert pulumi_cli.installed_cli(_environ(tmp_path), _silent) == cli


def test_own_wrapper_on_path_is_never_taken_for_the_cli(tmp_path: Path) -> None:
    real = _cli(tmp_path / "real", "v3.260.0")
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    pulumi_cli.write_wrapper(project=tmp_path, venv=venv, cli=real)
    environ = _environ(tmp_path, venv / "bin", tmp_path / "real")
    assert pulumi_cli.installed_cli(environ, _silent) == real


def test_without_pulumi_and_go_the_official_install_line_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi_cli, "find_go", lambda _environ: None)
    with pytest.raises(ToolchainError) as caught:
        pulumi_cli.choose_cli(_environ(tmp_path), _silent)
    assert pulumi_cli.INSTALL_LINE in str(caught.value)
    assert "\n" not in str(caught.value)


def test_build_that_fails_says_why_and_gives_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go: module proxy refuses' >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setattr(pulumi_cli, "find_go", lambda _environ: str(go))
    with pytest.raises(ToolchainError) as caught:
        pulumi_cli.choose_cli(_environ(tmp_path), _silent)
    assert "module proxy refuses" in str(caught.value)
    assert pulumi_cli.INSTALL_LINE in str(caught.value)


def test_wrapper_is_written_anew_only_where_it_differs(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    first, second = tmp_path / "a" / "pulumi", tmp_path / "b" / "pulumi"
    assert pulumi_cli.write_wrapper(project=tmp_path, venv=tmp_path, cli=first)
    assert not pulumi_cli.write_wrapper(project=tmp_path, venv=tmp_path, cli=first)
    assert pulumi_cli.write_wrapper(project=tmp_path, venv=tmp_path, cli=second)
    assert str(second) in (tmp_path / "bin/pulumi").read_text()
    assert [entry.name for entry in (tmp_path / "bin").iterdir()] == ["pulumi"]
