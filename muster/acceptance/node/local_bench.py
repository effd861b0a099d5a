"""How fast are this node's processor, memory and disk, and does it compute the same thing twice?

usage: local_bench.py ASK.json [NODE_NAME]

ASK: {"threads": 1, "gemm_n": 512, "windows": 3, "window_s": 0.35, "copy_mib": 64,
"disk_dir": "/var/tmp", "disk_mib": 32, "disk_runtime_s": 3}. Prints one JSON document with every
window's raw numbers; a part that cannot run is an entry with its error. Uses numpy and fio.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess  # noqa: TID251 - runs on a node, where muster is not installed
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_SEED = 20261121
_STOPPED = (ImportError, LookupError, MemoryError, OSError, ValueError, subprocess.SubprocessError)
_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def cpu_model() -> str:
    """Name of the processor: results are compared between equal ones only."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return ""


def gemm(ask: dict[str, Any], dtype: str, window_count: int) -> dict[str, Any]:
    """Multiply the same matrices again and again: rate per window, and every product compared."""
    import numpy as np  # noqa: PLC0415 - its absence is a result, not a crash

    n = int(ask.get("gemm_n", 512))
    rng = np.random.RandomState(_SEED)
    left = rng.standard_normal((n, n)).astype(dtype)
    right = rng.standard_normal((n, n)).astype(dtype)
    out = np.empty((n, n), dtype=dtype)
    np.matmul(left, right, out=out)
    first = out.tobytes()
    windows, repeats, mismatches = [], 0, 0
    for _ in range(window_count):
        products, begin = 0, time.monotonic()
        while time.monotonic() - begin < float(ask.get("window_s", 0.35)):
            np.matmul(left, right, out=out)
            products += 1
            mismatches += out.tobytes() != first
        repeats += products
        # The whole window, comparisons too: a processor that is held back between two products is
        # held back.
        windows.append({"flops": 2.0 * n**3 * products, "s": time.monotonic() - begin})
    return {
        "dtype": dtype,
        "n": n,
        "windows": windows,
        "repeats": repeats,
        "mismatches": mismatches,
        "sha256": hashlib.sha256(first).hexdigest(),
        "numpy": np.__version__,
    }


def memory(ask: dict[str, Any]) -> dict[str, Any]:
    """Copy a block larger than the caches; a copy reads and writes each byte."""
    import numpy as np  # noqa: PLC0415 - as above

    size = int(ask.get("copy_mib", 64)) * 2**20
    source = np.ones(size // 8)
    target = np.empty(size // 8)
    # The first copy only gets the pages.
    np.copyto(target, source)
    windows = []
    for _ in range(int(ask.get("windows", 3))):
        copies, begin = 0, time.monotonic()
        while time.monotonic() - begin < float(ask.get("window_s", 0.35)):
            np.copyto(target, source)
            copies += 1
        windows.append({"bytes": 2.0 * size * copies, "s": time.monotonic() - begin})
    return {"copy_mib": size // 2**20, "windows": windows, "equal": bool((target == source).all())}


def disk(ask: dict[str, Any]) -> dict[str, Any]:
    """Write, then read, past the page cache; fio's own JSON is passed on."""
    runtime_s = int(ask.get("disk_runtime_s", 3))
    with tempfile.TemporaryDirectory(prefix="muster-", dir=ask["disk_dir"]) as place:
        shared = [
            f"--filename={place}/probe",
            f"--size={int(ask.get('disk_mib', 32))}m",
            *["--bs=1m", "--direct=1", "--ioengine=psync", f"--runtime={runtime_s}"],
        ]
        argv = [
            *["fio", "--output-format=json"],
            *["--name=write", "--rw=write", "--end_fsync=1", *shared],
            *["--name=read", "--stonewall", "--rw=read", *shared],
        ]
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * runtime_s + 20,
            check=False,
        )
    return {"argv": argv, "rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def attempt(part: Any, *arguments: Any) -> dict[str, Any]:
    """Run one part; what stops it becomes its result."""
    begin = time.monotonic()
    try:
        result: dict[str, Any] = part(*arguments)
    except _STOPPED as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    result["duration_s"] = round(time.monotonic() - begin, 3)
    return result


def main(argv: list[str]) -> int:
    """Read what is asked, print what was measured."""
    if len(argv) not in {2, 3}:
        sys.stderr.write("usage: local_bench.py ASK.json [NODE_NAME]\n")
        return 2
    ask = json.loads(Path(argv[1]).read_text(encoding="utf-8"))
    # Libraries read these once, when they are loaded: before the first import of numpy.
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(int(ask.get("threads", 1)))))
    node = argv[2] if len(argv) == 3 else os.environ.get("SLURMD_NODENAME", "")  # noqa: PLR2004
    result = {
        "program": "muster-local-bench",
        "node": node or socket.gethostname(),
        "cpu_model": cpu_model(),
        "threads": int(ask.get("threads", 1)),
        # One window of float32 is enough to compare bits; float64 is what is rated.
        "gemm": [
            attempt(gemm, ask, "float32", 1),
            attempt(gemm, ask, "float64", int(ask.get("windows", 3))),
        ],
        "memory": attempt(memory, ask),
        "disk": attempt(disk, ask),
    }
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
