"""The modules that load kernel modules and run units, up to where they ask the system."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from muster.converge.digest import PLAYBOOKS


def load(name: str) -> ModuleType:
    path = PLAYBOOKS / "library" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_module", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    # Data classes look their module up by name.
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


MODULES, UNITS = load("kernel_module"), load("node_unit")


class Machine:
    """What lsmod, modinfo and modprobe answer, and what was loaded."""

    def __init__(self, root: Path, *, loaded: dict[str, str], on_disk: dict[str, str]) -> None:
        self.root, self.loaded, self.on_disk = root, loaded, on_disk
        self.error = ""

    def run(self, argv: Sequence[str]) -> tuple[int, str]:
        if argv[0] == "lsmod":
            return 0, "Module Size Used by\n" + "".join(f"{name} 1 0\n" for name in self.loaded)
        if argv[0] == "modinfo":
            if argv[-1] not in self.on_disk:
                return 1, f"modinfo: ERROR: Module {argv[-1]} not found."
            return 0, self.on_disk[argv[-1]] + "\n" if argv[2] == "version" else "\n"
        if self.error:
            return 1, self.error
        self.loaded[argv[-1]] = self.on_disk[argv[-1]]
        return 0, ""

    def apply(self, *names: str, check: bool = False) -> dict[str, Any]:
        for name, version in self.loaded.items():
            path = self.root / "sys" / "module" / name / "version"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(version + "\n", encoding="ascii")
        params = {
            "names": list(names), "conflicts": ["nouveau"], "role": "nvidia_driver",
            "sysfs": str(self.root / "sys"), "reboot_dir": str(self.root / "due"),
        }  # fmt: skip
        module = SimpleNamespace(params=params, check_mode=check)
        result: dict[str, Any] = MODULES.apply(module, self.run)
        return result

    def due(self) -> str:
        path = self.root / "due" / "nvidia_driver"
        return path.read_text(encoding="utf-8") if path.is_file() else ""


def test_missing_modules_are_loaded_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={}, on_disk={"nvidia": "2", "nvidia_uvm": "2"})
    assert machine.apply("nvidia", "nvidia_uvm") == {"changed": True, "ready": True, "due": ""}
    assert machine.apply("nvidia", "nvidia_uvm") == {"changed": False, "ready": True, "due": ""}


def test_another_version_in_the_kernel_asks_for_a_reboot_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={"nvidia": "1"}, on_disk={"nvidia": "2"})
    first = machine.apply("nvidia")
    assert first == {
        "changed": True,
        "ready": False,
        "due": "nvidia version 1 is loaded, 2 is installed",
    }
    assert machine.due() == "nvidia_driver: nvidia version 1 is loaded, 2 is installed\n"
    assert machine.apply("nvidia")["changed"] is False


def test_a_reason_that_holds_no_more_is_taken_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={"nvidia": "1"}, on_disk={"nvidia": "2"})
    machine.apply("nvidia")
    machine.loaded["nvidia"] = "2"
    assert machine.apply("nvidia") == {"changed": True, "ready": True, "due": ""}
    assert machine.due() == ""


def test_a_module_in_the_way_asks_for_a_reboot(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={"nouveau": "1"}, on_disk={"nvidia": "2"})
    assert machine.apply("nvidia")["due"] == "nouveau is loaded"
    assert "nvidia" not in machine.loaded


def test_a_machine_without_the_hardware_is_no_failure(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={}, on_disk={"nvidia": "2"})
    machine.error = "modprobe: ERROR: could not insert 'nvidia': No such device"
    assert machine.apply("nvidia") == {"changed": False, "ready": False, "due": ""}


def test_a_module_that_does_not_load_is_a_failure(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={}, on_disk={"nvidia": "2"})
    machine.error = "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"
    with pytest.raises(MODULES.RefusedError, match="Key was rejected by service"):
        machine.apply("nvidia")


def test_a_module_that_is_not_there_is_a_failure_unless_a_reboot_is_to_come(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={}, on_disk={})
    with pytest.raises(MODULES.RefusedError, match="no module nvidia for kernel"):
        machine.apply("nvidia")
    (tmp_path / "due").mkdir()
    (tmp_path / "due" / "kernel_hold").write_text("kernel_hold: new kernel\n", encoding="utf-8")
    assert machine.apply("nvidia")["ready"] is False


def test_check_mode_changes_nothing_and_says_what_would(tmp_path: Path) -> None:
    machine = Machine(tmp_path, loaded={}, on_disk={})
    assert machine.apply("nvidia", check=True) == {"changed": True, "ready": False, "due": ""}
    old = Machine(tmp_path, loaded={"nvidia": "1"}, on_disk={"nvidia": "2"})
    assert old.apply("nvidia", check=True)["changed"] is True
    assert not (tmp_path / "due").exists()


def test_a_list_of_modules_that_is_cut_short_is_a_failure() -> None:
    with pytest.raises(MODULES.RefusedError, match="does not say which modules"):
        MODULES.look(["nvidia"], [], run=lambda _: (0, ""), loaded_as=lambda _: "")


def unit(**changes: str) -> dict[str, str]:
    return {
        "LoadState": "loaded",
        "ActiveState": "active",
        "UnitFileState": "enabled",
        "NeedDaemonReload": "no",
        "ActiveEnterTimestampMonotonic": "5000000",
    } | changes


@pytest.mark.parametrize(
    ("found", "written", "needed"),
    [
        (unit(), 0, []),
        (unit(UnitFileState="disabled"), 0, ["enable --quiet x"]),
        (unit(UnitFileState="static"), 0, []),
        (unit(ActiveState="failed"), 0, ["start x"]),
        (unit(), 5.1, ["restart x"]),
        (unit(), 4.9, []),
    ],
)
def test_a_unit_gets_what_it_lacks(
    found: dict[str, str], written: float, needed: list[str]
) -> None:
    steps = UNITS.steps(found, "x", run=True, check=False, written=written)
    assert [" ".join(words) for words in steps] == needed


def test_a_unit_that_is_not_to_run_is_enabled_and_left_alone() -> None:
    found = unit(ActiveState="inactive", UnitFileState="disabled")
    steps = UNITS.steps(found, "x", run=False, check=False, reread=True)
    assert steps == [["enable", "--quiet", "x"]]


def test_a_unit_whose_files_changed_is_restarted() -> None:
    assert UNITS.steps(unit(), "x", run=True, check=False, reread=True) == [["restart", "x"]]


def test_a_unit_of_a_package_to_come_is_a_failure_only_outside_check_mode() -> None:
    found = unit(LoadState="not-found", ActiveState="inactive", UnitFileState="")
    with pytest.raises(UNITS.RefusedError, match="no unit x: it is not-found"):
        UNITS.steps(found, "x", run=True, check=False)
    assert UNITS.steps(found, "x", run=True, check=True)


def test_an_answer_of_systemctl_that_is_cut_short_is_a_failure() -> None:
    with pytest.raises(UNITS.RefusedError, match="cut short"):
        UNITS.shown("LoadState=loaded\nActiveSt", "x")


def test_files_are_compared_by_the_clock_that_systemd_uses(tmp_path: Path) -> None:
    path = tmp_path / "nodes"
    path.touch()
    os.utime(path, (time.time() - 100, time.time() - 100))
    found = UNITS.last_written([str(path), str(tmp_path / "absent")])
    assert found == pytest.approx(time.monotonic() - 100, abs=5)
    assert UNITS.last_written([]) == 0
