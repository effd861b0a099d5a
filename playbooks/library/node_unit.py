# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Enable a unit, and run it where what it needs is there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_unit
short_description: Enables a unit, and runs it where what it needs is there
description:
  - Reads units anew, and restarts this one, where systemd says that its unit files have changed, or
    C(files) have since it was started; also when an earlier run was cut off in between.
  - In check mode a unit whose package is still to come is a change, not a failure.
options:
  name:
    description: The unit, or several; none where the list is empty.
    type: list
    elements: str
    required: true
  run:
    description: Whether to start it now; it is enabled in any case.
    type: bool
    default: true
  files:
    description: Files that the unit reads when it starts.
    type: list
    elements: path
    default: []
author: muster
"""

EXAMPLES = r"""
- name: Run the daemon
  node_unit:
    name: nvidia-persistenced
    run: "{{ driver.ready }}"
"""

RETURN = r"""
steps:
  description: What was done, or would be in check mode.
  returned: always
  type: list
"""

_TIMEOUT_S = 120
_STARTED = "ActiveEnterTimestampMonotonic"
_PROPERTIES = ("LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload", _STARTED)
# States of the unit file for which there is nothing to enable.
_ENABLED = frozenset({"enabled", "static", "indirect", "alias", "generated"})


class RefusedError(Exception):
    """The unit cannot be brought to where it should be."""


def shown(said: str, name: str) -> dict[str, str]:
    """Return the properties that `systemctl show` tells."""
    found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    if set(_PROPERTIES) - set(found):
        message = f"systemctl show {name} is cut short"
        raise RefusedError(message)
    return found


def steps(
    found: dict[str, str],
    name: str,
    *,
    run: bool,
    check: bool,
    reread: bool = False,
    written: float = 0,
) -> list[list[str]]:
    """Return the systemctl commands that are needed.

    Args:
        found: the properties of the unit.
        name: the unit.
        run: whether it is to run.
        check: whether its package may be still to come.
        reread: whether its unit files changed after it was started.
        written: when its files were last written, in seconds of the monotonic clock.

    """
    if found["LoadState"] != "loaded" and not check:
        message = f"no unit {name}: it is {found['LoadState']}; is its package installed?"
        raise RefusedError(message)
    needed = [] if found["UnitFileState"] in _ENABLED else [["enable", "--quiet", name]]
    if run and found["ActiveState"] != "active":
        needed.append(["start", name])
    elif run and (reread or written > int(found[_STARTED] or 0) / 1e6):
        needed.append(["restart", name])
    return needed


def last_written(files: Sequence[str]) -> float:
    """Return when the newest of these files was written, by the monotonic clock."""
    times = [Path(name).stat().st_mtime for name in files if Path(name).is_file()]
    return time.monotonic() - (time.time() - max(times)) if times else 0


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "list", "elements": "str", "required": True},
            "run": {"type": "bool", "default": True},
            "files": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )

    def systemctl(words: Sequence[str]) -> str:
        argv = ["timeout", "--kill-after=5", str(_TIMEOUT_S), "systemctl", *words]
        status, out, err = module.run_command(argv, environ_update={"LC_ALL": "C"})
        if status:
            said = " ".join((err or out).split())[:300]
            message = f"systemctl {' '.join(words)} failed with {status}: {said}"
            raise RefusedError(message)
        return str(out)

    asked, check = ["show", f"--property={','.join(_PROPERTIES)}"], module.check_mode
    run, written = module.params["run"], last_written(module.params["files"])
    done: list[str] = []
    try:
        for name in module.params["name"]:
            found = shown(systemctl([*asked, name]), name)
            stale = found["NeedDaemonReload"] == "yes"
            if stale and not check:
                systemctl(["daemon-reload"])
                # What a unit is wanted by may be among what changed.
                found = shown(systemctl([*asked, name]), name)
            needed = steps(found, name, run=run, check=check, reread=stale, written=written)
            for words in [] if check else needed:
                systemctl(words)
            done += ["daemon-reload"] * stale + [" ".join(words) for words in needed]
        module.exit_json(changed=bool(done), steps=done)
    except (RefusedError, OSError) as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
