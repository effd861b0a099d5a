"""What faults do inside nodes and to their cgroups; each can be done twice and undone."""

from __future__ import annotations

from muster.lab import fault_model
from muster.lab.locks import locked
from muster.lab.paths import LabPaths


def reapply(paths: LabPaths, node: str) -> None:
    """Break again, after a boot, what was broken before it."""
    del paths, node


def forget(paths: LabPaths, node: str) -> None:
    """Drop the faults of a node that is removed."""
    with locked(paths.lock("faults")):
        active = fault_model.load(paths.faults_file)
        kept = tuple(fault for fault in active if fault.node != node)
        if kept != active:
            fault_model.save(paths.faults_file, kept)
