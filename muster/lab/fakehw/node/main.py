"""What runs under the name of every tool: `nvidia-smi` is this program under that name.

Under its own name: `fakehw boot` (as a boot does), `fakehw apply` (write the device tree),
`fakehw daemon NAME`.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path

from muster.lab.fakehw.node import (
    amd,
    bus,
    fabric,
    kernel,
    linker,
    lustre,
    nvidia,
    settings,
    slurm,
    tree,
)
from muster.lab.fakehw.node.machine import Answer, Machine, Tools, changing

TOOLS: Tools = {
    **kernel.TOOLS,
    **settings.TOOLS,
    **bus.TOOLS,
    **linker.TOOLS,
    **nvidia.TOOLS,
    **amd.TOOLS,
    **fabric.TOOLS,
    **lustre.TOOLS,
    **slurm.TOOLS,
}
"""Every tool by name."""
OVERRIDES = (
    *kernel.TOOLS,
    *settings.TOOLS,
    *bus.TOOLS,
    *linker.TOOLS,
    "srun",
    "scontrol",
)
"""Tools that every system has, and that must answer for the fake hardware from the start."""
ONCE = frozenset({"muster-mount", "openibd"})
"""Services that do something and end; what is ordered after them finds it done."""
_CHANGES = frozenset({"modprobe", "rmmod", "lnetctl", "lctl", "lfs"})


def _own(root: Path, arguments: list[str]) -> int:
    if arguments[:1] == ["daemon"] and len(arguments) > 1:
        # A web server is slow to import, and every tool would wait for it.
        services = importlib.import_module("muster.lab.fakehw.node.services")
        status: int = services.run(root, arguments[1], stay=arguments[1] not in ONCE)
        return status
    if arguments not in (["boot"], ["apply"]):
        sys.stderr.write("usage: fakehw boot|apply|daemon NAME\n")
        return 2
    with changing(root):
        machine = Machine(root)
        if arguments == ["boot"]:
            kernel.boot(machine)
            machine.gpu["fabric_ready"] = False
            machine.save()
            tree.forget(machine)
            tree.write(machine)
            settings.boot(machine)
        tree.write(machine)
    return 0


def answer(root: Path, name: str, arguments: list[str]) -> Answer:
    """Return what a tool prints; one tool at a time changes the state."""
    if name not in _CHANGES:
        return _asked(root, name, arguments)
    with changing(root):
        given = _asked(root, name, arguments)
        tree.write(Machine(root))
    return given


def _asked(root: Path, name: str, arguments: list[str]) -> Answer:
    machine = Machine(root)
    if name in machine.state.get("hangs", []):
        while True:
            signal.pause()
    special = machine.state.get("answers", {}).get(name)
    if special:
        return Answer(**special)
    return TOOLS[name](machine, arguments)


def main() -> int:
    """Answer under the name that this was called by."""
    root = Path(os.environ.get("FAKEHW_ROOT", "/"))
    name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    if name not in TOOLS:
        return _own(root, arguments)
    given = answer(root, name, arguments)
    sys.stdout.write(given.out)
    sys.stderr.write(given.err)
    return given.status
