"""What locating takes and gives: measurements, the policy that judges them, and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from muster.errors import UsageError
from muster.fabric.model import Pair
from muster.readiness import Verdict

Kind = Literal["intra", "cross"]
"""Do both nodes of a pair sit on one leaf, or on two?"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Bus bandwidth of a pair in B/s, the lower of both directions; None where not measured.

    `valid` False: the test broke or could not run; it never counts as slow. `counters` are deltas
    over the test, as {"retransmits": 3}; "wrong" counts results that were not as computed.
    """

    pair: Pair
    value: float | None
    valid: bool
    counters: Mapping[str, float] = field(default_factory=dict)


Measure = Callable[[list[Pair]], list[Measurement]]
"""Called once a round with disjoint pairs (a pair may be listed once per rail)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """How much to measure, and from where on a deviation counts.

    Every limit is the greater of a multiple of the noise seen in this fleet and a fraction of the
    fleet's median. Defaults: simulated fleets with noise of 1 to 3 % (docs/decisions/0004).
    """

    intra_rounds: int = 4
    cross_rounds: int = 4
    confirm_rounds: int = 8
    """At most so many further rounds for nodes that stand out."""
    confirm_tests_min: int = 2
    """A node is quarantined only after so many tests against known-good partners."""
    rails_separately: bool = True
    valid_share_min: float = 0.5
    """A node that had valid tests with a smaller share of its partners is untested."""
    floor_bps: Mapping[str, float] | None = None
    """Lowest acceptable fleet median in B/s, by kind of pair: "intra", "cross"."""
    counter_limits: Mapping[str, float] = field(default_factory=lambda: {"retransmits": 20.0})
    """A node stands out if its pair tests count so many more than their peers' median."""
    counter_sigmas: float = 6.0
    node_sigmas: float = 4.0
    node_fraction: float = 0.025
    watch_sigmas: float = 2.5
    watch_fraction: float = 0.018
    """From here on a node is measured again, though not yet low."""
    leaf_sigmas: float = 5.0
    leaf_fraction: float = 0.03
    event_sigmas: float = 4.0
    event_fraction: float = 0.06
    """One test lower than this is a low event, the unit of the sequential test."""
    noise_max: float = 0.08
    """Where healthy tests scatter by more, no node can be judged."""
    rail_fraction: float = 0.10
    """A rail whose fleet median is so much below the best rail's is low as a whole."""
    false_alarm: float = 0.002
    """Greatest chance to name a good node for single low tests."""
    false_alarm_run: float = 0.005
    """The same for a whole run: the more nodes, the less chance for each of them."""
    faulty_event_rate: float = 0.30
    """Share of low events that a faulty node is taken to have at least."""

    def __post_init__(self) -> None:
        if min(self.intra_rounds, self.cross_rounds, self.confirm_rounds) < 0:
            raise UsageError("a number of rounds is negative", where="policy")
        unknown = sorted(set(self.floor_bps or {}) - {"intra", "cross"})
        if unknown:
            raise UsageError(
                f"no kind of pair {', '.join(unknown)}",
                where="policy.floor_bps",
                hint="Known: intra, cross.",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeVerdict:
    """What follows for a node. `component` is "node", "rail:1" or "rail:1 rail:3"; empty if good.

    `effect` is the worst rail's deviation from the fleet's median (-0.2: 20 % slower), `rounds` how
    many rounds measured the node, `llr` the evidence for a fault of the worst rail (log likelihood
    ratio of the sequential test).
    """

    verdict: Verdict
    component: str = ""
    effect: float = 0.0
    rounds: int = 0
    llr: float = 0.0
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeafVerdict:
    """A leaf whose uplink is at fault: "leaf:leaf1" for all rails, else "leaf:leaf1 rail:0"."""

    verdict: Verdict
    component: str
    rails: tuple[int, ...]
    effect: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetVerdict:
    """What concerns no single node or leaf; `component` is "fleet", "rail:1" or a path."""

    verdict: Verdict
    component: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairClass:
    """Pairs that are compared with each other; `noise` is their robust relative deviation."""

    rail: int | None
    kind: Kind
    median_bps: float
    noise: float
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LocateVerdict:
    """Who is slow, and what was seen: `measurements` holds one tuple per round."""

    nodes: Mapping[str, NodeVerdict]
    leaves: Mapping[str, LeafVerdict]
    """Leaves at fault; a leaf that is not listed did not stand out."""
    fleet: FleetVerdict
    rounds: int
    untested: tuple[str, ...]
    measurements: tuple[tuple[Measurement, ...], ...]
    classes: tuple[PairClass, ...] = ()
