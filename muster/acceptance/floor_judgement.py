"""What can be said about a node that too few peers can judge? Only the floor speaks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from muster.acceptance.locate_model import Kind
from muster.acceptance.pair_table import RailTests
from muster.acceptance.rail_study import KINDS, of_kind
from muster.readiness import Verdict


@dataclass(frozen=True, slots=True)
class FloorJudgement:
    """What the floor says of one node on one rail."""

    verdict: Verdict
    effect: float = 0.0
    reason: str = ""


class FloorJudge:
    """Compares the tests of one rail with the floors of both kinds of pairs."""

    def __init__(self, tests: RailTests, floor_bps: Mapping[str, float] | None) -> None:
        self._shares: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for kind in KINDS:
            floor = (floor_bps or {}).get(kind)
            if floor:
                self._collect(tests, kind, floor)
        self._best = {
            node: max(median(values) for values in met.values())
            for node, met in self._shares.items()
        }

    def _collect(self, tests: RailTests, kind: Kind, floor: float) -> None:
        row, column = np.nonzero(tests.valid & of_kind(tests, kind))
        partner = tests.seats.partner[row, column].tolist()
        speed = tests.speed[row, column].tolist()
        for node, other, value in zip(row.tolist(), partner, speed, strict=True):
            self._shares[node][other].append(value / floor)

    def judge(self, node: int) -> FloorJudgement:
        """Accept a node that reached the floor with anyone.

        One below it with everyone is at fault if all its partners reached it with somebody else;
        if one did not, nobody can tell which of them is slow.
        """
        if node not in self._best:
            reason = "too few peers to compare with, and no floor is known"
            return FloorJudgement(Verdict.UNTESTED, reason=reason)
        best = self._best[node]
        if best >= 1:
            return FloorJudgement(Verdict.ACCEPTED)
        n = sum(map(len, self._shares[node].values()))
        reason = f"at best {best:.0%} of the floor in {n} tests"
        if all(self._best[partner] >= 1 for partner in self._shares[node]):
            return FloorJudgement(Verdict.QUARANTINED, best - 1, reason)
        reason += "; its partners are below too, so it cannot be told which of them is slow"
        return FloorJudgement(Verdict.SUSPECT, best - 1, reason)
