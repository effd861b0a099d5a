"""One node's fake hardware: its state file, what its packages brought, and how a tool answers."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

STATE = "etc/fakehw/state.json"
PACKAGES = "usr/share/fakehw/packages"
"""A file per package of the lab's repository: what the real package would have brought."""
SYSFS = "var/lib/fakehw/sys"
PROCFS = "var/lib/fakehw/proc"


class Answer(NamedTuple):
    """What a tool prints, and its exit status."""

    out: str = ""
    err: str = ""
    status: int = 0


class Machine:
    """A node below `root`; `save` writes its state, and a reader never sees half of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        text = (root / STATE).read_text(encoding="utf-8")
        self.state: dict[str, Any] = json.loads(text)

    @property
    def kernel(self) -> str:
        """Release of the kernel that runs."""
        return str(self.state["kernel"]["running"])

    @property
    def loaded(self) -> dict[str, dict[str, Any]]:
        """Modules in the kernel: {name: {"version": ..., "license": ...}}."""
        found: dict[str, dict[str, Any]] = self.state["loaded"]
        return found

    @property
    def gpu(self) -> dict[str, Any]:
        """GPUs: vendor, model, count and what differs from the defaults."""
        found: dict[str, Any] = self.state["gpu"]
        return found

    @property
    def fabric(self) -> dict[str, Any]:
        """Fabric adapters: kind and devices by name."""
        found: dict[str, Any] = self.state["fabric"]
        return found

    def save(self) -> None:
        """Write the state file at once."""
        path = self.root / STATE
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(json.dumps(self.state, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        new.replace(path)

    def packages(self) -> dict[str, dict[str, Any]]:
        """Return what each installed package brought, by its name."""
        folder = self.root / PACKAGES
        files = sorted(folder.glob("*.json")) if folder.is_dir() else []
        return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}

    def installed(self, kernel: str = "") -> dict[str, dict[str, Any]]:
        """Return the modules that packages brought for a kernel; DKMS builds for every kernel."""
        kernel = kernel or self.kernel
        found: dict[str, dict[str, Any]] = {}
        failed = self.state.get("dkms_failed", ())
        for brought in self.packages().values():
            unbuilt = brought.get("dkms", {}).get("name") in failed
            modules = {} if unbuilt else brought.get("modules", {})
            found |= {n: m for n, m in modules.items() if kernel.startswith(m.get("kernel", ""))}
        return {**self.in_tree(), **found}

    def in_tree(self) -> dict[str, dict[str, Any]]:
        """Return the modules that come with the kernel itself."""
        names: list[str] = self.state["kernel"]["modules"]
        return {name: {"version": "", "license": "GPL", "in_tree": True} for name in names}

    def version_of(self, tool: str) -> str:
        """Return the version of a tool as its package says; empty where none brought it."""
        for brought in self.packages().values():
            if tool in brought.get("tools", {}):
                return str(brought["tools"][tool])
        return ""


@contextmanager
def changing(root: Path) -> Iterator[None]:
    """Let one program at a time read, change and write the state."""
    with (root / STATE).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


Tool = Callable[[Machine, list[str]], Answer]
Tools = Mapping[str, Tool]


def option(arguments: list[str], *names: str) -> str:
    """Return the value of an option, as `-i 3`, `--id 3` or `--id=3`; empty without it."""
    for position, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else "".join(arguments[position + 1 : position + 2])
    return ""


def refused(tool: str, arguments: list[str]) -> Answer:
    """Answer a question that this stub was never taught: an error, never an empty success."""
    return Answer(
        err=f"{tool}: fake hardware knows no answer to {' '.join(arguments)!r}\n", status=64
    )
