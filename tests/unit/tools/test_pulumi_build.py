"""The build into the shared cache: whole or not at all, one builder at a time, told as it goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tools import pulumi_build
from tools.pulumi_build import SCRIPTS, VERSION, ToolchainError, built_cli, find_go

ROOT = Path(__file__).resolve().parents[3]
WHOLE = sorted(
    ["pulumi", "pulumi-language-python", *(Path(script).name for script in SCRIPTS)],
)

# Stands for the Go compiler: writes what `-o` names, and knows where a module's files are.
FAKE_GO = """#!/bin/sh
set -eu
echo "$@" >> {log}
case "$1" in
version) echo "go version go1.26.8 linux/amd64" ;;
list) echo {sdk} ;;
build)
    while [ "$1" != -o ]; do shift; done
    echo "go: downloading some/module v1.0.0" >&2
    printf '#!/bin/sh\\necho {version}\\n' > "$2"
    {then}
    chmod 755 "$2"
    echo some/package >&2 ;;
esac
"""


def _fake_go(tmp_path: Path, *, version: str = f"v{VERSION}", then: str = ":") -> str:
    sdk = tmp_path / "sdk"
    for script in SCRIPTS:
        (sdk / script).parent.mkdir(parents=True, exist_ok=True)
        (sdk / script).write_text("#!/usr/bin/env python3\n")
    go = tmp_path / "go"
    go.write_text(FAKE_GO.format(log=tmp_path / "calls", sdk=sdk, version=version, then=then))
    go.chmod(0o755)
    return str(go)


def _environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")}


def _cache_entries(tmp_path: Path) -> list[str]:
    return sorted(entry.name for entry in (tmp_path / "c/muster/pulumi").iterdir())


def _silent(_line: str) -> None:
    """Drop the line."""


def test_build_leaves_the_cli_its_language_host_and_its_scripts(tmp_path: Path) -> None:
    cli = built_cli(_environ(tmp_path), go=_fake_go(tmp_path), say=_silent)
    assert sorted(entry.name for entry in cli.parent.iterdir()) == WHOLE
    assert all(os.access(entry, os.X_OK) for entry in cli.parent.iterdir())
    assert _cache_entries(tmp_path) == [VERSION, "lock"]


def test_second_call_builds_nothing(tmp_path: Path) -> None:
    go = _fake_go(tmp_path)
    first = built_cli(_environ(tmp_path), go=go, say=_silent)
    calls = (tmp_path / "calls").read_text()
    assert built_cli(_environ(tmp_path), go=go, say=_silent) == first
    assert (tmp_path / "calls").read_text() == calls


def test_result_that_does_not_say_its_version_never_reaches_the_cache(tmp_path: Path) -> None:
    go = _fake_go(tmp_path, version="v0.0.0")
    with pytest.raises(ToolchainError, match=r"v0\.0\.0"):
        built_cli(_environ(tmp_path), go=go, say=_silent)
    assert _cache_entries(tmp_path) == ["lock"]


def test_go_that_fails_is_quoted_and_leaves_nothing(tmp_path: Path) -> None:
    go = _fake_go(tmp_path, then="echo 'cannot find module' >&2; exit 1")
    with pytest.raises(ToolchainError, match="cannot find module"):
        built_cli(_environ(tmp_path), go=go, say=_silent)
    assert _cache_entries(tmp_path) == ["lock"]


def test_progress_counts_modules_and_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi_build, "_PROGRESS_EVERY_S", 0.0)
    said: list[str] = []
    built_cli(_environ(tmp_path), go=_fake_go(tmp_path), say=said.append)
    assert any("1 modules fetched, 1 packages built" in line for line in said)


def test_build_killed_half_way_is_done_again_and_leaves_no_trace(tmp_path: Path) -> None:
    slow = _fake_go(tmp_path, then=f"touch {tmp_path}/begun; exec sleep 60")
    code = "import os; from tools.pulumi_build import *\n"
    code += f"built_cli(os.environ, go={slow!r}, say=print)"
    victim = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=_environ(tmp_path), start_new_session=True
    )
    deadline_s = time.monotonic() + 20
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait(10)
    assert [name for name in _cache_entries(tmp_path) if name.startswith("building-")]

    cli = built_cli(_environ(tmp_path), go=_fake_go(tmp_path), say=_silent)
    assert sorted(entry.name for entry in cli.parent.iterdir()) == WHOLE
    assert _cache_entries(tmp_path) == [VERSION, "lock"]


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    go = _fake_go(tmp_path, then="sleep 0.3")
    clis: list[Path] = []

    def build() -> None:
        clis.append(built_cli(_environ(tmp_path), go=go, say=_silent))

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(clis) == 2
    assert clis[0] == clis[1]
    builds = [c for c in (tmp_path / "calls").read_text().splitlines() if c.startswith("build")]
    assert len(builds) == len(pulumi_build.PROGRAMS)


def test_go_that_is_too_old_is_no_go(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go version go1.19.8 linux/amd64'\n")
    go.chmod(0o755)
    assert find_go({"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None


def test_module_files_pin_the_versions_that_are_built() -> None:
    for program in pulumi_build.PROGRAMS:
        text = (program.module / "go.mod").read_text()
        owner = "pkg/v3" if program.name == "pulumi" else "sdk/v3"
        assert f"github.com/pulumi/pulumi/{owner} v{program.version}\n" in text
        assert f"tool {program.package}\n" in text
