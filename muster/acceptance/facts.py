"""What did a node say of itself? Pure: node_facts.py's document in, values or problems out."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GPU_FIELDS = (
    "index",
    "uuid",
    "serial",
    "pci.bus_id",
    "name",
    "memory.total",
    "ecc.errors.uncorrected.volatile.total",
    "temperature.gpu",
    "clocks_event_reasons.active",
    "driver_version",
)
GPU_QUERY = ("nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits")
_MEM_TOTAL = re.compile(r"^MemTotal:\s+(\d+) kB$", re.MULTILINE)
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+)")
_LOST = re.compile(r"Unable to determine the device handle for GPU\s*(\d*)")
_NO_DRIVER = "couldn't communicate with the NVIDIA driver"
_CHRONY_FIELDS = 14
_SYSTEM_OFFSET = 4
_LEAP = 13


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a value could not be read. Not a fault of the node by itself: the check says unknown."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """One accelerator; None where the tool printed no number ("[N/A]")."""

    index: int
    uuid: str
    serial: str
    bus_id: str
    name: str
    ecc_uncorrected: int | None
    temperature_c: int | None
    clock_reasons: int | None
    driver: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuState:
    """What the vendor's tool said: GPUs, or that the driver or one device is gone."""

    gpus: tuple[Gpu, ...]
    lost: str = ""
    """Index of the device that the tool could not open, or "?" where it did not say."""
    no_driver: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Interface:
    """A network interface. `speed_mbit` is None where the driver states none."""

    name: str
    carrier: bool
    speed_mbit: int | None
    mtu: int | None
    addresses: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Xid:
    """One error that the GPU driver wrote to the kernel's log."""

    bus_id: str
    code: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Time:
    """The wall clock when the facts were taken, and what chrony thinks of it."""

    wall_clock_s: float
    offset_s: float
    synchronised: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A node, as it sees itself; each part may be a Problem instead."""

    node: str
    serial: str
    boot_id: str
    kernel: str
    wall_clock_s: float
    cpus: int | Problem
    memory_mib: int | Problem
    gpu: GpuState | Problem
    gpu_devices: tuple[str, ...]
    interfaces: Mapping[str, Interface] | Problem
    free_bytes: Mapping[str, int | Problem]
    shared_id: str | Problem
    limits: Mapping[str, int] | Problem
    time: Time | Problem
    services: Mapping[str, str] | Problem
    xids: tuple[Xid, ...] | Problem
    slurmd_version: str | Problem
    duration_s: float


class _Command:
    """One entry of `commands`: the raw output of a tool, or why there is none."""

    def __init__(self, document: Mapping[str, Any], key: str) -> None:
        record = document.get("commands", {}).get(key)
        self.missing = not isinstance(record, dict)
        record = {} if self.missing else record
        self.argv: list[str] = list(record.get("argv", []))
        self.rc: int | None = record.get("rc")
        self.stdout = str(record.get("stdout", ""))
        self.stderr = str(record.get("stderr", ""))
        self.error = "was not asked" if self.missing else str(record.get("error", ""))
        self.name = self.argv[0] if self.argv else key

    def problem(self) -> Problem:
        """Say why this output cannot be used."""
        if self.error:
            return Problem(f"{self.name}: {self.error}")
        said = " ".join((self.stderr or self.stdout).split())[:160]
        return Problem(f"{self.name} ended with {self.rc}: {said or 'no message'}")

    @property
    def ok(self) -> bool:
        return not self.error and self.rc == 0


def parse_facts(text: str) -> Facts | Problem:
    """Read the document; a Problem where it is cut short or of another program."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return Problem(f"node facts are cut short or no JSON ({error.msg} at {error.pos})")
    if not isinstance(document, dict) or document.get("program") != "muster-node-facts":
        return Problem("the output is not of node_facts.py")
    try:
        return _facts(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Problem(f"node facts are of another form: {type(error).__name__}: {error}")


def _facts(document: Mapping[str, Any]) -> Facts:
    wall_clock_s = float(document["wall_clock"])
    return Facts(
        node=str(document["node"]),
        serial=str(document["serial"]),
        boot_id=str(document["boot_id"]),
        kernel=str(document["kernel"]),
        wall_clock_s=wall_clock_s,
        cpus=int(document["cpus"]) if document.get("cpus") else Problem("no processor count"),
        memory_mib=_memory(str(document["meminfo"])),
        gpu=parse_gpus(_Command(document, "gpu")),
        gpu_devices=tuple(document["gpu_devices"]),
        interfaces=_interfaces(document),
        free_bytes={path: _free(entry) for path, entry in document["disks"].items()},
        shared_id=_shared(document.get("shared")),
        limits={str(k): int(v) for k, v in document["limits"].items()},
        time=_time(_Command(document, "chrony"), wall_clock_s),
        services=_services(_Command(document, "services")),
        xids=_xids(_Command(document, "xid")),
        slurmd_version=_version(_Command(document, "slurmd_version")),
        duration_s=float(document.get("duration_s", 0.0)),
    )


def _memory(meminfo: str) -> int | Problem:
    found = _MEM_TOTAL.search(meminfo)
    return int(found[1]) // 1024 if found else Problem("/proc/meminfo has no MemTotal")


def _whole(text: str) -> int | None:
    try:
        return int(text.strip(), 0)
    except ValueError:
        return None


def parse_gpus(command: _Command) -> GpuState | Problem:
    """Read the vendor tool's table; a lost device and a dead driver are states, not problems."""
    said = command.stdout + command.stderr
    if _NO_DRIVER in said:
        return GpuState(gpus=(), no_driver=True)
    lost = _LOST.search(said)
    if not command.ok and lost is None:
        return command.problem()
    rows = [row for row in csv.reader(command.stdout.splitlines(), skipinitialspace=True) if row]
    rows = [row for row in rows if not _LOST.search(",".join(row))]
    if any(len(row) != len(GPU_FIELDS) for row in rows):
        return Problem(f"{command.name} printed a table of another width")
    gpus = tuple(_gpu(dict(zip(GPU_FIELDS, row, strict=True))) for row in rows)
    return GpuState(gpus=gpus, lost=(lost[1] or "?") if lost else "")


def _gpu(row: Mapping[str, str]) -> Gpu:
    return Gpu(
        index=int(row["index"]),
        uuid=row["uuid"],
        serial=row["serial"],
        bus_id=row["pci.bus_id"],
        name=row["name"],
        ecc_uncorrected=_whole(row["ecc.errors.uncorrected.volatile.total"]),
        temperature_c=_whole(row["temperature.gpu"]),
        clock_reasons=_whole(row["clocks_event_reasons.active"]),
        driver=row["driver_version"],
    )


def _interfaces(document: Mapping[str, Any]) -> Mapping[str, Interface] | Problem:
    command = _Command(document, "addresses")
    if not command.ok:
        return command.problem()
    addresses = {
        str(entry["ifname"]): tuple(
            str(item["local"])
            for item in entry.get("addr_info", [])
            if item.get("family") == "inet"
        )
        for entry in json.loads(command.stdout)
    }
    found = {}
    for name, entry in document["interfaces"].items():
        speed = _whole(entry.get("speed") or "")
        found[name] = Interface(
            name=name,
            carrier=entry.get("carrier") == "1",
            speed_mbit=speed if speed and speed > 0 else None,
            mtu=_whole(entry.get("mtu") or ""),
            addresses=addresses.get(name, ()),
        )
    return found


def _free(entry: Mapping[str, Any]) -> int | Problem:
    return Problem(str(entry["error"])) if "error" in entry else int(entry["free"])


def _shared(entry: Mapping[str, Any] | None) -> str | Problem:
    if entry is None:
        return Problem("was not asked")
    if "error" in entry:
        return Problem(f"{entry['path']}: {entry['error']}")
    return str(entry["id"])


def _time(command: _Command, wall_clock_s: float) -> Time | Problem:
    """Read `chronyc -c tracking`: 14 fields; the 5th is the offset in s, the last the leap."""
    if not command.ok:
        return command.problem()
    fields = command.stdout.strip().split(",")
    if len(fields) != _CHRONY_FIELDS:
        return Problem(f"chronyc printed {len(fields)} fields, expected {_CHRONY_FIELDS}")
    return Time(
        wall_clock_s=wall_clock_s,
        offset_s=float(fields[_SYSTEM_OFFSET]),
        synchronised=fields[_LEAP] != "Not synchronised",
    )


def _services(command: _Command) -> Mapping[str, str] | Problem:
    """Read `systemctl is-active -- A B`: one word per unit in order, whatever the exit status."""
    units = command.argv[command.argv.index("--") + 1 :] if "--" in command.argv else []
    words = command.stdout.split()
    if command.error or len(words) != len(units):
        return command.problem()
    return dict(zip(units, words, strict=True))


def _xids(command: _Command) -> tuple[Xid, ...] | Problem:
    """Read journalctl's JSON lines; with --grep, status 1 and no output means none."""
    none_found = command.rc == 1 and not command.stdout.strip() and not command.stderr.strip()
    if none_found and not command.error:
        return ()
    if not command.ok:
        return command.problem()
    found = []
    for line in command.stdout.splitlines():
        message = json.loads(line).get("MESSAGE")
        # journald gives text that is not UTF-8 as a list of bytes.
        text = bytes(message).decode(errors="replace") if isinstance(message, list) else message
        match = _XID.search(str(text))
        if match:
            found.append(Xid(bus_id=match[1], code=int(match[2]), text=str(text)))
    return tuple(found)


def _version(command: _Command) -> str | Problem:
    return command.stdout.strip() if command.ok else command.problem()
