"""Removing a lab: finds what is there, whatever the files say, and leaves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

from muster import shell
from muster.clock import Clock, SystemClock
from muster.errors import MusterError
from muster.lab import cgroups, netns, network
from muster.lab.locks import locked
from muster.lab.node import mounts_below
from muster.lab.paths import LabPaths, lab_paths

_TIMEOUT_S = 60.0
_PROPAGATE = Path("/run/systemd/nspawn/propagate")


def remove_lab(lab: str, clock: Clock | None = None) -> None:
    """End all that belongs to the lab and remove its files; works from any half-made state.

    Raises:
        MusterError: something stays; the message names it.

    """
    paths = lab_paths(lab)
    with locked(paths.lock("network")):
        cgroups.remove(paths.cgroup, clock or SystemClock())
        for point in mounts_below(paths.directory):
            shell.must_run(["umount", "--lazy", point], timeout_s=_TIMEOUT_S)
        network.remove_network(lab)
        for directory in _propagate(paths):
            directory.rmdir()
        if mounts_below(paths.directory):
            raise MusterError("still mounted", where=str(paths.directory), hint="See `findmnt`.")
        if paths.directory.is_dir():
            shutil.rmtree(paths.directory)
        left = leftovers(lab)
        for lock in paths.lock("x").parent.glob(f"{lab}.*.lock"):
            lock.unlink()
    if left:
        raise MusterError(f"still there: {', '.join(left)}", where=f"lab {lab}")


def _propagate(paths: LabPaths) -> list[Path]:
    """Empty directories that nspawn leaves."""
    return sorted(_PROPAGATE.glob(f"{paths.prefix}*")) if _PROPAGATE.is_dir() else []


def leftovers(lab: str) -> list[str]:
    """Name all that is there of the lab: processes, cgroups, mounts, namespaces, links, files."""
    paths = lab_paths(lab)
    found = [f"process {pid}" for pid in cgroups.pids(paths.cgroup)]
    found += [f"cgroup {directory}" for directory in cgroups.remains(paths.cgroup)]
    found += [f"mount {point}" for point in mounts_below(paths.directory)]
    found += [f"network namespace {n}" for n in netns.names() if n.startswith(paths.prefix)]
    found += [f"link {n}" for n in netns.read("") if n.startswith(paths.prefix)]
    found += [f"directory {directory}" for directory in _propagate(paths)]
    found += [f"directory {paths.directory}"] if paths.directory.is_dir() else []
    return found
