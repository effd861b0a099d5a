"""How long does a plan of 10,000 GPUs take, and how much memory?

    .venv/bin/python benchmarks/plan.py [--runs 5]

Plans 1,250 p5.48xlarge in four pools, and 8 of them, in processes of their own: plan, preflight,
price and power. Prints the median time after the import, the time of the whole process, and the
peak memory of the process, for both sizes and as the ratio of the two.
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
from typing import Any

POOLS = 4
SIZES = (8, 1250)
KIB_PER_MIB = 1024


def main() -> None:
    """Measure each size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(_plan(arguments.child)))
        return
    print(f"{'nodes':>6} {'plan s':>8} {'process s':>10} {'peak MiB':>9}")
    medians = {}
    for nodes in SIZES:
        found = [_child(nodes) for _ in range(arguments.runs)]
        medians[nodes] = {key: statistics.median(run[key] for run in found) for key in found[0]}
        row = medians[nodes]
        print(f"{nodes:>6} {row['plan']:>8.3f} {row['process']:>10.2f} {row['mib']:>9.0f}")
    few, many = medians[SIZES[0]], medians[SIZES[-1]]
    ratios = ", ".join(f"{key} {many[key] / few[key]:.2f}" for key in few)
    print(f"{SIZES[-1]} nodes over {SIZES[0]}: {ratios}")


def _child(nodes: int) -> dict[str, float]:
    begin = time.monotonic()
    argv = [sys.executable, __file__, "--child", str(nodes)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, float] = json.loads(done.stdout)
    return {**found, "process": time.monotonic() - begin}


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
