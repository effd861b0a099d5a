"""What the pair measurements say about each node's rails and each leaf's uplinks, to be drawn.

This is a picture of the measurements, not a verdict: who is to blame is `acceptance.locate`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from muster.report.model import PairKind, PairValue

GOOD_RELATIVE = 0.95
LOW_RELATIVE = 0.85
KINDS: tuple[PairKind, ...] = ("intra", "cross")

Rail = int | None
_NodeRail = tuple[str, Rail]
_Class = tuple[Rail, PairKind]


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkValue:
    """One node-rail or uplink. `relative` is to the reference of its class (rail and kind)."""

    relative: float | None
    value_bps: float | None
    samples: int
    invalid: int = 0
    retransmits: int = 0

    @property
    def state(self) -> str:
        """Return good, low, bad or unmeasured: how the line is drawn."""
        if self.relative is None:
            return "unmeasured"
        if self.relative >= GOOD_RELATIVE:
            return "good"
        return "low" if self.relative >= LOW_RELATIVE else "bad"


@dataclass(frozen=True, kw_only=True, slots=True)
class Links:
    """All links that were measured, by (node, rail) and by (leaf, rail).

    The reference of a class is the median over nodes of the best that each one got there. The
    plain median over pairs will not do: with four leaves, one slow uplink is in half of all paths.
    """

    references: Mapping[_Class, float]
    nodes: Mapping[_NodeRail, LinkValue]
    uplinks: Mapping[_NodeRail, LinkValue]

    @property
    def rails(self) -> tuple[Rail, ...]:
        """Return the rails that were measured, by index; None is all rails together."""
        found = {rail for _, rail in self.nodes}
        return tuple(sorted(found, key=lambda rail: -1 if rail is None else rail))


@dataclass(frozen=True, slots=True)
class _Sample:
    """One valid measurement as seen from one end."""

    partner: str
    leaf: str
    """The partner's."""
    kind: PairKind
    value: float
    relative: float


def measure_links(pairs: Sequence[PairValue], leaves: Mapping[str, Sequence[str]]) -> Links:
    """Fold the pairs into one value per node-rail and per uplink.

    A link gets the best of what its groups of measurements say, since it can do at least that: the
    slowest part of a path decides its value, and that part may well be another one.
    """
    leaf_of = {node: leaf for leaf, members in leaves.items() for node in members}
    references = _references(pairs)
    samples = _by_node(pairs, references, leaf_of)
    first = {key: _best(_by_path(found)) for key, found in samples.items()}
    slow = {key for key, best in first.items() if best and best[0] < LOW_RELATIVE}
    trusted = {
        (node, rail): [s for s in found if (s.partner, rail) not in slow]
        for (node, rail), found in samples.items()
    }
    nodes = {key: _node_link(key, trusted, samples, its) for key, its in _pairs_of(pairs).items()}
    uplinks = {
        (leaf, rail): _uplink(trusted.get((n, rail), ()) for n in members if (n, rail) not in slow)
        for leaf, members in (leaves.items() if len(leaves) > 1 else ())
        for rail in dict.fromkeys(pair.rail for pair in pairs)
    }
    return Links(references=references, nodes=nodes, uplinks=uplinks)


def _references(pairs: Iterable[PairValue]) -> dict[_Class, float]:
    best: dict[_Class, dict[str, float]] = defaultdict(dict)
    for pair in pairs:
        if pair.valid and pair.value_bps is not None:
            of_class = best[pair.rail, pair.kind]
            for node in (pair.a, pair.b):
                of_class[node] = max(of_class.get(node, 0.0), pair.value_bps)
    return {key: median(found.values()) for key, found in best.items()}


def _by_node(
    pairs: Iterable[PairValue], references: Mapping[_Class, float], leaf_of: Mapping[str, str]
) -> dict[_NodeRail, list[_Sample]]:
    found: dict[_NodeRail, list[_Sample]] = defaultdict(list)
    for pair in pairs:
        reference = references.get((pair.rail, pair.kind), 0.0)
        if pair.valid and pair.value_bps is not None and reference > 0:
            seen = (pair.kind, pair.value_bps, pair.value_bps / reference)
            for node, partner in ((pair.a, pair.b), (pair.b, pair.a)):
                found[node, pair.rail].append(_Sample(partner, leaf_of.get(partner, ""), *seen))
    return dict(found)


def _pairs_of(pairs: Iterable[PairValue]) -> dict[_NodeRail, list[PairValue]]:
    found: dict[_NodeRail, list[PairValue]] = defaultdict(list)
    for pair in pairs:
        found[pair.a, pair.rail].append(pair)
        found[pair.b, pair.rail].append(pair)
    return found


def _by_path(samples: Iterable[_Sample]) -> list[list[_Sample]]:
    groups: dict[tuple[str, str], list[_Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.kind, sample.leaf].append(sample)
    return list(groups.values())


def _best(groups: Iterable[Sequence[_Sample]]) -> tuple[float, float] | None:
    """Return (relative, value) of the group with the best median, or None without any sample."""
    found = [(median(s.relative for s in g), median(s.value for s in g)) for g in groups]
    return max(found, default=None)


def _node_link(
    key: _NodeRail,
    trusted: Mapping[_NodeRail, Sequence[_Sample]],
    samples: Mapping[_NodeRail, Sequence[_Sample]],
    pairs: Sequence[PairValue],
) -> LinkValue:
    used = trusted.get(key) or samples.get(key, ())
    best = _best(_by_path(used))
    return LinkValue(
        relative=best[0] if best else None,
        value_bps=best[1] if best else None,
        samples=len(used),
        invalid=sum(not pair.valid for pair in pairs),
        retransmits=sum(pair.retransmits or 0 for pair in pairs),
    )


def _uplink(members: Iterable[Sequence[_Sample]]) -> LinkValue:
    """Judge an uplink by members whose own link is good; without one it cannot be told."""
    used = [sample for samples in members for sample in samples if sample.kind == "cross"]
    best = _best(_by_path(used))
    return LinkValue(
        relative=best[0] if best else None,
        value_bps=best[1] if best else None,
        samples=len(used),
    )
