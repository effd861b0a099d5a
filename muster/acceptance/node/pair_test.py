"""Plays this node's part of one round of pair tests: iperf3 on all its rails side by side.

usage: pair_test.py PLAN.json [NODE_NAME]

PLAN: {"round": 0, "seconds": 1, "connect_s": 4, "test_s": 8, "pairs": [{"client": name,
"server": name, "rails": [{"rail": 0, "client_address": a, "server_address": b,
"client_interface": i, "server_interface": j, "ports": [18500, 18501]}]}]}, one port a direction.
A test lasts for `seconds`, not for a number of bytes: a link at a tenth of its rate is then slow,
not unfinished. Per rail the client sends to the server, then the server to the client: two
directions at once would share one TCP connection's pace and tell nothing. Prints one JSON document
with iperf3's raw output. Every wait is bounded: a partner that never comes ends this program with a
result that says so.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess  # noqa: TID251 - runs on a node, where muster is not installed
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_DIRECTIONS = ("forward", "reverse")
_RETRY_S = 0.1
_COUNTERS = ("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "tx_bytes", "rx_bytes")


def run(argv: list[str], timeout_s: float) -> dict[str, Any]:
    """Run iperf3 to its end or to the deadline."""
    record: dict[str, Any] = {"argv": argv, "rc": None, "stdout": "", "stderr": ""}
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=max(timeout_s, 0.1),
            check=False,
        )
        record.update(rc=done.returncode, stdout=done.stdout, stderr=done.stderr)
    except subprocess.TimeoutExpired:
        record["error"] = f"not done within {timeout_s:.1f} s"
    except OSError as error:
        record["error"] = f"could not be started: {error.strerror}"
    return record


def connected(record: dict[str, Any]) -> bool:
    """Did the client reach its server at all? (iperf3: "unable to connect to server")."""
    return "unable to connect" not in record["stdout"] + record["stderr"]


def client_argv(plan: dict[str, Any], rail: dict[str, Any], direction: str) -> list[str]:
    """Command line of one direction, bound to the rail's own address."""
    argv = ["iperf3", "--json", "-c", rail["server_address"], "-B", rail["client_address"]]
    argv += ["-p", port(rail, direction), "-t", str(plan["seconds"])]
    return [*argv, "-R"] if direction == "reverse" else argv


def port(rail: dict[str, Any], direction: str) -> str:
    """Each direction has a server of its own: one that just ended a test refuses the next."""
    return str(rail["ports"][_DIRECTIONS.index(direction)])


def limit_s(plan: dict[str, Any]) -> float:
    """How long a node's whole part may take."""
    return float(plan["connect_s"]) + 2 * float(plan["test_s"])


def as_client(plan: dict[str, Any], rail: dict[str, Any]) -> list[dict[str, Any]]:
    """Both directions of one rail; waits for the server a bounded time."""
    begin = time.monotonic()
    tests = []
    for direction in _DIRECTIONS:
        argv = client_argv(plan, rail, direction)
        attempts, record = 0, {}
        while attempts == 0 or time.monotonic() - begin < float(plan["connect_s"]):
            attempts += 1
            started = time.monotonic()
            left = limit_s(plan) - (started - begin)
            record = run(argv, min(left, float(plan["test_s"])))
            record["duration_s"] = round(time.monotonic() - started, 3)
            if connected(record):
                break
            time.sleep(_RETRY_S)  # noqa: TID251 - no clock is handed in here
        tests.append({"rail": rail["rail"], "direction": direction, "attempts": attempts, **record})
    return tests


def serve(plan: dict[str, Any], rail: dict[str, Any], direction: str) -> dict[str, Any]:
    """Serve one client, then the server is gone."""
    argv = ["iperf3", "--json", "-s", "-1", "-B", rail["server_address"]]
    record = run([*argv, "-p", port(rail, direction)], limit_s(plan))
    # What the server saw is in the client's output; its own is kept where it failed.
    if record["rc"] == 0:
        record["stdout"] = ""
    return {"rail": rail["rail"], "direction": direction, **record}


def as_server(plan: dict[str, Any], rail: dict[str, Any]) -> list[dict[str, Any]]:
    """Serve both directions of one rail."""
    with ThreadPoolExecutor(max_workers=len(_DIRECTIONS)) as pool:
        return list(pool.map(lambda direction: serve(plan, rail, direction), _DIRECTIONS))


def counters(interface: str) -> dict[str, int]:
    """The interface's counters now."""
    found = {}
    for name in _COUNTERS:
        path = Path("/sys/class/net") / interface / "statistics" / name
        try:
            found[name] = int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return found


def play(plan: dict[str, Any], node: str) -> dict[str, Any]:
    """Find this node's pair and do its part."""
    result: dict[str, Any] = {"program": "muster-pair-test", "node": node, "round": plan["round"]}
    pair = next((p for p in plan["pairs"] if node in {p["client"], p["server"]}), None)
    if pair is None:
        return {**result, "role": "none", "tests": []}
    role = "client" if node == pair["client"] else "server"
    part = as_client if role == "client" else as_server
    ports = {rail["rail"]: rail[f"{role}_interface"] for rail in pair["rails"]}
    before = {rail: counters(interface) for rail, interface in ports.items()}
    with ThreadPoolExecutor(max_workers=len(pair["rails"])) as pool:
        parts = [pool.submit(part, plan, rail) for rail in pair["rails"]]
        tests = [test for future in parts for test in future.result()]
    delta = {}
    for rail, interface in ports.items():
        after = counters(interface)
        delta[str(rail)] = {k: after[k] - v for k, v in before[rail].items() if k in after}
    return {**result, "role": role, "tests": tests, "counters": delta}


def main(argv: list[str]) -> int:
    """Read the plan, play, print."""
    if len(argv) not in {2, 3}:
        sys.stderr.write("usage: pair_test.py PLAN.json [NODE_NAME]\n")
        return 2
    plan = json.loads(Path(argv[1]).read_text(encoding="utf-8"))
    node = argv[2] if len(argv) == 3 else os.environ.get("SLURMD_NODENAME", "")  # noqa: PLR2004
    json.dump(play(plan, node or socket.gethostname()), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
