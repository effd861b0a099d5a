"""Break simulated fleets in many ways, and count how often each method names what is broken.

    .venv/bin/python -m benchmarks.faults [--quick] [--trials 30] [--seed N] [--only NAME ...]

Writes docs/reference/fault-benchmark.md and .json; with --quick or --only to the screen alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.faults.page import render
from benchmarks.faults.scenarios import ALL_SIZES, SCENARIOS
from benchmarks.faults.tally import Tally
from benchmarks.faults.trials import Batch, Key, merge, run_batches

SIZES = (64, 512, 4096, ALL_SIZES)
QUICK_SIZES = (64, 512)
QUICK_TRIALS = 5
BATCH = 5
SEED = 900_000
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fault-benchmark.md"


def main() -> None:
    """Run the trials and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--only", nargs="*", choices=sorted(SCENARIOS), default=sorted(SCENARIOS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    sizes, trials = (QUICK_SIZES, QUICK_TRIALS) if asked.quick else (asked.sizes, asked.trials)
    tallies: dict[Key, Tally] = {}
    for nodes in sizes:
        batches = [
            Batch(name, nodes, asked.seed + start, min(BATCH, trials - start))
            for name in asked.only
            if nodes <= SCENARIOS[name].largest
            for start in range(0, trials, BATCH)
        ]
        for number, (batch, found) in enumerate(run_batches(batches, asked.jobs), start=1):
            merge(tallies, found)
            sys.stderr.write(f"{nodes} nodes, {number} of {len(batches)}: {batch.scenario}\n")
        if not asked.quick and len(asked.only) == len(SCENARIOS):
            _write(tallies, asked.seed, trials)  # a run that is cut short leaves a page
    if asked.quick or len(asked.only) < len(SCENARIOS):
        print(_page(tallies, asked.seed, trials))


def _page(tallies: dict[Key, Tally], seed: int, trials: int) -> str:
    command = f"python -m benchmarks.faults {' '.join(sys.argv[1:])}".strip()
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    return render(tallies, command=command, date=date, seed=seed, trials=trials)


def _write(tallies: dict[Key, Tally], seed: int, trials: int) -> None:
    PAGE.write_text(_page(tallies, seed, trials), encoding="utf-8")
    rows = [
        {"scenario": s, "nodes": n, "method": m, **tally.document()}
        for (s, n, m), tally in tallies.items()
    ]
    now = datetime.now(UTC).isoformat()
    document = {"date": now, "seed": seed, "trials": trials, "results": rows}
    PAGE.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{PAGE}: {len(rows)} results")


if __name__ == "__main__":
    main()
