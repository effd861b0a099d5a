"""An uplink is blamed on enough tests, never on one noisy round."""

from __future__ import annotations

import numpy as np
import pytest

from muster.acceptance.effects import Explainer, Limit
from muster.acceptance.locate_model import Measurement
from muster.acceptance.pair_table import PairTable
from muster.fabric.model import Fabric, Pair

FABRIC = Fabric({f"leaf{i}": (f"n{2 * i}", f"n{2 * i + 1}") for i in range(4)}, rails=1)
LIMIT = Limit(sigmas=4, least=0.03)
INSIDE = [("n0", "n1"), ("n2", "n3"), ("n4", "n5"), ("n6", "n7")]


def blamed(cross: list[list[tuple[str, str, float]]]) -> set[int]:
    table = PairTable(FABRIC, (0,), ())
    for tests in [[(a, b, 0.0) for a, b in INSIDE], *cross]:
        values = [Measurement(Pair(a, b, 0), 1 + value, valid=True) for a, b, value in tests]
        table.add([(a, b) for a, b, _ in tests], values)
    seats = table.seats()
    explainer = Explainer(
        seats=seats,
        deviation=table.rail(0, seats).speed - 1,
        sigma=0.005,
        node_limit=LIMIT,
        leaf_limit=LIMIT,
    )
    return set(explainer.explain().low_leaves)


def rounds(count: int, low: float, *, low_rounds: set[int]) -> list[list[tuple[str, str, float]]]:
    """Tests across leaves in which both nodes of leaf2 are low in some rounds."""
    found = []
    for number in range(count):
        value = low if number in low_rounds else 0.0
        partners = (f"n{number % 4}", f"n{(number + 1) % 4}")
        found.append([("n4", partners[0], value), ("n5", partners[1], value)])
    return found


def test_one_noisy_round_of_two_blames_no_uplink() -> None:
    assert blamed(rounds(2, -0.13, low_rounds={1})) == set()


def test_one_noisy_round_of_four_blames_no_uplink() -> None:
    assert blamed(rounds(4, -0.13, low_rounds={2})) == set()


@pytest.mark.parametrize("count", [3, 4])
def test_an_uplink_that_is_low_in_every_round_is_blamed(count: int) -> None:
    assert blamed(rounds(count, -0.13, low_rounds=set(range(count)))) == {2}


def test_limits_narrow_with_the_number_of_partners() -> None:
    limit = Limit(sigmas=4, least=0.01)
    assert limit.at(0.01, np.array([1, 4, 10_000])).tolist() == pytest.approx([0.05, 0.025, 0.01])
