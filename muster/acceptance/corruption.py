"""Who delivers wrong results? Pure.

A wrong result never passes as noise: one is enough to suspect both nodes of the pair, and two with
different partners name the node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from muster.acceptance.pair_table import RailTests

COUNTER = "wrong"
PARTNERS_MIN = 2


@dataclass(frozen=True, slots=True)
class Corruption:
    """Nodes named as the source of wrong results, and nodes of pairs of which either may be."""

    guilty: frozenset[int]
    suspects: frozenset[int]


def find_corruption(rails: Iterable[RailTests]) -> Corruption:
    """Name nodes that had wrong results with several partners, the worst first."""
    partners: dict[int, set[int]] = defaultdict(set)
    for tests in rails:
        counts = tests.counters.get(COUNTER)
        if counts is not None:
            row, column = np.nonzero(np.nan_to_num(counts) > 0)
            for node, partner in zip(row, tests.seats.partner[row, column], strict=True):
                partners[int(node)].add(int(partner))
    guilty: set[int] = set()
    while partners:
        worst = max(partners, key=lambda node: len(partners[node]))
        if len(partners[worst]) < PARTNERS_MIN:
            break
        guilty.add(worst)
        for partner in partners.pop(worst):
            partners[partner].discard(worst)
    return Corruption(frozenset(guilty), frozenset(node for node, met in partners.items() if met))
