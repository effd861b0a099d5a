"""Libraries that fake packages bring, as ldconfig and ldd tell of them; else the real tools."""

from __future__ import annotations

import os
from pathlib import Path

from muster.lab.fakehw.node.machine import Answer, Machine, Tools

LINKED = "# linked with: "
"""Line of a fake program that names its libraries."""


def libraries(machine: Machine) -> dict[str, str]:
    """Return path by name of the libraries that packages brought."""
    found: dict[str, str] = {}
    for brought in machine.packages().values():
        found |= brought.get("libraries", {})
    return found


def ldconfig(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `ldconfig -p`; anything else is the real one's work."""
    if arguments != ["-p"]:
        os.execv("/usr/sbin/ldconfig", ["ldconfig", *arguments])  # noqa: S606 the real tool, no shell
    lines = [f"\t{name} (libc6,x86-64) => {path}\n" for name, path in libraries(machine).items()]
    return Answer(f"{len(lines)} libs found in cache `/etc/ld.so.cache'\n{''.join(lines)}")


def ldd(machine: Machine, arguments: list[str]) -> Answer:
    """Say what a fake program is linked with, and which of it is not there."""
    path = Path(arguments[-1]) if arguments else Path()
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    named = [line.removeprefix(LINKED) for line in text.splitlines() if line.startswith(LINKED)]
    if not named:
        os.execv("/usr/bin/ldd", ["ldd", *arguments])  # noqa: S606 the real tool, no shell
    known = libraries(machine)
    lines = []
    for name in named[0].split():
        found = known.get(name, "")
        where = f"{found} (0x00007f0000000000)" if found else "not found"
        lines.append(f"\t{name} => {where}\n")
    return Answer("".join(lines))


TOOLS: Tools = {"ldconfig": ldconfig, "ldd": ldd}
