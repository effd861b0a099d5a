"""Broken tests, fleets that are low as a whole, and fleets too small to compare accuse nobody."""

from __future__ import annotations

from typing import Any

import pytest

from muster.acceptance.locate import Fabric, Measurement, Pair, Policy, locate
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.errors import UsageError
from muster.readiness import Verdict
from tests.unit.acceptance.locate_trials import (
    FLOOR,
    LAB,
    LIVELY,
    QUIET,
    SEEDS,
    fabric,
    not_accepted,
    run,
)


@pytest.mark.parametrize("round_number", [0, 3, 7])
def test_a_node_that_dies_is_untested_and_its_partners_are_not(round_number: int) -> None:
    for seed in SEEDS:
        dead: dict[str, Any] = {"dead": frozenset({"n2"}), "dead_from_round": round_number}
        verdict = run(LAB, seed, **dead, **QUIET)
        assert not_accepted(verdict) == {"n2": ("untested", "node")}, seed
        assert verdict.untested == ("n2",), seed


def test_tests_that_are_never_valid_accuse_nobody() -> None:
    verdict = run(LAB, 0, dead=frozenset(LAB.nodes()))
    assert {found.verdict for found in verdict.nodes.values()} == {Verdict.UNTESTED}
    assert verdict.fleet.verdict is Verdict.UNTESTED
    assert verdict.untested == LAB.nodes()


def test_a_rail_whose_tests_never_work_is_untested_for_all() -> None:
    fleet = SimulatedFleet(fabric=LAB, seed=0, **QUIET)

    def half_broken(pairs: list[Pair]) -> list[Measurement]:
        return [
            Measurement(m.pair, None, valid=False) if m.pair.rail == 1 else m
            for m in fleet.measure(pairs)
        ]

    verdict = locate(LAB, half_broken)
    assert set(not_accepted(verdict).values()) == {("untested", "rail:1")}
    assert (verdict.fleet.verdict, verdict.fleet.component) == (Verdict.UNTESTED, "rail:1")


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -1.0])
def test_a_value_that_is_no_speed_counts_as_not_measured(value: float | None) -> None:
    fleet = SimulatedFleet(fabric=LAB, seed=0, **QUIET)

    def garbled(pairs: list[Pair]) -> list[Measurement]:
        return [
            Measurement(m.pair, value, valid=True) if "n2" in (m.pair.a, m.pair.b) else m
            for m in fleet.measure(pairs)
        ]

    assert not_accepted(locate(LAB, garbled)) == {"n2": ("untested", "node")}


def test_answers_that_are_missing_turned_round_or_not_asked_for_do_no_harm() -> None:
    fleet = SimulatedFleet(fabric=LAB, seed=0, **QUIET)

    def careless(pairs: list[Pair]) -> list[Measurement]:
        got = [m for m in fleet.measure(pairs) if "n2" not in (m.pair.a, m.pair.b)]
        turned = [
            Measurement(Pair(m.pair.b, m.pair.a, m.pair.rail), m.value, valid=True) for m in got
        ]
        return [*turned, Measurement(Pair("n8", "n9", 7), 1.0, valid=True)]

    verdict = locate(LAB, careless)
    assert not_accepted(verdict) == {"n2": ("untested", "node")}


def test_a_fleet_below_the_floor_is_low_as_a_whole_and_accuses_nobody() -> None:
    for seed in SEEDS:
        slow = dict.fromkeys(LAB.nodes(), 0.8)
        verdict = run(LAB, seed, FLOOR, nodes=slow, **LIVELY)
        assert (verdict.fleet.verdict, verdict.fleet.component) == (Verdict.SUSPECT, "fleet"), seed
        assert {v.verdict for v in verdict.nodes.values()} == {Verdict.UNTESTED}, seed
        assert "floor 4.5e+06" in verdict.fleet.reason


def test_one_rail_that_is_low_for_all_is_named_and_accuses_nobody() -> None:
    for seed in SEEDS:
        slow = {(node, 1): 0.8 for node in LAB.nodes()}
        verdict = run(LAB, seed, rails=slow, **LIVELY)
        assert (verdict.fleet.verdict, verdict.fleet.component) == (Verdict.SUSPECT, "rail:1"), seed
        assert set(not_accepted(verdict).values()) == {("untested", "rail:1")}, seed


@pytest.mark.parametrize("slow_count", [11, 12, 15])
def test_more_than_half_slow_says_so_and_accuses_nobody(slow_count: int) -> None:
    place = fabric(5, 5, 5, 5, rails=1)
    for seed in SEEDS:
        slow = {f"n{index}": 0.8 for index in range(slow_count)}
        verdict = run(place, seed, nodes=slow, **LIVELY)
        assert verdict.fleet.verdict is Verdict.SUSPECT, seed
        assert {v.verdict for v in verdict.nodes.values()} == {Verdict.UNTESTED}, seed


def test_tests_that_scatter_wildly_judge_nobody() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, noise=0.3)
        assert verdict.fleet.verdict is Verdict.SUSPECT, seed
        assert Verdict.QUARANTINED not in {v.verdict for v in verdict.nodes.values()}, seed
        assert len(verdict.untested) == 8, seed


def test_between_two_leaves_a_slow_path_cannot_be_told_apart_and_is_named_as_path() -> None:
    for seed in SEEDS:
        verdict = run(fabric(4, 4), seed, uplinks={("leaf0", 1): 0.75}, **LIVELY)
        assert (not_accepted(verdict), verdict.leaves) == ({}, {}), seed
        assert verdict.fleet.verdict is Verdict.SUSPECT, seed
        assert verdict.fleet.component == "leaf0-leaf1 path rail:1", seed


def test_pairs_across_leaves_below_their_floor_name_the_spine() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, FLOOR, cross_share=0.7, **LIVELY)
        assert not_accepted(verdict) == {}, seed
        assert (verdict.fleet.verdict, verdict.fleet.component) == (Verdict.SUSPECT, "spine"), seed


def test_an_oversubscribed_spine_without_a_floor_is_normal() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, cross_share=0.5, **LIVELY)
        assert not_accepted(verdict) == {}, seed
        assert verdict.fleet.verdict is Verdict.ACCEPTED, seed


def test_a_slow_node_alone_on_its_leaf_is_named() -> None:
    for seed in SEEDS:
        verdict = run(fabric(3, 5, 1, 2), seed, nodes={"n8": 0.8}, **LIVELY)
        assert not_accepted(verdict) == {"n8": ("quarantined", "node")}, seed


def test_a_slow_node_is_named_where_every_leaf_has_one_node() -> None:
    for seed in SEEDS:
        verdict = run(fabric(1, 1, 1, 1, 1, 1), seed, nodes={"n4": 0.8}, **LIVELY)
        assert not_accepted(verdict) == {"n4": ("quarantined", "node")}, seed


def test_a_slow_node_is_named_on_a_single_leaf_of_odd_size() -> None:
    for seed in SEEDS:
        verdict = run(fabric(7), seed, rails={("n4", 0): 0.8}, **LIVELY)
        assert not_accepted(verdict) == {"n4": ("quarantined", "rail:0")}, seed
        assert verdict.rounds <= 16, seed


def test_a_node_that_is_in_all_tests_across_leaves_needs_a_floor() -> None:
    place = fabric(4, 1)
    assert not_accepted(run(place, 1, nodes={"n4": 0.8}, **QUIET)) == {"n4": ("untested", "node")}
    assert not_accepted(run(place, 1, FLOOR, **QUIET)) == {}


def test_two_nodes_below_the_floor_are_both_suspect() -> None:
    verdict = run(fabric(2), 0, FLOOR, nodes={"n1": 0.8}, **QUIET)
    assert not_accepted(verdict) == {"n0": ("suspect", "node"), "n1": ("suspect", "node")}
    assert "cannot be told" in verdict.nodes["n0"].reason


def test_two_nodes_above_the_floor_are_accepted() -> None:
    verdict = run(fabric(2), 0, FLOOR, **QUIET)
    assert (not_accepted(verdict), verdict.fleet.verdict) == ({}, Verdict.ACCEPTED)


def test_of_three_nodes_the_one_below_the_floor_with_everyone_is_named() -> None:
    for seed in SEEDS:
        verdict = run(fabric(3), seed, FLOOR, nodes={"n1": 0.8}, **QUIET)
        assert not_accepted(verdict) == {"n1": ("quarantined", "node")}, seed


@pytest.mark.parametrize("size", [2, 3])
def test_too_few_nodes_without_a_floor_are_untested(size: int) -> None:
    verdict = run(fabric(size), 0, **QUIET)
    assert set(not_accepted(verdict).values()) == {("untested", "node")}
    assert verdict.fleet.verdict is Verdict.UNTESTED


@pytest.mark.parametrize("policy", [Policy(), FLOOR])
def test_a_single_node_has_no_partner_and_is_untested(policy: Policy) -> None:
    verdict = run(fabric(1), 0, policy)
    assert not_accepted(verdict) == {"n0": ("untested", "node")}
    assert (verdict.rounds, verdict.measurements) == (0, ())


def test_no_node_at_all_is_untested() -> None:
    verdict = locate(Fabric({}, 1), lambda _: [])
    assert (verdict.nodes, verdict.fleet.verdict) == ({}, Verdict.UNTESTED)


def test_the_same_measurements_give_the_same_verdict() -> None:
    faults: dict[str, Any] = {"rails": {("n3", 1): 0.8}, "noise": 0.02, "transient_rate": 0.05}
    assert run(LAB, 4, **faults) == run(LAB, 4, **faults)


def test_pairs_that_are_compared_come_with_median_and_noise() -> None:
    verdict = run(LAB, 0, cross_share=0.5, **LIVELY)
    medians = {(c.rail, c.kind): c.median_bps for c in verdict.classes}
    assert medians[0, "intra"] == pytest.approx(4.8e6, rel=0.02)
    assert medians[1, "cross"] == pytest.approx(2.4e6, rel=0.02)
    assert all(0.003 < c.noise < 0.03 for c in verdict.classes)


def test_every_round_measures_each_rail_of_disjoint_pairs() -> None:
    for measurements in run(fabric(3, 4, 2), 0, rails={("n1", 1): 0.7}, **QUIET).measurements:
        for rail in (0, 1):
            nodes = [n for m in measurements if m.pair.rail == rail for n in (m.pair.a, m.pair.b)]
            assert nodes
            assert len(nodes) == len(set(nodes))


def test_a_policy_with_negative_rounds_or_an_unknown_floor_is_refused() -> None:
    with pytest.raises(UsageError, match="negative"):
        Policy(cross_rounds=-1)
    with pytest.raises(UsageError, match="no kind of pair between"):
        Policy(floor_bps={"between": 1.0})


def test_two_kinds_of_nodes_of_which_most_are_the_slower_accuse_nobody() -> None:
    place = fabric(4, 4, 4, 4)
    for seed in SEEDS:
        verdict = run(place, seed, nodes={f"n{index}": 0.5 for index in range(10)}, **LIVELY)
        assert verdict.fleet.verdict is Verdict.SUSPECT, seed
        assert Verdict.QUARANTINED not in {v.verdict for v in verdict.nodes.values()}, seed


def test_two_wrong_nodes_are_both_named() -> None:
    for seed in SEEDS:
        verdict = run(fabric(4, 4, 4), seed, wrong={"n4": 0.9, "n9": 0.9}, **QUIET)
        named = {"n4": ("quarantined", "node"), "n9": ("quarantined", "node")}
        assert not_accepted(verdict) == named, seed


@pytest.mark.parametrize("size", [4, 5])
def test_a_slow_node_is_named_in_the_smallest_fleets_that_have_peers(size: int) -> None:
    for seed in SEEDS:
        verdict = run(fabric(size), seed, nodes={"n1": 0.8}, **LIVELY)
        assert not_accepted(verdict) == {"n1": ("quarantined", "node")}, seed
