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


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkValue:
    """One node-rail or uplink. `relative` is to the median of its class (rail and kind)."""

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
    """All links that were measured, by (node, rail) and by (leaf, rail)."""

    medians: Mapping[tuple[Rail, PairKind], float]
    nodes: Mapping[tuple[str, Rail], LinkValue]
    uplinks: Mapping[tuple[str, Rail], LinkValue]

    @property
    def rails(self) -> tuple[Rail, ...]:
        """Return the rails that were measured, by index; None is all rails together."""
        found = {rail for _, rail in self.nodes}
        return tuple(sorted(found, key=lambda rail: -1 if rail is None else rail))


@dataclass(slots=True)
class _Samples:
    values: list[float]
    relatives: list[float]


def measure_links(pairs: Sequence[PairValue], leaves: Mapping[str, Sequence[str]]) -> Links:
    """Fold the pairs into one value per node-rail and per uplink.

    A node-rail gets the better of its medians inside the leaf and over the spine: it can do at
    least that. So neither one slow partner nor a slow uplink makes a good rail look slow.
    """
    medians = _class_medians(pairs)
    samples = _by_node(pairs, medians)
    keys = dict.fromkeys((node, p.rail) for p in pairs for node in (p.a, p.b))
    nodes = {key: _node_link(key, samples, pairs_of) for key, pairs_of in _pairs_of(pairs, keys)}
    uplinks = {
        (leaf, rail): _uplink(rail, members, nodes, samples)
        for leaf, members in (leaves.items() if len(leaves) > 1 else ())
        for rail in dict.fromkeys(rail for _, rail in keys)
    }
    return Links(medians=medians, nodes=nodes, uplinks=uplinks)


def _class_medians(pairs: Iterable[PairValue]) -> dict[tuple[Rail, PairKind], float]:
    values: dict[tuple[Rail, PairKind], list[float]] = defaultdict(list)
    for pair in pairs:
        if pair.valid and pair.value_bps is not None:
            values[pair.rail, pair.kind].append(pair.value_bps)
    return {key: median(found) for key, found in values.items()}


_ByNode = dict[tuple[str, Rail, PairKind], _Samples]


def _by_node(pairs: Iterable[PairValue], medians: Mapping[tuple[Rail, PairKind], float]) -> _ByNode:
    found: _ByNode = defaultdict(lambda: _Samples([], []))
    for pair in pairs:
        reference = medians.get((pair.rail, pair.kind), 0.0)
        if not pair.valid or pair.value_bps is None or reference <= 0:
            continue
        for node in (pair.a, pair.b):
            found[node, pair.rail, pair.kind].values.append(pair.value_bps)
            found[node, pair.rail, pair.kind].relatives.append(pair.value_bps / reference)
    return dict(found)


def _pairs_of(
    pairs: Iterable[PairValue], keys: Iterable[tuple[str, Rail]]
) -> Iterable[tuple[tuple[str, Rail], list[PairValue]]]:
    found: dict[tuple[str, Rail], list[PairValue]] = {key: [] for key in keys}
    for pair in pairs:
        found[pair.a, pair.rail].append(pair)
        found[pair.b, pair.rail].append(pair)
    return found.items()


def _node_link(key: tuple[str, Rail], samples: _ByNode, pairs: Sequence[PairValue]) -> LinkValue:
    node, rail = key
    kinds = [samples[node, rail, kind] for kind in KINDS if (node, rail, kind) in samples]
    best = max(kinds, key=lambda s: median(s.relatives), default=None)
    return LinkValue(
        relative=None if best is None else median(best.relatives),
        value_bps=None if best is None else median(best.values),
        samples=sum(len(s.values) for s in kinds),
        invalid=sum(not pair.valid for pair in pairs),
        retransmits=sum(pair.retransmits or 0 for pair in pairs),
    )


def _uplink(
    rail: Rail,
    members: Sequence[str],
    nodes: Mapping[tuple[str, Rail], LinkValue],
    samples: _ByNode,
) -> LinkValue:
    """Judge an uplink by members whose own link is good; without one it cannot be told."""
    witnesses = [
        samples[node, rail, "cross"]
        for node in members
        if (node, rail, "cross") in samples and nodes[node, rail].state != "bad"
    ]
    if not witnesses:
        return LinkValue(relative=None, value_bps=None, samples=0)
    return LinkValue(
        relative=median(median(s.relatives) for s in witnesses),
        value_bps=median(median(s.values) for s in witnesses),
        samples=sum(len(s.values) for s in witnesses),
    )
