"""Simpler methods that are in use, on the same simulated fleet and with as many rounds.

They are given more than they have in the field: pairs compare with the median of their own round,
groups and absolute checks with the links' true speed, and a test that is not valid accuses nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median

from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.fabric.model import Pair

ROUNDS = 16
REPEATS = ROUNDS // 2
FLAGS_MIN = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method says."""

    nodes: dict[str, str] = field(default_factory=dict)
    """Nodes at fault with the part that is, as far as the method can tell."""
    leaves: frozenset[str] = frozenset()
    fleet: bool = False
    suspects: frozenset[str] = frozenset()
    untested: frozenset[str] = frozenset()
    rounds: int = 0


def all_reduce(fleet: SimulatedFleet, line: float, _chance: Random) -> Answer:
    """Measure everything at once, as often as there are rounds: it cannot name anybody."""
    names = fleet.fabric.nodes()
    values = [fleet.groups([names])[0] for _ in range(ROUNDS)]
    return Answer(fleet=median(values) < line * fleet.rate_bps, rounds=fleet.calls)


def absolute(fleet: SimulatedFleet, line: float, _chance: Random) -> Answer:
    """Measure each node with its neighbour in all rounds; both fail below a fixed limit."""
    names = fleet.fabric.nodes()
    pairs = list(zip(names[::2], names[1::2], strict=False))
    values: dict[tuple[str, str], list[float]] = {pair: [] for pair in pairs}
    for _ in range(ROUNDS):
        for pair, value in _measured(fleet, pairs).items():
            values[pair].append(value)
    low = [p for p, got in values.items() if got and median(got) < line * fleet.rate_bps]
    return Answer(nodes={node: "node" for pair in low for node in pair}, rounds=fleet.calls)


def two_pass(fleet: SimulatedFleet, line: float, chance: Random) -> Answer:
    """Pair at random; nodes of low pairs meet nodes of good ones; who is low again fails."""
    return Answer(nodes=dict.fromkeys(_two_passes(fleet, line, chance), "node"), rounds=fleet.calls)


def two_pass_repeated(fleet: SimulatedFleet, line: float, chance: Random) -> Answer:
    """Do so eight times; who failed twice is named."""
    failed = Counter(node for _ in range(REPEATS) for node in _two_passes(fleet, line, chance))
    named = [node for node, times in failed.items() if times >= FLAGS_MIN]
    return Answer(nodes=dict.fromkeys(named, "node"), rounds=fleet.calls)


def bisection(fleet: SimulatedFleet, line: float, _chance: Random) -> Answer:
    """Halve groups that are low, all at the same time, and test single nodes with a good one."""
    low: list[Sequence[str]] = [fleet.fabric.nodes()]
    good: list[str] = []
    while low and max(map(len, low)) > 1 and fleet.calls < ROUNDS - 1:
        halves = [half for group in low for half in _halves(group) if half]
        singles = [group for group in halves if len(group) == 1]
        groups = [group for group in halves if len(group) > 1]
        values = fleet.groups(groups)
        bad = [g for g, v in zip(groups, values, strict=True) if v < line * fleet.rate_bps]
        good += [node for g in groups if g not in bad for node in g]
        low = bad + singles
    found = _measured(fleet, list(zip((n for group in low for n in group), good, strict=False)))
    named = [pair[0] for pair, value in found.items() if value < line * fleet.rate_bps]
    return Answer(nodes=dict.fromkeys(named, "node"), rounds=fleet.calls)


def _halves(group: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    middle = (len(group) + 1) // 2
    return group[:middle], group[middle:]


def _two_passes(fleet: SimulatedFleet, line: float, chance: Random) -> list[str]:
    names = list(fleet.fabric.nodes())
    chance.shuffle(names)
    first = _measured(fleet, list(zip(names[::2], names[1::2], strict=False)))
    low = _low(first, line)
    good = [node for pair in first if pair not in low for node in pair]
    suspects = [node for pair in low for node in pair]
    again = _measured(fleet, list(zip(suspects, good, strict=False)))
    usual = median(first.values()) if first else 0.0
    return [pair[0] for pair, value in again.items() if value < line * usual]


def _low(values: dict[tuple[str, str], float], line: float) -> set[tuple[str, str]]:
    usual = median(values.values()) if values else 0.0
    return {pair for pair, value in values.items() if value < line * usual}


def _measured(
    fleet: SimulatedFleet, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    """Measure a round with all rails together."""
    got = fleet.measure([Pair(a, b) for a, b in pairs])
    return {(m.pair.a, m.pair.b): m.value for m in got if m.valid and m.value is not None}
