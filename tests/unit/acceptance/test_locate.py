"""The verdict names what was broken, and nobody else. A failing trial prints its seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from muster.acceptance.locate import (
    Fabric,
    LocateVerdict,
    Measurement,
    Pair,
    Policy,
    locate,
)
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.errors import UsageError
from muster.readiness import Verdict

SEEDS = range(6)
QUIET: dict[str, Any] = {"noise": 0.0006}
LIVELY: dict[str, Any] = {"noise": 0.01, "node_spread": 0.005}
NOISES = pytest.mark.parametrize("noise", [QUIET, LIVELY], ids=["quiet", "lively"])
FLOOR = Policy(floor_bps={"intra": 4.5e6, "cross": 4.5e6})
Named = dict[str, tuple[str, str]]


def fabric(*sizes: int, rails: int = 2) -> Fabric:
    leaves: dict[str, list[str]] = {}
    for index, size in enumerate(sizes):
        first = sum(sizes[:index])
        leaves[f"leaf{index}"] = [f"n{first + seat}" for seat in range(size)]
    return Fabric(leaves, rails)


LAB = fabric(2, 2, 2, 2)
"""Eight nodes in leaves of two: each node's only partner in its leaf may be the faulty one."""


def run(place: Fabric, seed: int, policy: Policy | None = None, **faults: Any) -> LocateVerdict:
    fleet = SimulatedFleet(fabric=place, seed=seed, **faults)
    return locate(place, fleet.measure, policy or Policy())


def not_accepted(verdict: LocateVerdict) -> Named:
    return {
        node: (found.verdict.value, found.component)
        for node, found in verdict.nodes.items()
        if found.verdict is not Verdict.ACCEPTED
    }


def leaves_at_fault(verdict: LocateVerdict) -> list[str]:
    return [found.component for found in verdict.leaves.values()]


@NOISES
@pytest.mark.parametrize("place", [LAB, fabric(16, 16, rails=1), fabric(3, 5, 1, 2), fabric(7)])
def test_a_healthy_fleet_is_accepted_whole(place: Fabric, noise: Mapping[str, Any]) -> None:
    for seed in range(12):
        verdict = run(place, seed, **noise)
        assert (not_accepted(verdict), verdict.leaves, verdict.untested) == ({}, {}, ()), seed
        assert verdict.fleet.verdict is Verdict.ACCEPTED, seed


def test_few_healthy_nodes_are_quarantined_even_where_tests_are_often_disturbed() -> None:
    place, quarantined = fabric(4, 4, 4, 4, rails=1), 0
    for seed in range(40):
        verdict = run(place, seed, noise=0.02, node_spread=0.005, transient_rate=0.03)
        quarantined += sum(v.verdict is Verdict.QUARANTINED for v in verdict.nodes.values())
    assert quarantined <= 40 * 16 * 0.005, "seeds 0 to 39"


@NOISES
def test_a_slow_rail_of_one_node_is_named_with_its_rail(noise: Mapping[str, Any]) -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, rails={("n3", 1): 0.8}, **noise)
        assert not_accepted(verdict) == {"n3": ("quarantined", "rail:1")}, seed
        assert (verdict.leaves, verdict.fleet.verdict) == ({}, Verdict.ACCEPTED), seed
        found = verdict.nodes["n3"]
        assert found.effect == pytest.approx(-0.2, abs=0.02), seed
        assert found.llr > 6, seed
        assert found.rounds == verdict.rounds == 10, seed


def test_two_of_four_slow_rails_are_both_named() -> None:
    for seed in SEEDS:
        slow = {("n5", 1): 0.8, ("n5", 3): 0.7}
        verdict = run(fabric(4, 4, rails=4), seed, rails=slow, **LIVELY)
        assert not_accepted(verdict) == {"n5": ("quarantined", "rail:1 rail:3")}, seed


@NOISES
def test_a_node_that_is_slow_on_all_rails_is_named_as_node(noise: Mapping[str, Any]) -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, nodes={"n6": 0.85}, **noise)
        assert not_accepted(verdict) == {"n6": ("quarantined", "node")}, seed


def test_with_all_rails_measured_together_a_slow_node_is_named_as_node() -> None:
    for seed in SEEDS:
        together = Policy(rails_separately=False)
        verdict = run(LAB, seed, together, nodes={"n6": 0.85}, **LIVELY)
        assert not_accepted(verdict) == {"n6": ("quarantined", "node")}, seed
        assert {m.pair.rail for m in verdict.measurements[0]} == {None}


@NOISES
def test_two_slow_nodes_of_eight_are_both_named(noise: Mapping[str, Any]) -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, nodes={"n2": 0.8, "n5": 0.85}, **noise)
        named = {"n2": ("quarantined", "node"), "n5": ("quarantined", "node")}
        assert not_accepted(verdict) == named, seed


def test_a_tenth_of_the_fleet_eight_percent_slow_is_found_exactly() -> None:
    place = fabric(16, 16, 16, 16, rails=1)
    slow = [f"n{index}" for index in (3, 11, 17, 20, 42, 63)]
    for seed in range(3):
        verdict = run(place, seed, nodes=dict.fromkeys(slow, 0.92), transient_rate=0.01, **LIVELY)
        found = [n for n, v in verdict.nodes.items() if v.verdict is Verdict.QUARANTINED]
        assert found == slow, seed


@NOISES
@pytest.mark.parametrize("place", [LAB, fabric(4, 4, 4), fabric(6, 3, 5, 1)])
def test_a_slow_uplink_is_named_with_its_rail_and_blames_no_node(
    place: Fabric, noise: Mapping[str, Any]
) -> None:
    for seed in SEEDS:
        verdict = run(place, seed, uplinks={("leaf1", 1): 0.75}, **noise)
        assert not_accepted(verdict) == {}, seed
        assert leaves_at_fault(verdict) == ["leaf:leaf1 rail:1"], seed
        assert verdict.leaves["leaf1"].rails == (1,), seed
        assert verdict.leaves["leaf1"].effect == pytest.approx(-0.25, abs=0.03), seed


def test_an_uplink_that_is_slow_on_all_rails_is_named_without_rails() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, uplinks={("leaf1", 0): 0.75, ("leaf1", 1): 0.75}, **LIVELY)
        assert (not_accepted(verdict), leaves_at_fault(verdict)) == ({}, ["leaf:leaf1"]), seed


@NOISES
def test_a_slow_node_and_a_slow_uplink_elsewhere_are_told_apart(
    noise: Mapping[str, Any],
) -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, nodes={"n7": 0.8}, uplinks={("leaf1", 1): 0.75}, **noise)
        assert not_accepted(verdict) == {"n7": ("quarantined", "node")}, seed
        assert leaves_at_fault(verdict) == ["leaf:leaf1 rail:1"], seed


def test_loss_on_a_rail_is_seen_in_retransmits_though_the_speed_is_right() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, retransmits={("n2", 0): 160}, **QUIET)
        assert not_accepted(verdict) == {"n2": ("quarantined", "rail:0")}, seed
        assert "retransmits" in verdict.nodes["n2"].reason
        assert verdict.nodes["n2"].effect == pytest.approx(0, abs=0.01), seed


def test_loss_on_an_uplink_blames_no_node() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, uplink_retransmits={("leaf2", 0): 160}, **QUIET)
        assert not_accepted(verdict) == {}, seed
        assert leaves_at_fault(verdict) == ["leaf:leaf2 rail:0"], seed
        assert "retransmits" in verdict.leaves["leaf2"].reason


def test_without_counters_a_fleet_is_judged_by_speed() -> None:
    fleet = SimulatedFleet(fabric=LAB, seed=0, retransmits={("n2", 0): 160})

    def uncounted(pairs: list[Pair]) -> list[Measurement]:
        return [Measurement(m.pair, m.value, m.valid) for m in fleet.measure(pairs)]

    assert not_accepted(locate(LAB, uncounted)) == {}


def test_a_disturbance_in_one_round_quarantines_nobody() -> None:
    for seed in SEEDS:
        slow = {("n2", seed): 0.5, ("n5", seed): 0.7}
        verdict = run(LAB, seed, slow_rounds=slow, **LIVELY)
        assert not_accepted(verdict) == {}, seed


def test_a_fault_that_ends_before_the_confirming_rounds_does_not_quarantine() -> None:
    for seed in SEEDS:
        slow = {("n2", number): 0.7 for number in range(8)}
        found = run(LAB, seed, slow_rounds=slow, **LIVELY).nodes["n2"]
        assert found.verdict is Verdict.SUSPECT, seed
        assert "not confirmed" in found.reason


def test_without_confirming_rounds_nobody_is_quarantined() -> None:
    verdict = run(LAB, 0, Policy(confirm_rounds=0), nodes={"n6": 0.8}, **QUIET)
    assert not_accepted(verdict) == {"n6": ("suspect", "node")}


def test_most_nodes_that_fail_now_and_then_are_caught_within_the_budget() -> None:
    place, caught, blamed = fabric(4, 4, 4, 4, rails=1), 0, 0
    for seed in range(20):
        verdict = run(place, seed, intermittent={"n9": (0.4, 0.7)}, **LIVELY)
        quarantined = {n for n, v in verdict.nodes.items() if v.verdict is Verdict.QUARANTINED}
        caught += "n9" in quarantined
        blamed += len(quarantined - {"n9"})
        assert verdict.rounds <= 8 + Policy().confirm_rounds, seed
    assert caught >= 16, "seeds 0 to 19"
    assert blamed <= 1, "seeds 0 to 19"


def test_wrong_results_name_the_node_they_follow() -> None:
    for seed in SEEDS:
        verdict = run(LAB, seed, wrong={"n4": 0.7}, **QUIET)
        assert not_accepted(verdict) == {"n4": ("quarantined", "node")}, seed
        assert "wrong results" in verdict.nodes["n4"].reason


def test_a_single_wrong_result_leaves_both_nodes_suspect() -> None:
    fleet = SimulatedFleet(fabric=LAB, seed=0, **QUIET)

    def once(pairs: list[Pair]) -> list[Measurement]:
        first = fleet.calls == 0
        got = fleet.measure(pairs)
        wrong = Measurement(got[0].pair, got[0].value, valid=True, counters={"wrong": 1.0})
        return [wrong, *got[1:]] if first else got

    verdict = locate(LAB, once)
    assert not_accepted(verdict) == {"n0": ("suspect", "node"), "n1": ("suspect", "node")}
    assert verdict.rounds == 8 + Policy().confirm_rounds


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
        assert verdict.rounds == 10, seed


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
