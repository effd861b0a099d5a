# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Put rendered files and directories in place, all of a role in one round trip."""

from __future__ import annotations

import base64
import grp
import os
import pwd
import shlex
import stat
import subprocess  # noqa: TID251 this module runs on a node, without muster
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: rendered_files
short_description: Puts rendered files and directories in place
description:
  - Writes each file that differs in content, owner, group or mode, by rename.
  - The action plugin of the same name reads C(src) on the controller.
options:
  files:
    description: Files (with C(src)) and directories (without), each with path, owner, group, mode.
    type: list
    elements: dict
    required: true
  validate:
    description:
      - Command that reads the new files below C({root}) before any is put in place.
      - A non-zero exit status refuses them all.
    type: str
  unit:
    description:
      - Service that reads the files; it is enabled. The task also reports a change where it does
        not run, or was not started since its files were written (an earlier run was cut off). So
        one handler brings it to where it should be, and a run without changes asks a host once.
    type: str
author: muster
"""

EXAMPLES = r"""
- name: Write the files of slurmctld
  rendered_files:
    files:
      - {path: /etc/slurm/slurm.conf, src: slurm.conf, owner: root, group: root, mode: "0644"}
    unit: slurmctld
"""

RETURN = r"""
paths:
  description: What was changed, or would be in check mode.
  returned: always
  type: list
due:
  description: Why the unit has to be started or restarted; empty where it need not.
  returned: always
  type: str
"""

_VALIDATION_TIMEOUT_S = 30
_SYSTEMCTL_TIMEOUT_S = 30
# Below /run: a reboot starts every service anew, so nothing is pending after it.
PENDING = Path("/run/muster/pending")

Entry = dict[str, Any]


class RefusedError(Exception):
    """The new files do not pass validation, or cannot be written."""


def differences(entry: Entry, root: Path = Path("/")) -> list[str]:
    """Return which of content, owner, group, mode differ: what has to be set."""
    path = root / entry["path"].lstrip("/")
    wanted = entry.get("content_base64")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ["content", "owner", "group", "mode"]
    is_directory = stat.S_ISDIR(found.st_mode)
    if is_directory != (wanted is None):
        kind = "a directory" if is_directory else "not a directory"
        message = f"{path} is {kind}; move it away"
        raise RefusedError(message)
    differ = []
    if wanted is not None and (
        not stat.S_ISREG(found.st_mode) or path.read_bytes() != base64.b64decode(wanted)
    ):
        differ.append("content")
    uid, gid = owner_ids(entry)
    differ += ["owner"] if found.st_uid != uid else []
    differ += ["group"] if found.st_gid != gid else []
    differ += ["mode"] if stat.S_IMODE(found.st_mode) != int(entry["mode"], 8) else []
    return differ


def owner_ids(entry: Entry) -> tuple[int, int]:
    """Return the numeric owner and group."""
    try:
        return pwd.getpwnam(entry["owner"]).pw_uid, grp.getgrnam(entry["group"]).gr_gid
    except KeyError as error:
        message = f"{entry['path']}: no user or group {entry['owner']}:{entry['group']} here"
        raise RefusedError(message) from error


def put(entry: Entry, root: Path = Path("/")) -> None:
    """Write one file or directory; a kill leaves the old one or the new one."""
    path = root / entry["path"].lstrip("/")
    uid, gid = owner_ids(entry)
    mode = int(entry["mode"], 8)
    if entry.get("content_base64") is None:
        path.mkdir(parents=True, exist_ok=True)
        os.chown(path, uid, gid)
        path.chmod(mode)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(base64.b64decode(entry["content_base64"]))
            os.fchown(stream.fileno(), uid, gid)
            os.fchmod(stream.fileno(), mode)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).rename(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def validate(files: list[Entry], command: str) -> None:
    """Let the program that will read the files read them first, from a directory of their own."""
    with tempfile.TemporaryDirectory(prefix="muster-validate.") as directory:
        root = Path(directory)
        root.chmod(0o755)
        for entry in files:
            put(entry, root)
        argv = shlex.split(command.replace("{root}", str(root)))
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=_VALIDATION_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            said = " ".join((done.stderr.strip() or done.stdout.strip())[-800:].split())
            said = said.replace(str(root), "")
            message = f"refused by `{argv[0]}`, nothing was changed: {said}"
            raise RefusedError(message)


def mark_pending(unit: str) -> None:
    """Note, before the first file is written, that the service will not know of the change yet."""
    PENDING.mkdir(parents=True, exist_ok=True)
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    (PENDING / unit).write_text(str(now_us), encoding="ascii")


def systemctl(*words: str) -> str:
    """Run systemctl and return its output."""
    done = subprocess.run(
        ["systemctl", *words],
        capture_output=True,
        text=True,
        timeout=_SYSTEMCTL_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        message = f"systemctl {' '.join(words)}: {done.stderr.strip()}"
        raise RefusedError(message)
    return done.stdout


def look_at_service(unit: str, *, check: bool) -> tuple[bool, str]:
    """Enable the service where it is not, and say why it has to be started or restarted.

    Returns whether it was (or would be) enabled, and the reason; empty where it may go on.
    """
    names = ("ActiveState", "UnitFileState", "ActiveEnterTimestampMonotonic")
    lines = systemctl("show", f"--property={','.join(names)}", unit).splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    active, enabled, since_us = (found.get(name, "") for name in names)
    enable = enabled != "enabled"
    if enable and not check:
        # Without a reload, which costs more than all else here: the next boot reads it anyway.
        systemctl("enable", "--quiet", "--no-reload", unit)
    if active != "active":
        return enable, f"is {active}"
    return enable, _unread(unit, int(since_us or 0), check=check)


def _unread(unit: str, since_us: int, *, check: bool) -> str:
    marker = PENDING / unit
    if not marker.is_file():
        return ""
    if since_us <= int(marker.read_text(encoding="ascii").strip() or 0):
        return "has not read its files since they changed"
    if not check:
        marker.unlink()
    return ""


def apply(
    files: list[Entry], *, check: bool, command: str | None = None, unit: str | None = None
) -> list[str]:
    """Return the paths that changed (or would); raises RefusedError before the first change."""
    changed = [entry for entry in files if differences(entry)]
    if changed and command:
        validate([e for e in files if e.get("content_base64") is not None], command)
    if changed and unit and not check:
        mark_pending(unit)
    if not check:
        for entry in changed:
            put(entry)
    return [entry["path"] for entry in changed]


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True},
            "validate": {"type": "str"},
            "unit": {"type": "str"},
        },
        supports_check_mode=True,
    )
    check, unit = module.check_mode, module.params["unit"]
    try:
        paths = apply(
            module.params["files"], check=check, command=module.params["validate"], unit=unit
        )
        enabled, reason = look_at_service(unit, check=check) if unit else (False, "")
    except (RefusedError, OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(paths or reason or enabled), paths=paths, due=reason)


if __name__ == "__main__":
    main()
