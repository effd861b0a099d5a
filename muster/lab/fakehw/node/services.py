"""Daemons of the fake packages: they stay up where the real ones would, and fail as they do."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from muster.lab.fakehw.node import kernel, lustre, nvidia, tree
from muster.lab.fakehw.node.machine import Machine, changing


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


def _openibd(machine: Machine) -> str:
    return kernel.modprobe(machine, ["mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_ucm"]).err


def _nothing_wrong(_machine: Machine) -> str:
    return ""


class _Metrics(BaseHTTPRequestHandler):
    """Metrics of the GPUs as DCGM's exporter has them."""

    root = Path("/")

    def do_GET(self) -> None:
        """Answer with what the GPUs say at this moment."""
        machine = Machine(self.root)
        found = [] if nvidia.trouble(machine) else nvidia.gpus(machine)
        alive = [gpu for gpu in found if gpu.get("state") != "lost"]
        lines = ["# TYPE DCGM_FI_DEV_GPU_TEMP gauge"]
        for gpu in alive:
            labels = f'gpu="{gpu["index"]}",UUID="{gpu["uuid"]}"'
            lines.append(f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {gpu['temperature.gpu']}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(("\n".join(lines) + "\n").encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: the journal is for what goes wrong."""


def _serve_metrics(machine: Machine) -> None:
    _Metrics.root = machine.root
    address, _, port = os.environ.get("DCGM_EXPORTER_LISTEN", ":9400").rpartition(":")
    HTTPServer((address, int(port)), _Metrics).serve_forever()


_FAULTS: Mapping[str, Callable[[Machine], str]] = {
    "nvidia-persistenced": _persistenced,
    "nvidia-fabricmanager": _fabric_manager,
    "nvidia-dcgm": _host_engine,
    "openibd": _openibd,
    "muster-mount": lustre.mount,
}


def run(root: Path, name: str, *, stay: bool = True) -> int:
    """Be a daemon until a signal comes; returns at once where the real one would not stay up."""
    with changing(root):
        machine = Machine(root)
        fault = _FAULTS.get(name, _nothing_wrong)(machine)
        tree.write(machine)
    if fault:
        sys.stderr.write(f"{name}: {fault}\n")
        return 1
    if not stay:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if name == "nvidia-dcgm-exporter":
        _serve_metrics(machine)
    while True:
        signal.pause()
