"""The steps before any Python of ours: Debian packages, and a Python that is new enough."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ROOT / "tools/host-packages.txt"


def _program(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of stand-in programs: a Debian that has everything but two packages."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sed", "dirname", "sh", "cat"):
        (folder / name).symlink_to(Path("/usr/bin") / name)
    lacking = 'case "$*" in *procps|*nftables) exit 1 ;; *) printf installed ;; esac'
    _program(folder, "dpkg-query", lacking)
    _program(folder, "apt-get", f'echo "$*" >> {tmp_path}/apt')
    _program(folder, "id", "echo 0")
    return folder


def _step(name: str, machine: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "tools" / name],
        env={"PATH": str(machine), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_only_missing_packages_are_installed(machine: Path) -> None:
    done = _step("host-packages", machine)
    assert done.returncode == 0
    update, install = (machine.parent / "apt").read_text().splitlines()
    assert update.endswith("update")
    assert install.endswith("install --no-install-recommends nftables procps")


def test_apt_is_not_asked_where_nothing_is_missing(machine: Path) -> None:
    _program(machine, "dpkg-query", "printf installed")
    done = _step("host-packages", machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (machine.parent / "apt").exists()


def test_package_that_was_removed_but_left_its_settings_counts_as_missing(machine: Path) -> None:
    _program(
        machine,
        "dpkg-query",
        'case "$*" in *procps) printf config-files ;; *) printf installed ;; esac',
    )
    _step("host-packages", machine)
    assert (machine.parent / "apt").read_text().endswith("--no-install-recommends procps\n")


def test_without_root_the_command_is_named_and_nothing_is_changed(machine: Path) -> None:
    _program(machine, "id", "echo 1000")
    done = _step("host-packages", machine)
    assert done.returncode == 0
    assert "apt-get install nftables procps" in done.stderr
    assert not (machine.parent / "apt").exists()


def test_failed_installation_stops_the_setup(machine: Path) -> None:
    _program(machine, "apt-get", 'case "$*" in *install*) exit 100 ;; esac')
    done = _step("host-packages", machine)
    assert done.returncode == 1
    assert "apt-get failed" in done.stderr


def test_other_distributions_are_told_what_is_needed(machine: Path) -> None:
    (machine / "dpkg-query").unlink()
    done = _step("host-packages", machine)
    assert done.returncode == 0
    assert "systemd-container" in done.stderr


def test_every_package_has_its_reason() -> None:
    rows = PACKAGES.read_text().splitlines()
    packages = [row for row in rows if row and not row.startswith("#")]
    assert [row for row in packages if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]* +\S.*", row)] == []
    assert packages == sorted(packages)


def test_every_package_that_the_lab_looks_for_is_installed() -> None:
    needs = json.loads((ROOT / "muster/lab/host_needs.json").read_text())
    wanted = {*needs["tools"].values(), *needs["tools_for_the_image"].values()}
    listed = set(re.findall(r"^([a-z0-9]\S*)", PACKAGES.read_text(), re.MULTILINE))
    assert wanted - {"coreutils"} <= listed, "coreutils is essential: every Debian has it"


def test_python_that_is_new_enough_is_found_by_any_name(machine: Path) -> None:
    _program(machine, "python3.11", "exit 1")
    _program(machine, "python3.13", "exit 0")
    assert _step("find-python", machine).stdout.strip() == str(machine / "python3.13")


def test_python_that_the_user_names_goes_first(machine: Path) -> None:
    _program(machine, "python3.11", "exit 0")
    _program(machine, "mine", "exit 0")
    done = _step("find-python", machine, MUSTER_PYTHON=str(machine / "mine"))
    assert done.stdout.strip() == str(machine / "mine")


def test_only_old_python_gives_one_clear_message(machine: Path) -> None:
    _program(machine, "python3", 'if [ "$1" = --version ]; then echo Python 3.9.2; fi; exit 1')
    done = _step("find-python", machine)
    assert done.returncode == 1
    assert "3.11 or later is needed" in done.stderr
    assert "MUSTER_PYTHON" in done.stderr
