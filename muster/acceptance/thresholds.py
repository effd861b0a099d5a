"""Is one node's value as good as its peers', and above the floor? Pure.

The fleet decides; the absolute floor is the backstop for what is wrong everywhere. With too few
peers only the floor speaks, and without a floor nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite
from statistics import median

from muster.errors import UsageError
from muster.findings import Outcome

PEERS_MIN = 3
"""Other nodes with a value; a median of fewer is moved by one bad node."""

NOISE_MULTIPLES = 4.0
"""A deviation within so many scaled MADs, as a share of the median, is noise."""

MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, kw_only=True, slots=True)
class PeerJudgement:
    """Result for one node; `median`, `mad` and `n` are those of the other nodes' values."""

    outcome: Outcome
    median: float | None
    mad: float | None
    n: int
    reason: str


def judge_against_peers(
    values: Mapping[str, float],
    node: str,
    *,
    floor: float | None,
    floor_source: str,
    relative_tolerance: float,
    higher_is_better: bool = True,
) -> PeerJudgement:
    """Compare a node's value with its peers' median and with the floor.

    Where lower is better, `floor` is the highest acceptable value. Values that are not finite count
    as not measured.

    Raises:
        UsageError: the tolerance is not a share between 0 and 1.

    """
    if not 0 < relative_tolerance < 1:
        what = f"tolerance {relative_tolerance}; expected a share between 0 and 1"
        raise UsageError(what, where="relative_tolerance")
    peers = [v for name, v in values.items() if name != node and isfinite(v)]
    middle = median(peers) if peers else None
    mad = median(abs(v - middle) for v in peers) if middle is not None else None
    outcome, reason = _judge(
        values.get(node),
        middle=middle if len(peers) >= PEERS_MIN else None,
        mad=mad or 0.0,
        bound=_Bound(floor, floor_source, relative_tolerance, higher_is_better),
        peers=len(peers),
    )
    return PeerJudgement(outcome=outcome, median=middle, mad=mad, n=len(peers), reason=reason)


@dataclass(frozen=True, slots=True)
class _Bound:
    floor: float | None
    source: str
    tolerance: float
    higher_is_better: bool

    def worse(self, value: float, than: float) -> bool:
        return value < than if self.higher_is_better else value > than

    def name(self) -> str:
        return "floor" if self.higher_is_better else "ceiling"


def _limit(middle: float, mad: float, bound: _Bound) -> float:
    """Return the worst value that still counts as like the peers'.

    Noise is a factor, not a difference: peers that scatter by a third would else put the limit of a
    rate below zero, where no node however slow could fail.
    """
    noise = NOISE_MULTIPLES * MAD_TO_SIGMA * mad
    if middle <= 0:
        slack = max(bound.tolerance * abs(middle), noise)
        return middle - slack if bound.higher_is_better else middle + slack
    if bound.higher_is_better:
        return middle * min(1 - bound.tolerance, exp(-noise / middle))
    return middle * max(1 + bound.tolerance, exp(noise / middle))


def _judge(
    value: float | None, *, middle: float | None, mad: float, bound: _Bound, peers: int
) -> tuple[Outcome, str]:
    if value is None or not isfinite(value):
        return Outcome.UNKNOWN, "no value"
    if bound.floor is not None and bound.worse(value, bound.floor):
        return (
            Outcome.FAIL,
            f"{value:.4g}, {bound.name()} {bound.floor:.4g} ({bound.source})",
        )
    if middle is not None:
        limit = _limit(middle, mad, bound)
        figures = f"{value:.4g}, median of {peers} peers {middle:.4g}, limit {limit:.4g}"
        return (Outcome.FAIL if bound.worse(value, limit) else Outcome.PASS), figures
    if bound.floor is None:
        return Outcome.UNKNOWN, f"{value:.4g}, but only {peers} peers and no {bound.name()}"
    return (
        Outcome.PASS,
        f"{value:.4g}, {bound.name()} {bound.floor:.4g} ({bound.source}); only {peers} peers",
    )
