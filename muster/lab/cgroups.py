"""One cgroup per node, in every hierarchy: what lives, what is frozen, and how to end it.

Without it all nspawn containers of a host without systemd share one cgroup, and one node's systemd
kills another node's services. The cgroup is also the truth about life: it needs no pid file.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from muster.clock import Clock
from muster.errors import MusterError

_ENABLE = ("cpu", "io", "memory", "pids")
# A new v1 cpuset refuses processes until it is filled in; perf_event and net_* are of no use here.
_V1_USED = ("systemd", "cpu", "cpuacct", "memory", "pids", "freezer", "devices", "blkio")
_KILL_WAIT_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where cgroups are mounted: v2, and those of v1 that nodes use, by controller."""

    v2: Path
    v1: dict[str, Path]

    def directories(self, cgroup: str) -> list[Path]:
        """Return the cgroup's directory in every hierarchy that nodes use, v2 first."""
        unique = dict.fromkeys(self.v1[name] for name in _V1_USED if name in self.v1)
        return [self.v2 / cgroup, *(mount / cgroup for mount in unique)]


def parse_mounts(mounts: str) -> Hierarchies | None:
    """Read /proc/mounts; None where no cgroup v2 is mounted."""
    v2: Path | None = None
    v1: dict[str, Path] = {}
    for line in mounts.splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2" and v2 is None:
            v2 = Path(where)
        elif kind == "cgroup":
            for option in options.split(","):
                name = option.removeprefix("name=")
                if name in _V1_USED:
                    v1.setdefault(name, Path(where))
    return None if v2 is None else Hierarchies(v2, v1)


def hierarchies() -> Hierarchies:
    """Return this machine's cgroup hierarchies.

    Raises:
        MusterError: no cgroup v2 is mounted.

    """
    found = parse_mounts(Path("/proc/mounts").read_text(encoding="utf-8"))
    if found is None:
        what = "no cgroup v2 hierarchy is mounted"
        raise MusterError(what, hint="Run `mount -t cgroup2 none /sys/fs/cgroup/unified`.")
    return found


def make(cgroup: str) -> list[Path]:
    """Make the cgroup in every hierarchy; returns its directories."""
    found = hierarchies()
    directories = found.directories(cgroup)
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
    offered = (found.v2 / "cgroup.controllers").read_text(encoding="utf-8").split()
    wanted = " ".join(f"+{name}" for name in _ENABLE if name in offered)
    parent = found.v2
    for part in ("", *Path(cgroup).parts[:-1]) if wanted else ():
        parent = parent / part
        # Refused where the parent has processes of its own: then faults say what they lack.
        with contextlib.suppress(OSError):
            (parent / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")
    return directories


def _tree(top: Path) -> list[Path]:
    """All cgroups at and below `top`, deepest first; they come and go while we look."""
    return [Path(directory) for directory, _, _ in os.walk(top, topdown=False)]


def pids(cgroup: str) -> list[int]:
    """Return the processes at and below the cgroup."""
    found: list[int] = []
    for directory in _tree(hierarchies().v2 / cgroup):
        with contextlib.suppress(OSError):
            found += map(int, (directory / "cgroup.procs").read_text(encoding="utf-8").split())
    return found


def first_process(cgroup: str) -> int | None:
    """Return which process of the cgroup is PID 1 of a container; None where none is."""
    for pid in pids(cgroup):
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        ids = next((x.split()[1:] for x in status.splitlines() if x.startswith("NSpid:")), [])
        if len(ids) > 1 and ids[-1] == "1":
            return pid
    return None


def populated(cgroup: str) -> bool:
    """Does anything live in the cgroup?"""
    events = hierarchies().v2 / cgroup / "cgroup.events"
    try:
        return "populated 1" in events.read_text(encoding="utf-8")
    except OSError:
        return False


def _freezer(found: Hierarchies, cgroup: str) -> tuple[Path, str, str]:
    """Return the freezer's file and its words for frozen and running."""
    if "freezer" in found.v1:
        return found.v1["freezer"] / cgroup / "freezer.state", "FROZEN", "THAWED"
    return found.v2 / cgroup / "cgroup.freeze", "1", "0"


def frozen(cgroup: str) -> bool:
    """Are the cgroup's processes stopped by the freezer?"""
    path, word, _ = _freezer(hierarchies(), cgroup)
    try:
        state = path.read_text(encoding="utf-8").strip()
    except OSError:
        return False
    return state in {word, "FREEZING"}


def freeze(cgroup: str, *, stop: bool) -> None:
    """Stop all processes of the cgroup, or let them go on."""
    path, stopped, going = _freezer(hierarchies(), cgroup)
    path.write_text(stopped if stop else going, encoding="utf-8")


def _thaw_all(found: Hierarchies, cgroup: str) -> None:
    """Let all frozen processes at and below the cgroup go on: a frozen one cannot die (v1)."""
    path, _, going = _freezer(found, cgroup)
    for directory in _tree(path.parent):
        with contextlib.suppress(OSError):
            (directory / path.name).write_text(going, encoding="utf-8")


def remove(cgroup: str, clock: Clock) -> None:
    """Kill all that lives in the cgroup and remove it from every hierarchy.

    Leaving the empty directories would make the node's next boot `degraded`.

    Raises:
        MusterError: something did not die.

    """
    found = hierarchies()
    if (found.v2 / cgroup).is_dir():
        _thaw_all(found, cgroup)
        (found.v2 / cgroup / "cgroup.kill").write_text("1", encoding="utf-8")
        deadline_s = clock.monotonic_s() + _KILL_WAIT_S
        while populated(cgroup):
            if clock.monotonic_s() > deadline_s:
                what = f"processes {pids(cgroup)} do not die"
                raise MusterError(what, where=f"cgroup {cgroup}")
            clock.sleep(_POLL_S)
    for directory in found.directories(cgroup):
        for inner in _tree(directory):
            _remove_directory(inner, clock)


def _remove_directory(directory: Path, clock: Clock) -> None:
    """Remove one cgroup; a dying process may hold it for some milliseconds."""
    deadline_s = clock.monotonic_s() + _KILL_WAIT_S
    while True:
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or clock.monotonic_s() > deadline_s:
                what = f"cannot be removed: {error.strerror}"
                raise MusterError(what, where=str(directory)) from error
            clock.sleep(_POLL_S)


def remains(cgroup: str) -> list[Path]:
    """Return the directories of the cgroup that still exist."""
    return [d for d in hierarchies().directories(cgroup) if d.is_dir()]
