"""All pair tests of a campaign as arrays: a row per node, a column per round. Pure.

A node has one partner a round, so a round is one column; each test stands in both nodes' rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from muster.acceptance.locate_model import Measurement
from muster.acceptance.medians import Index, Mask, Values
from muster.fabric.model import Fabric
from muster.fabric.rounds import Round

NONE = -1
"""No partner in this round."""


@dataclass(frozen=True, slots=True)
class Seats:
    """Who met whom: node and leaf numbers."""

    leaf: Index
    """Leaf of each node."""
    partner: Index
    """Partner by node and round; the node itself where it had none."""
    asked: Mask
    cross: Mask
    """Does the pair sit on two leaves?"""
    repeated: Index
    """Nodes that met somebody more than once."""


@dataclass(frozen=True, slots=True)
class RailTests:
    """One rail's tests by node and round; nan where there was none, or none that was valid."""

    seats: Seats
    speed: Values
    counters: Mapping[str, Values]

    @property
    def valid(self) -> Mask:
        """Where there is a valid test."""
        return ~np.isnan(self.speed)

    def once(self) -> Mask:
        """Return where each valid test stands, once only."""
        row = np.arange(len(self.seats.leaf))[:, np.newaxis]
        return self.valid & (row < self.seats.partner)


@dataclass(slots=True)
class PairTable:
    """Grows by one column a round."""

    fabric: Fabric
    rails: tuple[int | None, ...]
    counted: Collection[str]
    """Counters that are kept."""
    names: tuple[str, ...] = field(init=False)
    leaf_names: tuple[str, ...] = field(init=False)
    index: dict[str, int] = field(init=False)
    leaf: Index = field(init=False)
    partner: Index = field(init=False)
    speed: Values = field(init=False)
    counters: dict[str, Values] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.names = self.fabric.nodes()
        self.leaf_names = tuple(self.fabric.leaves)
        self.index = {name: number for number, name in enumerate(self.names)}
        sizes = [len(members) for members in self.fabric.leaves.values()]
        self.leaf = np.repeat(np.arange(len(sizes)), sizes)
        self.partner = np.zeros((len(self.names), 0), dtype=np.int64)
        self.speed = np.zeros((len(self.rails), len(self.names), 0))

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return int(self.partner.shape[1])

    def add(self, pairs: Round, measured: Sequence[Measurement]) -> None:
        """Add a round: each pair's measurements follow each other in the order of the rails."""
        a = np.array([self.index[one] for one, _ in pairs], dtype=np.int64)
        b = np.array([self.index[two] for _, two in pairs], dtype=np.int64)
        partner = np.full((len(self.names), 1), NONE)
        partner[a, 0], partner[b, 0] = b, a
        self.partner = np.concatenate((self.partner, partner), axis=1)
        said = [m.value if m.valid and m.value is not None else np.nan for m in measured]
        speed = self._column(a, b, said)
        usable = np.isfinite(speed) & (speed >= 0)
        speed[~usable] = np.nan
        self.speed = np.concatenate((self.speed, speed), axis=2)
        for name in self.counted:
            values = self._column(a, b, [m.counters.get(name, np.nan) for m in measured])
            values[~usable] = np.nan
            before = self.counters.get(name)
            if before is None:
                before = np.full((*speed.shape[:2], self.rounds - 1), np.nan)
            self.counters[name] = np.concatenate((before, values), axis=2)

    def _column(self, a: Index, b: Index, values: list[float]) -> Values:
        column = np.full((len(self.rails), len(self.names), 1), np.nan)
        by_rail = np.array(values, dtype=np.float64).reshape(len(a), len(self.rails)).T
        column[:, a, 0] = column[:, b, 0] = by_rail
        return column

    def seats(self) -> Seats:
        """Return who met whom so far."""
        asked = self.partner != NONE
        row = np.arange(len(self.names))[:, np.newaxis]
        partner = np.where(asked, self.partner, row)
        ordered = np.sort(self.partner, axis=1)
        again = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NONE)
        return Seats(
            leaf=self.leaf,
            partner=partner,
            asked=asked,
            cross=self.leaf[partner] != self.leaf[:, np.newaxis],
            repeated=np.flatnonzero(again.any(axis=1)),
        )

    def rail(self, number: int, seats: Seats) -> RailTests:
        """Return the tests of the rail in that place."""
        counters = {name: values[number] for name, values in self.counters.items()}
        return RailTests(seats, self.speed[number], counters)
