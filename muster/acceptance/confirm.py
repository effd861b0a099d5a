"""Which known-good partner measures which node next? Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from muster.acceptance.disturbance import PAIRS_MIN
from muster.fabric.rounds import Round

CONTROLS_MAX = 32
"""More pairs show no better whether a round was slow for everyone."""


def pair_with_good(
    wanted: Iterable[str],
    *,
    good: Sequence[str],
    leaf_of: Mapping[str, str],
    met: Collection[frozenset[str]],
    low_leaves: Collection[str] = (),
) -> Round:
    """Give each wanted node a good partner: of its own leaf and not met yet, if there is one.

    A pair never crosses a low uplink, which would blame the node for it. Nodes for which no partner
    is left are not measured in this round.
    """
    free: dict[str, list[str]] = {}
    for node in good:
        free.setdefault(leaf_of[node], []).append(node)
    pairs = []
    for node in wanted:
        partner = _pick(node, free, leaf_of=leaf_of, met=met, low_leaves=low_leaves)
        if partner is not None:
            members = free[leaf_of[partner]]
            members.remove(partner)
            if not members:
                del free[leaf_of[partner]]
            pairs.append((node, partner))
    return pairs


def controls(
    pairs: Round,
    good: Sequence[str],
    leaf_of: Mapping[str, str],
    low_leaves: Collection[str] = (),
) -> Round:
    """Pair good nodes that are left over: they show whether a round is slow for everyone.

    Inside leaves if that gives enough pairs, else across.
    """
    wanted = min(max(PAIRS_MIN, len(pairs) + 1), CONTROLS_MAX)
    busy = {node for pair in pairs for node in pair}
    waiting: dict[str, str] = {}
    found: Round = []
    for node in good:
        if node in busy:
            continue
        other = waiting.pop(leaf_of[node], None)
        if other is None:
            waiting[leaf_of[node]] = node
        else:
            found.append((other, node))
        if len(found) == wanted:
            return found
    left = [node for leaf, node in waiting.items() if leaf not in low_leaves]
    across = list(zip(left[::2], left[1::2], strict=False))
    return found + across[: wanted - len(found)]


def _pick(
    node: str,
    free: Mapping[str, list[str]],
    *,
    leaf_of: Mapping[str, str],
    met: Collection[frozenset[str]],
    low_leaves: Collection[str],
) -> str | None:
    own = leaf_of[node]
    fallback: str | None = None
    for members in _near_first(own, free, low_leaves):
        for candidate in members:
            if frozenset((node, candidate)) not in met:
                return candidate
            fallback = fallback or candidate
    return fallback


def _near_first(
    own: str, free: Mapping[str, list[str]], low_leaves: Collection[str]
) -> Iterable[list[str]]:
    yield free.get(own, [])
    if own not in low_leaves:
        for leaf, members in free.items():
            if leaf != own and leaf not in low_leaves:
                yield members
