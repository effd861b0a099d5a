"""Daemons of the fake packages: they stay up where the real ones would, and fail as they do."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping

from muster.lab.fakehw.node import nvidia, tree
from muster.lab.fakehw.node.machine import Machine


def _persistenced(machine: Machine) -> str:
    return "" if nvidia.driver(machine) else "Failed to query NVIDIA devices: no driver is loaded"


def _fabric_manager(machine: Machine) -> str:
    fault = nvidia.fabric_manager_fault(machine)
    if bool(machine.gpu.get("fabric_ready")) == bool(fault):
        machine.gpu["fabric_ready"] = not fault
        machine.save()
    return fault


def _host_engine(machine: Machine) -> str:
    return "nvml: driver/library version mismatch" if nvidia.trouble(machine) else ""


def _nothing_wrong(_machine: Machine) -> str:
    return ""


_FAULTS: Mapping[str, Callable[[Machine], str]] = {
    "nvidia-persistenced": _persistenced,
    "nvidia-fabricmanager": _fabric_manager,
    "nvidia-dcgm": _host_engine,
}


def run(machine: Machine, name: str) -> int:
    """Be a daemon until a signal comes; returns at once where the real one would not stay up."""
    fault = _FAULTS.get(name, _nothing_wrong)(machine)
    if fault:
        sys.stderr.write(f"{name}: {fault}\n")
        return 1
    tree.write(machine)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        signal.pause()
