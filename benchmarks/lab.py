"""How long does the lab take? Image, whole `up`, its stages, a no-op `up`, `down`; by fleet size.

    .venv/bin/python benchmarks/lab.py --sizes 4,8,16 --runs 3 [--image]

Every run brings a lab of its own (name `bench`) up from nothing with `muster up`, as a person
would, and destroys it again. Times of stages come from the engine's own state (when each resource
was made), so they are those of one and the same `up`. Prints one column per size: the median and
the range over the runs in seconds, and the median per node. With --image the image is built anew
first, in a directory of its own; its packages are downloaded, so that time is the network's too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from muster.project import own_environment, project_with_stack

PROJECT = Path(__file__).parents[1]
PULUMI = Path(sys.executable).parent / "pulumi"
STACK = "bench"
NODES_PER_LEAF = 2
UP_TIMEOUT_S = 1800
ROWS = ("nodes up", "converge", "accept", "whole up", "no-op converge", "no-op up", "down")


def main() -> None:
    """Run the sizes in turn and print the table."""
    arguments = _arguments()
    if arguments.image:
        print(f"image build: {_image_s():.0f} s", flush=True)
    sizes = [int(word) for word in arguments.sizes.split(",")]
    found: dict[int, list[Mapping[str, float]]] = {}
    for size in sizes:
        for run in range(arguments.runs):
            found.setdefault(size, []).append(_measure(size))
            print(f"{size} nodes, run {run + 1}: {_line(found[size][-1])}", flush=True)
    print()
    for line in _table(found):
        print(line)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", default="4,8,16", help="GPU nodes, comma-separated")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--image", action="store_true", help="also time a build of the image")
    return parser.parse_args()


def _measure(size: int) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory(prefix="muster-bench.") as directory:
        project = Path(directory)
        cluster = {
            "target": "lab",
            "pools": [{"name": "gpu", "type": "lab.8gpu", "count": size}],
            "lab": {"name": STACK, "nodesPerLeaf": NODES_PER_LEAF},
        }
        project_with_stack(project, STACK, cluster)
        try:
            begin = datetime.now(UTC)
            whole_s = _timed("up", STACK, "--yes", project=project)
            stages = _stages(begin, project)
            quiet_s = _timed("converge", STACK, project=project)
            no_op_s = _timed("up", STACK, "--yes", project=project)
        finally:
            down_s = _timed("down", STACK, project=project)
    return {
        **stages,
        "whole up": whole_s,
        "no-op converge": quiet_s,
        "no-op up": no_op_s,
        "down": down_s,
    }


def _timed(*words: str, project: Path) -> float:
    begin = time.monotonic()
    _run(
        [sys.executable, "-m", "muster.cli.main", *words], cwd=project, env=own_environment(project)
    )
    return time.monotonic() - begin


def _run(argv: list[str], *, cwd: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=UP_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def _stages(begin: datetime, project: Path) -> dict[str, float]:
    """Return the seconds of each stage of the first `up`."""
    export = [str(PULUMI), "stack", "export", "--stack", STACK]
    state = json.loads(_run(export, cwd=project, env=own_environment(project)))
    made: dict[str, datetime] = {}
    for resource in state["deployment"]["resources"]:
        if "created" in resource:
            kind = resource["type"].rsplit(":", maxsplit=1)[-1]
            when = datetime.fromisoformat(resource["created"])
            made[kind] = max(made.get(kind, begin), when)
    return {
        "nodes up": (made["Node"] - begin).total_seconds(),
        "converge": (made["Convergence"] - made["Node"]).total_seconds(),
        "accept": (made["Acceptance"] - made["Convergence"]).total_seconds(),
    }


def _image_s() -> float:
    """Build the image from nothing, in a directory of its own."""
    program = "from muster.lab.image import ensure_image; ensure_image(lambda line: None)"
    with tempfile.TemporaryDirectory(prefix="muster-bench.", dir="/var/lib") as directory:
        begin = time.monotonic()
        _run([sys.executable, "-c", program], cwd=PROJECT, env={"MUSTER_LAB_ROOT": directory})
        return time.monotonic() - begin


def _line(times: Mapping[str, float]) -> str:
    return ", ".join(f"{row} {times[row]:.0f} s" for row in ROWS)


def _table(found: Mapping[int, list[Mapping[str, float]]]) -> Iterable[str]:
    sizes = list(found)
    yield (
        "| median seconds (min to max), per node | "
        + " | ".join(f"{s} nodes" for s in sizes)
        + " |"
    )
    yield "|---" * (len(sizes) + 1) + "|"
    for row in ROWS:
        cells = [_cell([run[row] for run in found[size]], size) for size in sizes]
        yield f"| {row} | " + " | ".join(cells) + " |"


def _cell(values: list[float], size: int) -> str:
    middle = statistics.median(values)
    return f"{middle:.1f} ({min(values):.1f} to {max(values):.1f}), {middle / size:.1f}"


if __name__ == "__main__":
    main()
