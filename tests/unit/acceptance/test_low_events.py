"""Few low tests may be luck; many are not, nor are few that are as low as hardly any."""

from __future__ import annotations

import numpy as np

from muster.acceptance.locate_model import Policy
from muster.acceptance.low_events import LowEvents
from muster.acceptance.medians import Mask, Values

NODES, ROUNDS = 200, 16
ALARM = 1e-4


def fleet(seed: int, *, rate: float = 0.01) -> Values:
    """Deviations of tests of which some are 6 to 30 % low for no lasting reason."""
    chance = np.random.default_rng(seed)
    values = chance.normal(0, 0.01, (NODES, ROUNDS))
    hit = chance.random((NODES, ROUNDS)) < rate
    return np.where(hit, -chance.uniform(0.06, 0.3, (NODES, ROUNDS)), values)


def proved(depth: Values) -> Mask:
    clean = np.ones(depth.shape, dtype=bool)
    partner = np.tile((np.arange(NODES) ^ 1)[:, np.newaxis], ROUNDS)
    events = LowEvents.weigh(depth < -0.06, clean, partner, Policy(), depth=depth)
    return events.proved(screening=8, alarm=ALARM, looks=1)


def with_low(depth: Values, drops: list[float]) -> Values:
    changed = depth.copy()
    changed[7] = 0.0
    changed[7, 16 - len(drops) :] = [-drop for drop in drops]
    return changed


def test_luck_names_hardly_anybody() -> None:
    named = sum(int(proved(fleet(seed)).sum()) for seed in range(20))
    assert named <= 20 * NODES * ALARM + 2


def test_many_low_tests_are_not_luck() -> None:
    assert proved(with_low(fleet(1), [0.07] * 5))[7]


def test_three_shallow_low_tests_may_be_luck() -> None:
    assert not proved(with_low(fleet(1), [0.07] * 3))[7]


def test_three_tests_as_low_as_hardly_any_are_not_luck() -> None:
    assert proved(with_low(fleet(1), [0.3] * 3))[7]


def test_what_is_usual_in_a_restless_fleet_is_luck() -> None:
    assert not proved(with_low(fleet(1, rate=0.15), [0.1] * 5))[7]


def test_low_tests_before_the_confirming_rounds_alone_prove_nothing() -> None:
    depth = fleet(1)
    depth[7] = 0.0
    depth[7, :5] = -0.3
    assert not proved(depth)[7]
