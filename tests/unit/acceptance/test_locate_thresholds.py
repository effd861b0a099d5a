"""A value is judged by its peers and the floor; what cannot be judged is unknown."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.acceptance.thresholds import PeerJudgement, judge_against_peers
from muster.errors import UsageError
from muster.findings import Outcome

PEERS = {"n1": 100.0, "n2": 101.0, "n3": 99.0, "n4": 100.0}


def judge(
    value: float | None,
    *,
    peers: dict[str, float] | None = None,
    floor: float | None = None,
    tolerance: float = 0.1,
    higher_is_better: bool = True,
) -> PeerJudgement:
    values = dict(PEERS if peers is None else peers)
    if value is not None:
        values["n0"] = value
    return judge_against_peers(
        values,
        "n0",
        floor=floor,
        floor_source="limits.yaml, measured",
        relative_tolerance=tolerance,
        higher_is_better=higher_is_better,
    )


def test_a_value_like_its_peers_passes() -> None:
    found = judge(98.0)
    assert (found.outcome, found.median, found.mad, found.n) == (Outcome.PASS, 100.0, 0.5, 4)


def test_a_value_far_below_its_peers_fails_with_the_figures() -> None:
    found = judge(85.0)
    assert found.outcome is Outcome.FAIL
    assert found.reason == "85, median of 4 peers 100, limit 90"


def test_a_disk_at_a_hundredth_of_its_peers_fails_however_much_they_scatter() -> None:
    peers = {"n1": 1525e6, "n2": 621e6, "n3": 578e6, "n4": 1459e6, "n5": 1198e6, "n6": 1525e6}
    found = judge(10e6, peers=peers, tolerance=0.6)
    assert found.outcome is Outcome.FAIL


@given(
    st.lists(st.floats(1, 1e12), min_size=3, max_size=50),
    st.floats(0.01, 0.99),
    st.booleans(),
)
def test_no_scatter_makes_a_check_that_cannot_fail(
    rates: list[float], tolerance: float, higher_is_better: bool
) -> None:
    peers = {f"p{n}": rate for n, rate in enumerate(rates)}
    worst = 0.0 if higher_is_better else 1e300
    found = judge(worst, peers=peers, tolerance=tolerance, higher_is_better=higher_is_better)
    assert found.outcome is Outcome.FAIL


def test_a_value_below_the_floor_fails_even_if_all_peers_are_too() -> None:
    found = judge(100.0, floor=120.0)
    assert found.outcome is Outcome.FAIL
    assert found.reason == "100, floor 120 (limits.yaml, measured)"


def test_a_value_far_above_its_peers_passes_where_higher_is_better() -> None:
    assert judge(150.0).outcome is Outcome.PASS


def test_a_latency_far_above_its_peers_fails_and_one_below_passes() -> None:
    assert judge(120.0, higher_is_better=False).outcome is Outcome.FAIL
    assert judge(60.0, higher_is_better=False).outcome is Outcome.PASS


def test_where_lower_is_better_the_floor_is_a_ceiling() -> None:
    found = judge(100.0, floor=95.0, higher_is_better=False)
    assert found.outcome is Outcome.FAIL
    assert "ceiling 95" in found.reason


@pytest.mark.parametrize("value", [None, nan, float("inf")])
def test_no_value_is_unknown_even_with_peers_and_a_floor(value: float | None) -> None:
    assert judge(value, floor=50.0).outcome is Outcome.UNKNOWN


def test_with_two_peers_only_the_floor_judges() -> None:
    two = {"n1": 100.0, "n2": 100.0}
    assert judge(60.0, peers=two, floor=50.0).outcome is Outcome.PASS
    assert judge(40.0, peers=two, floor=50.0).outcome is Outcome.FAIL


def test_with_two_peers_and_no_floor_nobody_can_tell() -> None:
    found = judge(60.0, peers={"n1": 100.0, "n2": 100.0})
    assert found.outcome is Outcome.UNKNOWN
    assert "only 2 peers and no floor" in found.reason


def test_a_single_node_is_judged_by_the_floor_alone() -> None:
    assert judge(60.0, peers={}, floor=50.0).outcome is Outcome.PASS
    assert judge(60.0, peers={}).outcome is Outcome.UNKNOWN


def test_noisy_peers_widen_the_tolerance() -> None:
    noisy = {"n1": 80.0, "n2": 120.0, "n3": 100.0, "n4": 90.0, "n5": 110.0}
    assert judge(85.0, peers=noisy, tolerance=0.02).outcome is Outcome.PASS


def test_peers_without_a_finite_value_are_not_counted() -> None:
    assert judge(60.0, peers={"n1": nan, "n2": 100.0, "n3": 100.0}).n == 2


@pytest.mark.parametrize("tolerance", [0.0, 1.0, 5.0])
def test_a_tolerance_that_is_no_share_is_refused(tolerance: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        judge(100.0, tolerance=tolerance)


VALUES = st.floats(1.0, 1e12)


@given(st.lists(VALUES, min_size=3, max_size=20), VALUES, st.integers(-20, 20))
def test_the_unit_does_not_change_the_outcome(
    values: list[float], value: float, exponent: int
) -> None:
    scale = 2.0**exponent
    peers = {f"p{i}": v for i, v in enumerate(values)}
    scaled = {name: v * scale for name, v in peers.items()}
    assert judge(value * scale, peers=scaled).outcome is judge(value, peers=peers).outcome


@given(st.lists(VALUES, min_size=3, max_size=20), VALUES, st.floats(1.0, 2.0))
def test_a_better_value_is_never_judged_worse(
    values: list[float], value: float, factor: float
) -> None:
    peers = {f"p{i}": v for i, v in enumerate(values)}
    if judge(value, peers=peers).outcome is Outcome.PASS:
        assert judge(value * factor, peers=peers).outcome is Outcome.PASS
