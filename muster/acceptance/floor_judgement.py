"""What can be said about a node that too few peers can judge? Only the floor speaks. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from muster.acceptance.rail_study import PairTest
from muster.acceptance.sequential import Judgement
from muster.readiness import Verdict


def judge_by_floor(
    node: str, tests: Iterable[PairTest], floor_bps: Mapping[str, float] | None
) -> Judgement:
    """Compare a node's tests with the floor; a node that reached it with anyone is good.

    One below it with everyone is at fault if a partner reached it with somebody else; if none did,
    nobody can tell which of them is slow.
    """
    floors = floor_bps or {}
    shares: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for test in tests:
        if test.kind in floors:
            share = test.value / floors[test.kind]
            shares[test.a][test.b].append(share)
            shares[test.b][test.a].append(share)
    if node not in shares:
        reason = "too few peers to compare with, and no floor is known"
        return Judgement(verdict=Verdict.UNTESTED, reason=reason)
    best = {name: max(median(v) for v in met.values()) for name, met in shares.items()}
    effect = min(best[node] - 1, 0.0)
    n = sum(map(len, shares[node].values()))
    if best[node] >= 1:
        return Judgement(verdict=Verdict.ACCEPTED, n=n)
    reason = f"at best {best[node]:.0%} of the floor in {n} tests"
    if all(best[partner] >= 1 for partner in shares[node]):
        return Judgement(verdict=Verdict.QUARANTINED, effect=effect, n=n, reason=reason)
    reason += "; its partners are below too, so it cannot be told which of them is slow"
    return Judgement(verdict=Verdict.SUSPECT, effect=effect, n=n, reason=reason)
