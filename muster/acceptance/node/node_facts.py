"""What does this node see of itself? Prints one JSON document and judges nothing.

usage: node_facts.py ASK.json [NODE_NAME]

ASK says what to look at: {"services": [...], "shared_marker": path, "disks": [...],
"gpu_query": [argv], "timeout_s": 5}. Tools' raw output is passed on: it is parsed and judged where
the evidence is kept. A part that fails is an entry with its error; the others are still told.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess  # noqa: TID251 - runs on a node, where muster is not installed
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_COUNTERS = (
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "rx_crc_errors",
    "tx_carrier_errors",
)
_MAX_OUTPUT = 200_000
_TRACKING = ["chronyc", "-n", "-c", "tracking"]
_SYNC_S = 8
"""Time for a daemon that was just started, or woke up; a burst is four samples 2 s apart."""


def run(argv: list[str], timeout_s: float) -> dict[str, Any]:
    """Run a tool; its output, or why there is none."""
    begin = time.monotonic()
    record: dict[str, Any] = {"argv": argv, "rc": None, "stdout": "", "stderr": ""}
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
        record.update(
            rc=done.returncode,
            stdout=done.stdout[:_MAX_OUTPUT],
            stderr=done.stderr[:_MAX_OUTPUT],
        )
    except subprocess.TimeoutExpired:
        record["error"] = f"no answer within {timeout_s:g} s"
    except OSError as error:
        record["error"] = f"could not be started: {error.strerror}"
    record["duration_s"] = round(time.monotonic() - begin, 3)
    return record


def read(path: Path) -> str | None:
    """Return a small file without trailing white space, or None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").rstrip()
    except OSError:
        return None


def interfaces() -> dict[str, Any]:
    """Link state and counters of every interface, as sysfs has them."""
    found: dict[str, Any] = {}
    for entry in sorted(Path("/sys/class/net").iterdir()):
        counters = {name: read(entry / "statistics" / name) for name in _COUNTERS}
        found[entry.name] = {
            "carrier": read(entry / "carrier"),
            "operstate": read(entry / "operstate"),
            "speed": read(entry / "speed"),
            "mtu": read(entry / "mtu"),
            "counters": {k: int(v) for k, v in counters.items() if v and v.isdigit()},
        }
    return found


def disks(paths: list[str]) -> dict[str, Any]:
    """Total and free bytes of each path's file system, or the error."""
    found: dict[str, Any] = {}
    for path in paths:
        try:
            usage = shutil.disk_usage(path)
            found[path] = {"total": usage.total, "free": usage.free}
        except OSError as error:
            found[path] = {"error": error.strerror}
    return found


def marker(path: str) -> dict[str, Any]:
    """Is the shared file system there? Its marker tells "not mounted" from "empty"."""
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        return {"path": path, "error": error.strerror}
    return {"path": path, "id": text}


def limits() -> dict[str, Any]:
    """Soft limits of this process, which are those of a job; -1 is unlimited."""
    return {
        "memlock": resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


def serial() -> str:
    """Return the serial given at creation, an EC2 instance's id, or the firmware's serial.

    On Nitro instances the id is the board's asset tag (EC2 user guide, "Identify EC2 instances").
    """
    given = read(Path("/etc/muster/serial"))
    tag = read(Path("/sys/class/dmi/id/board_asset_tag")) or ""
    instance = tag if tag.startswith("i-") else ""
    return given or instance or read(Path("/sys/class/dmi/id/product_serial")) or ""


def tracking(timeout_s: float) -> dict[str, Any]:
    """Ask the time daemon; one that is not synchronised is first told to measure now."""
    record = run(_TRACKING, timeout_s)
    if not record["stdout"].rstrip().endswith("Not synchronised"):
        return record
    run(["chronyc", "-n", "burst", "3/4"], timeout_s)
    run(["chronyc", "-n", "waitsync", str(_SYNC_S), "0", "0", "1"], _SYNC_S + timeout_s)
    return run(_TRACKING, timeout_s)


def commands(ask: dict[str, Any]) -> dict[str, Any]:
    """Run the vendors' and the system's tools side by side: one that hangs delays no other."""
    timeout_s = float(ask.get("timeout_s", 5))
    wanted = {
        "addresses": ["ip", "-j", "addr"],
        "services": ["systemctl", "is-active", "--", *ask.get("services", [])],
        "xid": [
            *["journalctl", "--quiet", "--boot", "--identifier=kernel", "--grep=NVRM: Xid"],
            *["--output=json", "--no-pager", "--lines=200"],
        ],
        "slurmd_version": ["slurmd", "-V"],
    }
    if ask.get("gpu_query"):
        wanted["gpu"] = list(ask["gpu_query"])
    with ThreadPoolExecutor(max_workers=len(wanted) + 1) as pool:
        running = {key: pool.submit(run, argv, timeout_s) for key, argv in wanted.items()}
        running["chrony"] = pool.submit(tracking, timeout_s)
        return {key: future.result() for key, future in running.items()}


def collect(ask: dict[str, Any], node: str) -> dict[str, Any]:
    """Everything, with the wall clock as this node has it."""
    begin = time.monotonic()
    facts: dict[str, Any] = {
        "program": "muster-node-facts",
        "node": node,
        "wall_clock": time.time(),
        "serial": serial(),
        "boot_id": read(Path("/proc/sys/kernel/random/boot_id")) or "",
        "kernel": os.uname().release,
        "cpus": os.cpu_count(),
        "meminfo": read(Path("/proc/meminfo")) or "",
        "gpu_devices": sorted(str(p) for p in Path("/dev").glob("nvidia[0-9]*")),
        "interfaces": interfaces(),
        "disks": disks(list(ask.get("disks", []))),
        "limits": limits(),
        "commands": commands(ask),
    }
    if ask.get("shared_marker"):
        facts["shared"] = marker(str(ask["shared_marker"]))
    facts["duration_s"] = round(time.monotonic() - begin, 3)
    return facts


def main(argv: list[str]) -> int:
    """Read what is asked, print what was found."""
    if len(argv) not in {2, 3}:
        sys.stderr.write("usage: node_facts.py ASK.json [NODE_NAME]\n")
        return 2
    ask = json.loads(Path(argv[1]).read_text(encoding="utf-8"))
    node = argv[2] if len(argv) == 3 else os.environ.get("SLURMD_NODENAME", "")  # noqa: PLR2004
    json.dump(collect(ask, node or socket.gethostname()), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
