# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read back whether all local disks are there, and in the file system that is mounted."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: local_disks
short_description: Checks the file system of the local disks
description:
  - Fails where a disk is missing, the array lacks one, or it is not what is mounted.
options:
  model:
    description: Model of the disks.
    type: str
    required: true
  disks:
    description: How many there are.
    type: int
    required: true
  path:
    description: Where they are mounted.
    type: path
    required: true
  sysfs:
    description: Where /sys is.
    type: path
    default: /sys
  procfs:
    description: Where /proc is.
    type: path
    default: /proc
author: muster
"""

EXAMPLES = r"""
- name: Check the local disks
  local_disks:
    model: Amazon EC2 NVMe Instance Storage
    disks: 8
    path: /local
"""

RETURN = r"""
source:
  description: What is mounted.
  returned: always
  type: str
"""


_FIELDS = 6


def present(sysfs: Path, model: str) -> list[str]:
    """Return the disks of a model, by name."""
    paths = sorted(sysfs.glob("class/nvme/nvme*/model"))
    return [
        f"{path.parent.name}n1"
        for path in paths
        if path.read_text(encoding="utf-8").strip() == model
    ]


def members(mdstat: str, array: str) -> set[str] | None:
    """Return the disks of an active RAID 0; None where /proc/mdstat does not show one."""
    match = re.search(rf"^{re.escape(array)} : active raid0 (.+)$", mdstat, re.MULTILINE)
    return set(re.findall(r"(\S+)\[\d+\]", match[1])) if match else None


def faults(
    disks: list[str], expected: int, mounted: dict[str, str], mdstat: str, path: str
) -> list[str]:
    """Say what is missing."""
    said = []
    if len(disks) != expected:
        said.append(f"{len(disks)} local disks, {expected} expected")
    source = mounted.get("SOURCE", "")
    if not source:
        return [*said, f"nothing is mounted on {path}"]
    name = source.rpartition("/")[2]
    inside = {name} if expected == 1 else members(mdstat, name)
    if inside is None:
        said.append(f"{path} is {source}, an active raid0 expected")
    elif len(inside) != expected or not inside <= set(disks):
        listed = ", ".join(sorted(inside))
        said.append(f"{path} is made of {listed}, all {expected} local disks expected")
    options = mounted.get("OPTIONS", "").split(",")
    if "rw" not in options:
        said.append(f"{path} cannot be written: {','.join(options) or 'options are unknown'}")
    return said


def parse_mounts(text: str, path: str) -> dict[str, str]:
    """Read /proc/mounts; of mounts on top of each other the last counts."""
    rows = [line.split() for line in text.splitlines()]
    here = [row for row in rows if len(row) == _FIELDS and _plain(row[1]) == path]
    names = ("SOURCE", "PATH", "FSTYPE", "OPTIONS")
    return dict(zip(names, here[-1], strict=False)) if here else {}


def _plain(text: str) -> str:
    r"""Undo what the kernel writes for blanks: \\040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "model": {"type": "str", "required": True},
            "disks": {"type": "int", "required": True},
            "path": {"type": "path", "required": True},
            "sysfs": {"type": "path", "default": "/sys"},
            "procfs": {"type": "path", "default": "/proc"},
        },
        supports_check_mode=True,
    )
    given = module.params
    procfs = Path(given["procfs"])
    mdstat = procfs / "mdstat"
    try:
        text = mdstat.read_text(encoding="utf-8") if mdstat.is_file() else ""
        shown = (procfs / "mounts").read_text(encoding="utf-8")
        disks = present(Path(given["sysfs"]), given["model"])
    except OSError as error:
        module.fail_json(msg=str(error))
    mounted = parse_mounts(shown, given["path"])
    said = faults(disks, given["disks"], mounted, text, given["path"])
    if said:
        module.fail_json(msg="; ".join(said))
    module.exit_json(changed=False, source=mounted["SOURCE"])


if __name__ == "__main__":
    main()
