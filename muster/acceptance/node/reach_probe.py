"""Which nodes answer? Run on the head node; asks all at once and judges nothing.

usage: reach_probe.py < ASK.json

ASK: {"nodes": {name: address}, "timeout_s": 3, "ssh_port": 22, "slurmd_port": 6818}. Prints {name:
{"ssh": state, "slurmd": state}}: "answers" (ssh sent its banner), "open" (connected), "silent"
(connected, but nothing came: the kernel lives, the programs do not), or "closed: <why>".
"""

from __future__ import annotations

import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_AT_ONCE = 64


def knock(address: str, port: int, timeout_s: float, *, banner: bool) -> str:
    """Connect, and wait for a banner where one is due."""
    try:
        with socket.create_connection((address, port), timeout=timeout_s) as connection:
            if not banner:
                return "open"
            connection.settimeout(timeout_s)
            return "answers" if connection.recv(4) == b"SSH-" else "silent"
    except TimeoutError:
        # Without a connection there was no answer at all; with one, it is the banner that is late.
        return "silent" if banner and _connects(address, port, timeout_s) else "closed: no answer"
    except OSError as error:
        return f"closed: {error.strerror or error}"


def _connects(address: str, port: int, timeout_s: float) -> bool:
    try:
        socket.create_connection((address, port), timeout=timeout_s).close()
    except OSError:
        return False
    return True


def main() -> int:
    """Ask every node, print what each did."""
    ask: dict[str, Any] = json.load(sys.stdin)
    timeout_s = float(ask["timeout_s"])

    def states(address: str) -> dict[str, str]:
        return {
            "ssh": knock(address, int(ask["ssh_port"]), timeout_s, banner=True),
            "slurmd": knock(address, int(ask["slurmd_port"]), timeout_s, banner=False),
        }

    nodes = dict(ask["nodes"])
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        answers = pool.map(states, nodes.values())
    json.dump(dict(zip(nodes, answers, strict=True)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
