"""The files of the fake /sys and /proc that follow from the state; others are left as they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

from muster.lab.fakehw.node import bus, fabric, kernel, nvidia
from muster.lab.fakehw.node.machine import PROCFS, SYSFS, Machine

_OURS = (
    f"{SYSFS}/class/infiniband",
    f"{SYSFS}/class/nvme",
    f"{SYSFS}/bus/pci",
    f"{SYSFS}/module",
    f"{PROCFS}/driver/nvidia",
)
"""Folders that are wholly decided by the state: what is gone from it is removed."""


def files(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield each file below the node's root with its text."""
    yield from _adapters(machine)
    yield from _bus(machine)
    yield from _modules(machine)
    yield from _disks(machine)
    if nvidia.driver(machine):
        yield from _nvidia(machine)
    for name, module in machine.loaded.items():
        yield f"{SYSFS}/module/{name}/srcversion", kernel.source_version(name, module)
        if module.get("version"):
            yield f"{SYSFS}/module/{name}/version", module["version"]
    mounted = machine.state["lustre"].get("mounted", [])
    servers = (f"10.0.0.9@tcp:/lab {path} lustre rw,flock 0 0\n" for path in mounted)
    yield f"{PROCFS}/mounts", "".join(servers)
    yield f"{PROCFS}/sys/kernel/osrelease", machine.kernel
    yield f"{PROCFS}/cmdline", machine.state["kernel"]["cmdline"]


def _adapters(machine: Machine) -> Iterator[tuple[str, str]]:
    layer = "InfiniBand" if machine.fabric["kind"] == "infiniband" else "Ethernet"
    layer = "Unspecified" if machine.fabric["kind"] == "efa" else layer
    numbers = {"ACTIVE": "4: ACTIVE", "DOWN": "1: DOWN", "INIT": "2: INIT"}
    for name, own in fabric.adapters(machine).items():
        home = f"{SYSFS}/class/infiniband/{name}"
        down = own.get("state", "ACTIVE") == "DOWN"
        yield f"{home}/fw_ver", own.get("firmware", "28.39.1002")
        yield f"{home}/node_type", "1: CA"
        yield f"{home}/ports/1/state", numbers[own.get("state", "ACTIVE")]
        yield f"{home}/ports/1/phys_state", "3: Disabled" if down else "5: LinkUp"
        yield f"{home}/ports/1/rate", f"{own.get('rate', 400)} Gb/sec (4X NDR)"
        yield f"{home}/ports/1/link_layer", layer
        for index, kind in enumerate(own.get("gids", [])):
            yield f"{home}/ports/1/gids/{index}", f"fe80:0000:0000:0000:0000:0000:0000:{index:04x}"
            yield f"{home}/ports/1/gid_attrs/types/{index}", kind
        for group in ("counters", "hw_counters"):
            for counter, value in own.get(group, {}).items():
                yield f"{home}/ports/1/{group}/{counter}", str(value)


def _bus(machine: Machine) -> Iterator[tuple[str, str]]:
    for device in bus.devices(machine):
        home = f"{SYSFS}/bus/pci/devices/{device['slot']}"
        yield f"{home}/vendor", f"0x{device['vendor']}"
        yield f"{home}/device", f"0x{device['device']}"
        yield f"{home}/class", f"0x{device['class']}00"
        yield f"{home}/numa_node", str(device.get("numa", 0))


def _modules(machine: Machine) -> Iterator[tuple[str, str]]:
    lines = []
    for name, module in machine.loaded.items():
        yield f"{SYSFS}/module/{name}/initstate", "live"
        for parameter, value in module.get("parameters", {}).items():
            yield f"{SYSFS}/module/{name}/parameters/{parameter}", str(value)
        lines.append(f"{name} 4096 0 - Live 0x0000000000000000")
    yield f"{PROCFS}/modules", "\n".join(lines)


def _disks(machine: Machine) -> Iterator[tuple[str, str]]:
    for number, disk in enumerate(machine.state["disks"]):
        if disk.get("present", True):
            yield f"{SYSFS}/class/nvme/nvme{number}/model", disk["model"]
            yield f"{SYSFS}/class/nvme/nvme{number}/serial", disk["serial"]


def _nvidia(machine: Machine) -> Iterator[tuple[str, str]]:
    version = nvidia.driver(machine)
    is_open = "MIT" in machine.loaded["nvidia"].get("license", "")
    flavour = "Open Kernel Module for x86_64" if is_open else "Kernel Module for x86_64"
    text = f"NVRM version: NVIDIA UNIX {flavour}  {version}  Release Build"
    yield f"{PROCFS}/driver/nvidia/version", text
    for gpu in _alive(machine):
        home = f"{PROCFS}/driver/nvidia/gpus/{gpu['pci.bus_id'][4:].lower()}"
        yield f"{home}/information", f"Model: \t\t {gpu['name']}\nGPU UUID: \t {gpu['uuid']}"


def _alive(machine: Machine) -> list[dict[str, Any]]:
    return [gpu for gpu in nvidia.gpus(machine) if gpu.get("state") != "lost"]


def write(machine: Machine) -> None:
    """Make the files below the node's root what the state says."""
    wanted = {path: f"{text}\n" for path, text in files(machine)}
    for folder in _OURS:
        place = machine.root / folder
        for path in [p for p in place.rglob("*") if p.is_file()]:
            if path.relative_to(machine.root).as_posix() not in wanted:
                path.unlink()
        for path in sorted((p for p in place.rglob("*") if p.is_dir()), reverse=True):
            if not any(path.iterdir()):
                path.rmdir()
    for name, text in {**_tunables(machine), **wanted}.items():
        path = machine.root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _tunables(machine: Machine) -> dict[str, str]:
    """Return settings that are not there yet, as a kernel that nobody tuned has them."""
    defaults: dict[str, str] = machine.state["settings"]
    return {path: f"{t}\n" for path, t in defaults.items() if not (machine.root / path).is_file()}


def forget(machine: Machine) -> None:
    """Remove the whole tree: what was written by hand does not outlive a boot."""
    for folder in (SYSFS, PROCFS):
        shutil.rmtree(machine.root / folder, ignore_errors=True)
