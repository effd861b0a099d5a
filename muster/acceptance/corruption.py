"""Who delivers wrong results? Pure.

A wrong result never passes as noise: one is enough to suspect both nodes of the pair, and two with
different partners name the node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from muster.acceptance.rail_study import PairTest

COUNTER = "wrong"
PARTNERS_MIN = 2


@dataclass(frozen=True, slots=True)
class Corruption:
    """Nodes named as the source of wrong results, and pairs of which either may be."""

    guilty: frozenset[str]
    suspects: frozenset[str]


def find_corruption(tests: Iterable[PairTest]) -> Corruption:
    """Name nodes that had wrong results with several partners, the worst first."""
    partners: dict[str, set[str]] = defaultdict(set)
    for test in tests:
        if test.counters.get(COUNTER, 0) > 0:
            partners[test.a].add(test.b)
            partners[test.b].add(test.a)
    guilty: set[str] = set()
    while partners:
        worst = max(partners, key=lambda node: len(partners[node]))
        if len(partners[worst]) < PARTNERS_MIN:
            break
        guilty.add(worst)
        for partner in partners.pop(worst):
            partners[partner].discard(worst)
    return Corruption(frozenset(guilty), frozenset(node for node, met in partners.items() if met))
