"""In which order are nodes paired, so that few rounds show each of them many partners? Pure.

A round is a list of disjoint pairs, measured at the same time. Rounds inside leaves follow the
circle method. Rounds across leaves let the leaves circle and turn the nodes of the far leaf by one
each time the same leaves meet again; uneven leaves make that collide now and then, which swaps
between two pairs repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd

Round = list[tuple[str, str]]
"""Disjoint pairs of nodes."""

Leaves = Mapping[str, Sequence[str]]
"""Nodes by leaf."""


def circle(members: Sequence[str], turn: int) -> Round:
    """Pair `members` by the circle method; all turns below len(members) - 1 give new pairs.

    With an odd count one member has no partner, another one in every turn.
    """
    seats: list[str | None] = list(members)
    if len(seats) % 2:
        seats.append(None)
    if not seats:
        return []
    others = seats[1:]
    shift = turn % len(others)
    seats = [seats[0], *others[len(others) - shift :], *others[: len(others) - shift]]
    facing = zip(seats, reversed(seats), strict=True)
    pairs = list(facing)[: len(seats) // 2]
    return [(a, b) for a, b in pairs if a is not None and b is not None]


def intra_rounds(leaves: Leaves, count: int) -> list[Round]:
    """Plan `count` rounds inside leaves; none if no leaf has two nodes."""
    if all(len(members) < 2 for members in leaves.values()):  # noqa: PLR2004 - a pair is two
        return []
    return [
        [pair for members in leaves.values() for pair in circle(members, turn)]
        for turn in range(count)
    ]


def cross_rounds(leaves: Leaves, count: int) -> list[Round]:
    """Plan `count` rounds across leaves, each as large as any could be; none with one leaf."""
    filled = sorted((list(m) for m in leaves.values() if m), key=len, reverse=True)
    if len(filled) <= 1:
        return []
    largest, rest = filled[0], [node for members in filled[1:] for node in members]
    if len(largest) >= len(rest):
        return [_against_largest(largest, rest, turn) for turn in range(count)]
    return _balanced_rounds(filled, count)


def _against_largest(largest: list[str], rest: list[str], turn: int) -> Round:
    """Pair all of `rest` with nodes of a leaf that holds half of the nodes or more.

    The window of `largest` moves on by len(rest), so that its nodes are used evenly, and by one
    more each time it comes back to where it began, so that partners change.
    """
    size = len(largest)
    lap = size // gcd(size, len(rest))
    start = turn * len(rest) + turn // lap
    return [(largest[(start + seat) % size], node) for seat, node in enumerate(rest)]


ATTEMPTS_MAX = 8
"""Uneven leaves need other starts now and then; thousands of nodes never did."""


def _balanced_rounds(leaves: list[list[str]], count: int) -> list[Round]:
    leaf_of = {node: index for index, members in enumerate(leaves) for node in members}
    met: Counter[frozenset[str]] = Counter()
    rested: Counter[str] = Counter()
    rounds = []
    for turn in range(count):
        pairs = _fewest_repeats(leaves, turn, met=met, leaf_of=leaf_of, rested=rested)
        paired = {node for pair in pairs for node in pair}
        rested.update(node for node in leaf_of if node not in paired)
        met.update(frozenset(pair) for pair in pairs)
        rounds.append(pairs)
    return rounds


def _fewest_repeats(
    leaves: list[list[str]],
    turn: int,
    *,
    met: Mapping[frozenset[str], int],
    leaf_of: Mapping[str, int],
    rested: Mapping[str, int],
) -> Round:
    """Try other starts until nobody meets again, or keep the best of them."""
    best: Round = []
    fewest = None
    for attempt in range(ATTEMPTS_MAX):
        seats = _seat(leaves, turn + attempt * len(leaves))
        if len(seats) % 2:
            seats.remove(min(seats, key=lambda node: rested.get(node, 0)))
        half = len(seats) // 2
        pairs = list(zip(seats[:half], seats[half:], strict=True))
        _swap_repeats(pairs, met=met, leaf_of=leaf_of)
        repeats = sum(met.get(frozenset(pair), 0) for pair in pairs)
        if fewest is None or repeats < fewest:
            best, fewest = pairs, repeats
        if not fewest:
            break
    return best


def _seat(leaves: list[list[str]], turn: int) -> list[str]:
    """Line up all nodes so that the first half faces the second: leaves in circle order.

    No leaf holds more than half of the nodes, so a node never faces one of its own leaf.
    """
    if len(leaves) % 2:
        lap, shift = divmod(turn, len(leaves))
        circled = leaves[len(leaves) - shift :] + leaves[: len(leaves) - shift]
    else:
        others = leaves[1:]
        lap, shift = divmod(turn, len(others))
        circled = leaves[:1] + others[len(others) - shift :] + others[: len(others) - shift]
    half = (len(circled) + 1) // 2
    near, far = circled[:half], circled[half:]
    turned = [m[lap % len(m) :] + m[: lap % len(m)] for m in reversed(far)]
    return [node for members in (*near, *turned) for node in members]


def _swap_repeats(
    pairs: Round, *, met: Mapping[frozenset[str], int], leaf_of: Mapping[str, int]
) -> None:
    """Exchange partners between two pairs where that makes fewer nodes meet again."""
    for index, pair in enumerate(pairs):
        if met.get(frozenset(pair), 0):
            _swap_one(pairs, index, met=met, leaf_of=leaf_of)


def _swap_one(
    pairs: Round,
    index: int,
    *,
    met: Mapping[frozenset[str], int],
    leaf_of: Mapping[str, int],
) -> None:
    a, b = pairs[index]
    for step in range(1, len(pairs)):
        other = (index + step) % len(pairs)
        c, d = pairs[other]
        now = met.get(frozenset((a, b)), 0) + met.get(frozenset((c, d)), 0)
        for one, two in (((a, c), (b, d)), ((a, d), (b, c))):
            crosses = all(leaf_of[x] != leaf_of[y] for x, y in (one, two))
            then = met.get(frozenset(one), 0) + met.get(frozenset(two), 0)
            if crosses and then < now:
                pairs[index], pairs[other] = one, two
                return
