"""Trials on simulated fleets: one fault, many seeds, and what the verdict says."""

from __future__ import annotations

from typing import Any

from muster.acceptance.locate import Fabric, LocateVerdict, Policy, locate
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.readiness import Verdict

SEEDS = range(6)
QUIET: dict[str, Any] = {"noise": 0.0006}
LIVELY: dict[str, Any] = {"noise": 0.01, "node_spread": 0.005}
FLOOR = Policy(floor_bps={"intra": 4.5e6, "cross": 4.5e6})
Named = dict[str, tuple[str, str]]


def fabric(*sizes: int, rails: int = 2) -> Fabric:
    leaves: dict[str, list[str]] = {}
    for index, size in enumerate(sizes):
        first = sum(sizes[:index])
        leaves[f"leaf{index}"] = [f"n{first + seat}" for seat in range(size)]
    return Fabric(leaves, rails)


LAB = fabric(2, 2, 2, 2)
"""Eight nodes in leaves of two: each node's only partner in its leaf may be the faulty one."""


def run(place: Fabric, seed: int, policy: Policy | None = None, **faults: Any) -> LocateVerdict:
    fleet = SimulatedFleet(fabric=place, seed=seed, **faults)
    return locate(place, fleet.measure, policy or Policy())


def not_accepted(verdict: LocateVerdict) -> Named:
    return {
        node: (found.verdict.value, found.component)
        for node, found in verdict.nodes.items()
        if found.verdict is not Verdict.ACCEPTED
    }
