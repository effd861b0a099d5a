"""How long does a plan of 10,000 GPUs take, and how much memory? How many resources does it make?

    .venv/bin/python -m benchmarks.plan [--runs 5] [--without-parallelcluster]

Plans 1,250 p5.48xlarge in four pools, and 8 of them, in processes of their own: plan, preflight,
price and power. Prints the median time after the import, the time of the whole process, the
peak memory of the process, and the number of resources that the Pulumi program makes of the plan
(on Pulumi's mocks, to the end: fleet, convergence, acceptance), for both sizes and as the ratio of
the two. Then the same beside AWS ParallelCluster: see benchmarks/beside_parallelcluster.py.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POOLS = 4
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleEx bench"
SIZES = (8, 1250)
KIB_PER_MIB = 1024


def main() -> None:
    """Measure each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--without-parallelcluster", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--resources", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(_plan(arguments.child)))
    elif arguments.resources:
        print(json.dumps(_resources(arguments.resources)))
    else:
        _print_plans(arguments.runs)
        if not arguments.without_parallelcluster:
            # Only here: the simulated AWS is larger than all that is measured.
            from benchmarks.beside_parallelcluster import compare  # noqa: PLC0415

            compare(arguments.runs)


def _print_plans(runs: int) -> None:
    print(f"{'nodes':>6} {'plan s':>8} {'process s':>10} {'peak MiB':>9} {'resources':>10}")
    medians = {}
    for nodes in SIZES:
        found = [_measured(nodes) for _ in range(runs)]
        medians[nodes] = {key: statistics.median(run[key] for run in found) for key in found[0]}
        row = medians[nodes]
        row["resources"] = _child("--resources", nodes)["resources"]
        times = f"{row['plan']:>8.3f} {row['process']:>10.2f} {row['mib']:>9.0f}"
        print(f"{nodes:>6} {times} {row['resources']:>10.0f}")
    few, many = medians[SIZES[0]], medians[SIZES[-1]]
    ratios = ", ".join(f"{key} {many[key] / few[key]:.2f}" for key in few)
    print(f"{SIZES[-1]} nodes over {SIZES[0]}: {ratios}")


def _measured(nodes: int) -> dict[str, float]:
    begin = time.monotonic()
    found = _child("--child", nodes)
    return {**found, "process": time.monotonic() - begin}


def _child(what: str, nodes: int) -> dict[str, float]:
    argv = [sys.executable, "-m", "benchmarks.plan", what, str(nodes)]
    done = subprocess.run(
        argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=120
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _resources(nodes: int) -> dict[str, float]:
    from tests.cloud.program.recording import run  # noqa: PLC0415 - it imports the SDK

    cluster = {**_cluster(nodes), "stages": ["infra", "converge", "accept"]}
    recording, outputs = run(cluster)
    if "readiness" not in outputs:
        raise RuntimeError("the program did not run to its end")
    return {"resources": len(recording.resources)}


def _plan(nodes: int) -> dict[str, float]:
    from muster.catalog import load_catalog  # noqa: PLC0415 - the import is not what is timed
    from muster.plan.aws.plan import plan_aws  # noqa: PLC0415
    from muster.plan.power import power_of  # noqa: PLC0415
    from muster.plan.price import price_of  # noqa: PLC0415
    from muster.plan.rules.model import View  # noqa: PLC0415
    from muster.plan.rules.run import preflight  # noqa: PLC0415
    from muster.spec import parse_spec  # noqa: PLC0415

    begin, now = time.monotonic(), datetime.now(UTC)
    catalog = load_catalog()
    spec = parse_spec(_cluster(nodes), where="bench", catalog=catalog, today=now.date())
    plan = plan_aws(spec, catalog, "bench")
    checked = preflight(View(spec=spec, plan=plan, catalog=catalog, now=now))
    price_of(plan, catalog)
    power_of(plan)
    if plan.nodes != nodes or not checked.results:
        raise RuntimeError(f"{plan.nodes} nodes planned, {len(checked.results)} results")
    seconds = time.monotonic() - begin
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"plan": seconds, "mib": peak_kib / KIB_PER_MIB}


def _cluster(nodes: int) -> dict[str, Any]:
    counts = [nodes // POOLS + (n < nodes % POOLS) for n in range(POOLS)]
    return {
        "target": "aws",
        "network": {"zoneId": "use2-az1", "cidr": "10.0.0.0/16"},
        "image": "ami-0123456789abcdef0",
        "access": {"publicKeys": [KEY]},
        "pools": [
            {
                "name": f"train{n}",
                "type": "p5.48xlarge",
                "count": count,
                "capacity": {"reservation": f"cr-0123456789abcde{n}0"},
            }
            for n, count in enumerate(counts)
        ],
        "stages": ["infra"],
    }


if __name__ == "__main__":
    main()
