"""One trial: break a fleet, ask every method, count. The same faults for each of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random

from benchmarks.faults.methods import ABLATIONS, METHODS, methods_for, policy_for
from benchmarks.faults.scenarios import SCENARIOS, Scenario
from benchmarks.faults.tally import Tally

Key = tuple[str, int, str]
"""Scenario, number of nodes, method."""

NICENESS = 10


@dataclass(frozen=True, slots=True)
class Batch:
    """Trials of one scenario at one size, seeds from `seed` on."""

    scenario: str
    nodes: int
    seed: int
    trials: int


def run_batches(batches: Sequence[Batch], jobs: int) -> Iterator[tuple[Batch, dict[Key, Tally]]]:
    """Run batches in processes of low priority."""
    with ProcessPoolExecutor(jobs, initializer=os.nice, initargs=(NICENESS,)) as pool:
        yield from zip(batches, pool.map(_run, batches), strict=True)


def _run(batch: Batch) -> dict[Key, Tally]:
    scenario = SCENARIOS[batch.scenario]
    names = methods_for(batch.scenario, batch.nodes)
    found = {(batch.scenario, batch.nodes, name): Tally() for name in names}
    for seed in range(batch.seed, batch.seed + batch.trials):
        for key, tally in found.items():
            _trial(scenario, batch.nodes, seed, key[2], tally)
    return found


def _trial(scenario: Scenario, nodes: int, seed: int, name: str, tally: Tally) -> None:
    fabric = scenario.fabric(nodes)
    faults, truth = scenario.inject(fabric, Random(seed))  # noqa: S311 - not a secret
    fleet = scenario.fleet(fabric, faults, seed)
    method = {**METHODS, **ABLATIONS}[name]
    begin = time.process_time()
    chance = Random(seed)  # noqa: S311 - not a secret
    answer = method(fleet, policy_for(fleet, floor=scenario.floor), chance)
    tally.count(truth, answer, fabric.nodes(), time.process_time() - begin)


def merge(into: dict[Key, Tally], found: Mapping[Key, Tally]) -> None:
    """Add the trials of a batch to those of others."""
    for key, tally in found.items():
        into.setdefault(key, Tally()).merge(tally)
