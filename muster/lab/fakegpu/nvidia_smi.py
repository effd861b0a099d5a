#!/usr/bin/python3 -SE
"""Stub of nvidia-smi: answers as the real tool would from what a file says of the GPUs.

The file (`/etc/fakegpu/state.json`, or $FAKEGPU_STATE) has `mode` (null, "nodriver" or "hang"),
`model`, `count`, `memory_mib`, and under `gpus` by position what differs from the defaults: any
field that can be queried, and `state` "lost" (fell off the bus) or "absent" (not enumerated: the
indices of the GPUs behind it move up, bus ids do not, as on hardware). Standard library only.
"""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

LOST, NO_DRIVER, NO_DEVICE, BAD_USE = 255, 9, 6, 2
UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "power.draw": "W",
    "power.limit": "W",
    "clocks.sm": "MHz",
    "clocks.mem": "MHz",
    "clocks.max.sm": "MHz",
    "utilization.gpu": "%",
    "utilization.memory": "%",
}
DEFAULTS: dict[str, Any] = {
    "driver_version": "0.0-lab",
    "vbios_version": "0.0-lab",
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "mig.mode.current": "Disabled",
    "memory.used": 0,
    "temperature.gpu": 35,
    "temperature.memory": 38,
    "power.draw": "70.00",
    "power.limit": "700.00",
    "clocks.sm": 1980,
    "clocks.mem": 2619,
    "clocks.max.sm": 1980,
    "utilization.gpu": 0,
    "utilization.memory": 0,
    "pstate": "P0",
    "clocks_event_reasons.active": "0x0000000000000000",
    "clocks_throttle_reasons.active": "0x0000000000000000",
    "pcie.link.gen.current": 5,
    "pcie.link.gen.max": 5,
    "pcie.link.width.current": 16,
    "pcie.link.width.max": 16,
    "ecc.mode.current": "Enabled",
    "ecc.errors.corrected.volatile.total": 0,
    "ecc.errors.corrected.aggregate.total": 0,
    "ecc.errors.uncorrected.volatile.total": 0,
    "ecc.errors.uncorrected.aggregate.total": 0,
    "remapped_rows.correctable": 0,
    "remapped_rows.uncorrectable": 0,
    "remapped_rows.pending": "No",
    "remapped_rows.failure": "No",
}
COMPUTED = ("index", "count", "name", "gpu_name", "uuid", "gpu_uuid", "serial", "gpu_serial",
            "pci.bus_id", "gpu_bus_id", "memory.total", "memory.free")  # fmt: skip


class Refusal(Exception):  # noqa: N818 - the tool's own words, not an error of this program
    """What the tool prints instead of an answer, and its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def read_state() -> dict[str, Any]:
    """Return what the file says; without it there is no driver."""
    path = Path(os.environ.get("FAKEGPU_STATE", "/etc/fakegpu/state.json"))
    try:
        state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = {"mode": "nodriver"}
    if state.get("mode") == "hang":
        while True:
            signal.pause()
    if state.get("mode") == "nodriver":
        message = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n"
        )
        raise Refusal(message, NO_DRIVER)
    return state


def bus_id(position: int) -> str:
    """Return the PCI address of the GPU at a position of the board."""
    return f"00000000:{(position + 1) * 0x10:02X}:00.0"


def enumerate_gpus(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all fields of the GPUs that the driver sees, in order."""
    machine = Path(os.environ.get("FAKEGPU_MACHINE_ID", "/etc/machine-id"))
    identity = machine.read_text(encoding="utf-8").strip() if machine.is_file() else ""
    found: list[dict[str, Any]] = []
    total = int(state.get("memory_mib", 0))
    present = [
        (position, state.get("gpus", {}).get(str(position), {}))
        for position in range(int(state.get("count", 0)))
    ]
    present = [(p, own) for p, own in present if own.get("state") != "absent"]
    for index, (position, own) in enumerate(present):
        digest = hashlib.sha256(f"{identity}/{position}".encode()).hexdigest()
        uuid = "-".join(
            ["GPU", digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]]
        )
        gpu = {**DEFAULTS, "memory.total": total, **own, "index": index, "count": len(present)}
        gpu["name"] = gpu["gpu_name"] = state.get("model", "")
        gpu["uuid"] = gpu["gpu_uuid"] = own.get("uuid", uuid)
        gpu["serial"] = gpu["gpu_serial"] = own.get("serial", str(int(digest[32:44], 16))[:13])
        gpu["pci.bus_id"] = gpu["gpu_bus_id"] = bus_id(position)
        gpu["memory.free"] = own.get("memory.free", gpu["memory.total"] - gpu["memory.used"])
        found.append(gpu)
    return found


def select(gpus: list[dict[str, Any]], wanted: str) -> list[dict[str, Any]]:
    """Return the GPUs that `-i` names: by index, uuid or bus id; all without it."""
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    chosen = gpus if not names else []
    for name in names:
        matching = [g for g in gpus if name in {str(g["index"]), g["uuid"], g["pci.bus_id"]}]
        if not matching:
            raise Refusal("No devices were found\n", NO_DEVICE)
        chosen += matching
    if not chosen:
        raise Refusal("No devices were found\n", NO_DEVICE)
    for gpu in chosen:
        if gpu.get("state") == "lost":
            message = (
                f"Unable to determine the device handle for GPU{gpu['index']}: "
                f"{gpu['pci.bus_id']}: Unknown Error\n"
            )
            raise Refusal(message, LOST)
    return chosen


def query(gpus: list[dict[str, Any]], fields: list[str], style: list[str]) -> str:
    """Return `--query-gpu` as CSV."""
    known = {*DEFAULTS, *COMPUTED}
    for field in fields:
        if field not in known:
            raise Refusal(f'Field "{field}" is not a valid field to query.\n\n', BAD_USE)
    with_units = "nounits" not in style
    rows = [] if "noheader" in style else [[_heading(f, with_units=with_units) for f in fields]]
    rows += [[_value(gpu[f], f, with_units=with_units) for f in fields] for gpu in gpus]
    return "".join(", ".join(row) + "\n" for row in rows)


def _heading(field: str, *, with_units: bool) -> str:
    return f"{field} [{UNITS[field]}]" if with_units and field in UNITS else field


def _value(value: Any, field: str, *, with_units: bool) -> str:
    return f"{value} {UNITS[field]}" if with_units and field in UNITS else str(value)


def table(gpus: list[dict[str, Any]]) -> str:
    """Return a short table, for a person."""
    lines = [f"NVIDIA-SMI (muster lab stub)   Driver Version: {DEFAULTS['driver_version']}"]
    lines += [
        f"{g['index']:3}  {g['name']}  {g['pci.bus_id']}  {g['temperature.gpu']}C  "
        f"{g['memory.used']}MiB / {g['memory.total']}MiB"
        for g in gpus
    ]
    return "\n".join(lines) + "\n"


def options(arguments: list[str]) -> dict[str, str]:
    """Read the command line into {option: value}."""
    spelled = {"-L": "--list-gpus", "-i": "--id"}
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, _, value = rest.pop(0).partition("=")
        name = spelled.get(name, name)
        takes_value = name in {"--id", "--query-gpu", "--query-compute-apps", "--format"}
        if not takes_value and name != "--list-gpus":
            message = f"Invalid combination of input arguments: {name!r} is not in this stub.\n"
            raise Refusal(message, BAD_USE)
        found[name] = (value or (rest.pop(0) if rest else "")) if takes_value else "yes"
    return found


def answer(arguments: list[str]) -> str:
    """Return what the tool prints."""
    asked = options(arguments)
    style = [word.strip() for word in asked.get("--format", "").split(",")]
    gpus = select(enumerate_gpus(read_state()), asked.get("--id", ""))
    if "--list-gpus" in asked:
        return "".join(f"GPU {g['index']}: {g['name']} (UUID: {g['uuid']})\n" for g in gpus)
    if "--query-compute-apps" in asked:
        # No process ever runs on these GPUs.
        return "" if "noheader" in style else asked["--query-compute-apps"] + "\n"
    if "--query-gpu" in asked:
        fields = [field.strip() for field in asked["--query-gpu"].split(",")]
        if "csv" not in style:
            raise Refusal('"--query-gpu" needs "--format=csv".\n', BAD_USE)
        return query(gpus, fields, style)
    return table(gpus)


def main() -> int:
    """Print the answer; returns the exit status."""
    try:
        sys.stdout.write(answer(sys.argv[1:]))
    except Refusal as refusal:
        sys.stdout.write(str(refusal))
        return refusal.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
