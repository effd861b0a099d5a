# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read the state of the daemon of IBM Storage Scale on this node, and start it."""

from __future__ import annotations

import os
import time

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gpfs_state
short_description: Starts or checks the GPFS daemon of this node
options:
  state:
    description: C(checked) changes nothing and fails where the daemon is not active.
    choices: [started, checked]
    required: true
  timeout_s:
    description: How long a daemon that was started may take to become active.
    type: int
    default: 180
author: muster
"""

EXAMPLES = r"""
- name: Check the daemon
  gpfs_state:
    state: checked
"""

RETURN = r"""
daemon:
  description: Its state, as mmgetstate says it; unknown where it says nothing.
  returned: always
  type: str
"""

_PATH = "/usr/lpp/mmfs/bin"


def parse(text: str) -> str:
    """Read `mmgetstate -Y`: the state of the one node in it, unknown where that is not said."""
    rows = [line.split(":") for line in text.splitlines() if line.startswith("mmgetstate:")]
    heading = next((row for row in rows if len(row) > 2 and row[2] == "HEADER"), [])  # noqa: PLR2004 its place
    values = [row for row in rows if row is not heading]
    if "state" not in heading or len(values) != 1:
        return "unknown"
    column = heading.index("state")
    return values[0][column] if len(values[0]) > column + 1 else "unknown"


class Daemon:
    """The daemon of this node."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.said = ""

    def _run(self, command: list[str]) -> tuple[int, str, str]:
        path = f"{os.environ.get('PATH', '/usr/sbin:/usr/bin')}:{_PATH}"
        done: tuple[int, str, str] = self.module.run_command(
            ["timeout", "60", *command], environ_update={"PATH": path, "LC_ALL": "C"}
        )
        return done

    def state(self) -> str:
        """Return its state."""
        _, out, err = self._run(["mmgetstate", "-Y"])
        self.said = " ".join(err.split())[-300:]
        return parse(out)

    def start(self, timeout_s: int) -> str:
        """Start it, wait until it is active, and return its state."""
        status, out, err = self._run(["mmstartup"])
        if status:
            self.said = " ".join((err or out).split())[-300:]
            return self.state()
        deadline = time.monotonic() + timeout_s
        found = self.state()
        while found != "active" and time.monotonic() < deadline:
            time.sleep(5)  # noqa: TID251 this module runs on a node, without muster
            found = self.state()
        return found


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"choices": ["started", "checked"], "required": True},
            "timeout_s": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    daemon = Daemon(module)
    found = daemon.state()
    changed = found != "active" and module.params["state"] == "started"
    if changed and not module.check_mode:
        found = daemon.start(module.params["timeout_s"])
    if found != "active" and not (changed and module.check_mode):
        said = f": {daemon.said}" if daemon.said else "; has this node joined its cluster?"
        module.fail_json(msg=f"the GPFS daemon is {found}, active expected{said}")
    module.exit_json(changed=changed, daemon=found)


if __name__ == "__main__":
    main()
