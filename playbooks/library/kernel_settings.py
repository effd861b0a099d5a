# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Settings of the running kernel: set those that differ, read them all back."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: kernel_settings
short_description: Sets sysctl values and files below /sys, and reads them back
options:
  sysctl:
    description: Value by name.
    type: dict
    default: {}
  at_least:
    description: Names of sysctl values that may also be higher.
    type: list
    elements: str
    default: []
  files:
    description: Value by path below C(root); shell patterns stand for every path that fits.
    type: dict
    default: {}
  optional:
    description: Patterns of C(files) that no path has to fit.
    type: list
    elements: str
    default: []
  root:
    description: Where /sys is.
    type: path
    default: /sys
  state:
    description: C(checked) changes nothing and fails where a value differs.
    choices: [set, checked]
    default: set
author: muster
"""

EXAMPLES = r"""
- name: Set what the kernel goes by
  kernel_settings:
    sysctl: {kernel.numa_balancing: 0}
    files: {kernel/mm/transparent_hugepage/enabled: madvise}
"""

RETURN = r"""
faults:
  description: What differed before.
  returned: always
  type: list
"""


def parse_sysctl(text: str) -> dict[str, str]:
    """Read `sysctl NAME...`: value by name, blanks made one."""
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    return {name.strip(): " ".join(value.split()) for name, value in pairs}


def chosen(text: str) -> str:
    """Return the value of a file below /sys: of several choices the one in brackets."""
    bracketed = re.search(r"\[([^\]]+)\]", text)
    return bracketed[1] if bracketed else " ".join(text.split())


def fits(wanted: str, found: str, *, at_least: bool) -> bool:
    """Is the value what is wanted?"""
    if at_least and wanted.isdigit() and found.isdigit():
        return int(found) >= int(wanted)
    return " ".join(wanted.split()) == found


def sysctl_faults(wanted: dict[str, str], found: dict[str, str], at_least: list[str]) -> list[str]:
    """Say which sysctl values differ; one that the kernel does not have differs."""
    said = []
    for name, value in sorted(wanted.items()):
        more = name in at_least
        has = found.get(name)
        if has is None:
            said.append(f"{name}: this kernel does not have it, {value} expected")
        elif not fits(value, has, at_least=more):
            bound = "at least " if more else ""
            said.append(f"{name} is {has}, {bound}{value} expected")
    return said


def paths(root: Path, pattern: str) -> list[Path]:
    """Return the files that fit a pattern."""
    return sorted(root.glob(pattern))


def file_faults(root: Path, wanted: dict[str, str], optional: list[str]) -> dict[str, str]:
    """Say, by path, which files differ."""
    said: dict[str, str] = {}
    for pattern, value in sorted(wanted.items()):
        found = paths(root, pattern)
        if not found and pattern not in optional:
            said[str(root / pattern)] = f"{root / pattern}: there is none, {value} expected"
        for path in found:
            has = chosen(path.read_text(encoding="utf-8"))
            if has != value:
                said[str(path)] = f"{path} is {has}, {value} expected"
    return said


class Settings:
    """The wanted settings, and the machine that they are for."""

    def __init__(self, module: AnsibleModule) -> None:
        given = module.params
        self.module = module
        self.sysctl = {name: str(value) for name, value in given["sysctl"].items()}
        self.files = {name: str(value) for name, value in given["files"].items()}
        self.at_least, self.optional = given["at_least"], given["optional"]
        self.root = Path(given["root"])

    def _run(self, command: list[str]) -> tuple[int, str, str]:
        done: tuple[int, str, str] = self.module.run_command(
            command, environ_update={"LC_ALL": "C"}
        )
        return done

    def faults(self) -> list[str]:
        """Say what differs now."""
        shown = self._run(["sysctl", *sorted(self.sysctl)])[1] if self.sysctl else ""
        differ = sysctl_faults(self.sysctl, parse_sysctl(shown), self.at_least)
        return differ + list(file_faults(self.root, self.files, self.optional).values())

    def set(self) -> None:
        """Set what differs."""
        shown = self._run(["sysctl", *sorted(self.sysctl)])[1] if self.sysctl else ""
        has = parse_sysctl(shown)
        due = {
            name: value
            for name, value in sorted(self.sysctl.items())
            if sysctl_faults({name: value}, has, self.at_least)
        }
        if due:
            pairs = [f"{name}={value}" for name, value in due.items()]
            status, _, err = self._run(["sysctl", "-q", "-w", *pairs])
            if status or err.strip():
                raise ValueError(f"sysctl refuses: {' '.join(err.split()) or pairs}")
        for pattern, value in sorted(self.files.items()):
            for path in paths(self.root, pattern):
                if chosen(path.read_text(encoding="utf-8")) != value:
                    path.write_text(value, encoding="utf-8")


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "sysctl": {"type": "dict", "default": {}},
            "at_least": {"type": "list", "elements": "str", "default": []},
            "files": {"type": "dict", "default": {}},
            "optional": {"type": "list", "elements": "str", "default": []},
            "root": {"type": "path", "default": "/sys"},
            "state": {"choices": ["set", "checked"], "default": "set"},
        },
        supports_check_mode=True,
    )
    settings = Settings(module)
    found: list[str] = []
    try:
        found = settings.faults()
        if found and module.params["state"] == "set" and not module.check_mode:
            settings.set()
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    if found and module.params["state"] == "checked":
        module.fail_json(msg="; ".join(found))
    module.exit_json(changed=bool(found), faults=found)


if __name__ == "__main__":
    main()
