# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read back what is mounted: kind, options, and whether it answers and can be written."""

from __future__ import annotations

import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: mounted_paths
short_description: Checks mounted file systems without changing any
options:
  mounts:
    description:
      - Mounted paths, each with C(path), C(kind) (type of the file system), and, where they
        matter, C(options) that it must have and C(writable) (true where not given).
    type: list
    elements: dict
    required: true
  nfs_read_ahead_kb:
    description: How far each NFS mount has to read ahead; 0 for any.
    type: int
    default: 0
  sysfs:
    description: Where /sys is.
    type: path
    default: /sys
  procfs:
    description: Where /proc is.
    type: path
    default: /proc
  timeout_s:
    description: How long one may take to answer; a server that is gone lets callers wait for ever.
    type: int
    default: 20
author: muster
"""

EXAMPLES = r"""
- name: Check what is mounted
  mounted_paths:
    mounts:
      - {path: /home, kind: nfs4, options: [nconnect=16]}
"""

RETURN = r"""
mounts:
  description: How many were checked.
  returned: always
  type: int
"""

Mount = dict[str, str]

_FIELDS = 6


def parse_mounts(text: str, path: str) -> dict[str, str]:
    """Read /proc/mounts; of mounts on top of each other the last counts."""
    rows = [line.split() for line in text.splitlines()]
    here = [row for row in rows if len(row) == _FIELDS and _plain(row[1]) == path]
    names = ("SOURCE", "PATH", "FSTYPE", "OPTIONS")
    return dict(zip(names, here[-1], strict=False)) if here else {}


def _plain(text: str) -> str:
    r"""Undo what the kernel writes for blanks: \\040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def faults(wanted: dict[str, object], found: Mount) -> list[str]:
    """Say what differs between a wanted mount and the one that is there."""
    path, kind = str(wanted["path"]), str(wanted["kind"])
    if not found.get("SOURCE") or "OPTIONS" not in found or "FSTYPE" not in found:
        return [f"{path}: nothing is mounted, {kind} expected"]
    if found["FSTYPE"] != kind:
        return [f"{path} is {found['FSTYPE']}, {kind} expected"]
    options = found["OPTIONS"].split(",")
    lacking = [str(o) for o in _list(wanted.get("options")) if str(o) not in options]
    said = [f"{path} is mounted without {', '.join(lacking)}"] if lacking else []
    if wanted.get("writable", True) and "rw" not in options:
        said.append(f"{path} is mounted read-only")
    return said


def read_ahead_faults(volumes: str, sysfs: Path, wanted_kb: int) -> list[str]:
    """Read /proc/fs/nfsfs/volumes and say which NFS device reads ahead otherwise."""
    rows = [line.split() for line in volumes.splitlines()[1:]]
    devices = sorted({row[3] for row in rows if len(row) > 3})  # noqa: PLR2004 version server port device
    said = []
    for device in devices:
        path = sysfs / "class/bdi" / device / "read_ahead_kb"
        has = path.read_text(encoding="utf-8").strip() if path.is_file() else "unknown"
        if has != str(wanted_kb):
            said.append(f"NFS device {device} reads {has} KiB ahead, {wanted_kb} expected")
    return said


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "mounts": {"type": "list", "elements": "dict", "required": True},
            "nfs_read_ahead_kb": {"type": "int", "default": 0},
            "sysfs": {"type": "path", "default": "/sys"},
            "procfs": {"type": "path", "default": "/proc"},
            "timeout_s": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )
    wait = ["timeout", "--kill-after=5", str(module.params["timeout_s"])]
    said: list[str] = []
    try:
        table = (Path(module.params["procfs"]) / "mounts").read_text(encoding="utf-8")
    except OSError as error:
        module.fail_json(msg=str(error))
    for wanted in module.params["mounts"]:
        path = str(wanted["path"])
        differ = faults(wanted, parse_mounts(table, path))
        said += differ
        if differ:
            continue
        # The server is asked: what root may do there, and whether it answers at all.
        asked = "-w" if wanted.get("writable", True) else "-d"
        status, _, _ = module.run_command([*wait, "test", asked, path])
        if status:
            words = {"-w": "cannot be written by root", "-d": "cannot be read"}
            reason = "does not answer" if status in {124, 137} else words[asked]
            said.append(f"{path} {reason}")
    volumes = Path(module.params["procfs"]) / "fs/nfsfs/volumes"
    if module.params["nfs_read_ahead_kb"] and volumes.is_file():
        text, sysfs = volumes.read_text(encoding="utf-8"), Path(module.params["sysfs"])
        said += read_ahead_faults(text, sysfs, module.params["nfs_read_ahead_kb"])
    if said:
        module.fail_json(msg="; ".join(said))
    module.exit_json(changed=False, mounts=len(module.params["mounts"]))


if __name__ == "__main__":
    main()
