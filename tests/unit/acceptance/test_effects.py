"""An uplink is blamed on enough tests, never on one noisy round."""

from __future__ import annotations

import pytest

from muster.acceptance.effects import Explainer, Limit, Sample, by_node

LEAF_OF = {f"n{i}": f"leaf{i // 2}" for i in range(8)}
LIMIT = Limit(sigmas=4, least=0.03)


def blamed(cross: list[Sample]) -> set[str]:
    inside = [
        Sample(f"n{i}", f"n{i + 1}", cross=False, deviation=0.0, round=0) for i in (0, 2, 4, 6)
    ]
    explainer = Explainer(
        tests=by_node([*inside, *cross]),
        leaf_of=LEAF_OF,
        sigma=0.005,
        node_limit=LIMIT,
        leaf_limit=LIMIT,
    )
    return set(explainer.explain().low_leaves)


def rounds(count: int, low: float, *, low_rounds: set[int]) -> list[Sample]:
    """Tests across leaves in which both nodes of leaf2 are low in some rounds."""
    found = []
    for number in range(count):
        value = low if number in low_rounds else 0.0
        for node, partner in (("n4", f"n{number % 4}"), ("n5", f"n{(number + 1) % 4}")):
            found.append(Sample(node, partner, cross=True, deviation=value, round=number))
    return found


def test_one_noisy_round_of_two_blames_no_uplink() -> None:
    assert blamed(rounds(2, -0.13, low_rounds={1})) == set()


def test_one_noisy_round_of_four_blames_no_uplink() -> None:
    assert blamed(rounds(4, -0.13, low_rounds={2})) == set()


@pytest.mark.parametrize("count", [3, 4])
def test_an_uplink_that_is_low_in_every_round_is_blamed(count: int) -> None:
    assert blamed(rounds(count, -0.13, low_rounds=set(range(count)))) == {"leaf2"}
