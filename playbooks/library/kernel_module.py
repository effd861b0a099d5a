# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Load kernel modules, or note that only a reboot brings the installed ones into the kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kernel_module
short_description: Loads kernel modules, or notes that a reboot is due
description:
  - Never unloads a module and never reboots. Where another build is loaded than the one on disk, or
    a module is in the way, it writes why into C(reboot_dir).
  - Hardware that is not there is no failure, so that an image can be made on any machine; what is
    missing on a node is for the role's validation to say.
options:
  names:
    description: Modules to load, in this order; the version of the first is compared.
    type: list
    elements: str
    required: true
  conflicts:
    description: Modules that must not be loaded beside them.
    type: list
    elements: str
    default: []
  role:
    description: Who asks; the name of the file in C(reboot_dir).
    type: str
    required: true
  sysfs:
    description: Where sysfs is mounted.
    type: str
    default: /sys
  reboot_dir:
    description: Where reasons for a reboot are kept until then.
    type: path
    default: /run/muster/reboot-required.d
author: muster
"""

EXAMPLES = r"""
- name: Load the driver
  kernel_module:
    names: [nvidia, nvidia_uvm]
    conflicts: [nouveau]
    role: nvidia_driver
"""

RETURN = r"""
ready:
  description: Whether the modules are loaded, in the version that is installed.
  returned: always
  type: bool
due:
  description: Why a reboot is due; empty where none is.
  returned: always
  type: str
"""

_MODPROBE_TIMEOUT_S = 120

# The open and the closed driver have the same version; only their sources tell them apart.
_BUILD = ("version", "srcversion")

Run = Callable[[Sequence[str]], tuple[int, str]]


class RefusedError(Exception):
    """A module that must be there cannot be loaded."""


@dataclass(frozen=True)
class State:
    """What of the modules is so."""

    missing: tuple[str, ...] = ()
    due: str = ""
    on_disk: bool = True


def look(
    names: Sequence[str], conflicts: Sequence[str], *, run: Run, loaded_as: Callable[[str], str]
) -> State:
    """Say which modules are missing, and whether only a reboot helps."""
    status, said = run(["lsmod"])
    if status or not said.startswith("Module"):
        message = f"`lsmod` does not say which modules are loaded: {said.strip()[:200]}"
        raise RefusedError(message)
    loaded = {line.split()[0] for line in said.splitlines()[1:] if line.strip()}
    missing = tuple(name for name in names if name.replace("-", "_") not in loaded)
    in_the_way = [name for name in conflicts if name in loaded]
    on_disk = {field: run(["modinfo", "-F", field, names[0]]) for field in _BUILD}
    exists = not on_disk["version"][0]
    due = f"{' and '.join(in_the_way)} is loaded" if in_the_way else ""
    for field in _BUILD if exists and names[0] not in missing else ():
        found, installed = loaded_as(field), on_disk[field][1].strip()
        if not due and found and installed and found != installed:
            due = f"{names[0]} {field} {found} is loaded, {installed} is installed"
    return State(missing=missing, due=due, on_disk=exists)


def note(path: Path, reason: str, *, check: bool) -> bool:
    """Keep the reason for a reboot, or take back one that holds no more; returns if it changed."""
    line = f"{path.name}: {reason}\n" if reason else ""
    found = path.read_text(encoding="utf-8") if path.is_file() else ""
    if found == line:
        return False
    if not check and line:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(line, encoding="utf-8")
        fresh.rename(path)
    elif not check:
        path.unlink()
    return True


def load(names: Sequence[str], run: Run) -> str:
    """Load modules; returns why the first that fails does, empty where all are loaded."""
    for name in names:
        status, said = run(["modprobe", name])
        if status:
            return f"modprobe {name} failed with {status}: {' '.join(said.split())[:300]}"
    return ""


def _reboot_is_due(directory: Path) -> bool:
    # The modules on disk may then be for a kernel or a driver that is yet to come.
    return directory.is_dir() and any(not p.name.startswith(".") for p in directory.iterdir())


def apply(module: AnsibleModule, run: Run) -> dict[str, bool | str]:
    """Bring the modules to where they should be; returns the module's result."""
    params, check = module.params, module.check_mode
    directory, first = Path(params["reboot_dir"]), params["names"][0]

    def loaded_as(field: str) -> str:
        path = Path(params["sysfs"]) / "module" / first / field
        return path.read_text(encoding="ascii").strip() if path.is_file() else ""

    state = look(params["names"], params["conflicts"], run=run, loaded_as=loaded_as)
    changed = note(directory / params["role"], state.due, check=check)
    if state.due or not state.missing:
        return {"changed": changed, "ready": not state.due, "due": state.due}
    if check:
        # On a node without the packages nothing can be said yet, but that they will be loaded.
        return {"changed": True, "ready": state.on_disk, "due": ""}
    kernel = os.uname().release
    failure = (
        load(state.missing, run) if state.on_disk else f"no module {first} for kernel {kernel}"
    )
    if failure and "No such device" not in failure and not _reboot_is_due(directory):
        raise RefusedError(failure)
    return {"changed": changed or not failure, "ready": not failure, "due": ""}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "conflicts": {"type": "list", "elements": "str", "default": []},
            "role": {"type": "str", "required": True},
            "sysfs": {"type": "str", "default": "/sys"},
            "reboot_dir": {"type": "path", "default": "/run/muster/reboot-required.d"},
        },
        supports_check_mode=True,
    )

    def run(argv: Sequence[str]) -> tuple[int, str]:
        limited = ["timeout", "--kill-after=5", str(_MODPROBE_TIMEOUT_S), *argv]
        status, out, err = module.run_command(limited, environ_update={"LC_ALL": "C"})
        return status, out or err

    try:
        module.exit_json(**apply(module, run))
    except (RefusedError, OSError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
