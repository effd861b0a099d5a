"""Locating among thousands of nodes takes seconds, and names as well as among few."""

from __future__ import annotations

import time

from muster.acceptance.locate import Fabric, Measurement, Pair, locate
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.readiness import Verdict

CPU_S = 15.0
"""Three times what it may take alone, for a machine that others use too."""


def test_two_of_sixteen_thousand_nodes_are_found_in_seconds() -> None:
    names = [f"n{number}" for number in range(16_384)]
    leaves = {f"leaf{first}": names[first : first + 16] for first in range(0, len(names), 16)}
    place = Fabric(leaves, rails=1)
    slow = {"n77": 0.92, "n16000": 0.8}
    fleet = SimulatedFleet(fabric=place, seed=3, node_spread=0.005, nodes=slow)
    measuring = 0.0

    def measure(pairs: list[Pair]) -> list[Measurement]:
        nonlocal measuring
        begin = time.process_time()
        found = fleet.measure(pairs)
        measuring += time.process_time() - begin
        return found

    begin = time.process_time()
    verdict = locate(place, measure)
    assert time.process_time() - begin - measuring < CPU_S
    named = {n for n, v in verdict.nodes.items() if v.verdict is Verdict.QUARANTINED}
    assert named == set(slow)
    assert verdict.rounds <= 16
