"""Which known-good partner measures which node next? Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from muster.fabric.rounds import Round


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
            free[leaf_of[partner]].remove(partner)
            pairs.append((node, partner))
    return pairs


def _pick(
    node: str,
    free: Mapping[str, list[str]],
    *,
    leaf_of: Mapping[str, str],
    met: Collection[frozenset[str]],
    low_leaves: Collection[str],
) -> str | None:
    own = leaf_of[node]
    elsewhere = (
        []
        if own in low_leaves
        else [m for leaf, m in free.items() if leaf != own and leaf not in low_leaves]
    )
    fallback: str | None = None
    for members in (free.get(own, []), *elsewhere):
        for candidate in members:
            if frozenset((node, candidate)) not in met:
                return candidate
            fallback = fallback or candidate
    return fallback
