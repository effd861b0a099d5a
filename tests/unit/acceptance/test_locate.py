"""The verdict names what was broken, and nobody else. A failing trial prints its seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from muster.acceptance.locate import Fabric, LocateVerdict, Measurement, Pair, Policy, locate
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.readiness import Verdict
from tests.unit.acceptance.locate_trials import (
    LAB,
    LIVELY,
    QUIET,
    SEEDS,
    fabric,
    not_accepted,
    run,
)

NOISES = pytest.mark.parametrize("noise", [QUIET, LIVELY], ids=["quiet", "lively"])


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


def test_what_is_slow_and_loses_packets_is_named_once() -> None:
    for seed in SEEDS:
        slow_rail = run(LAB, seed, rails={("n2", 1): 0.8}, retransmits={("n2", 1): 364}, **QUIET)
        assert not_accepted(slow_rail) == {"n2": ("quarantined", "rail:1")}, seed
        part = ("leaf1", 1)
        uplink = run(LAB, seed, uplinks={part: 0.75}, uplink_retransmits={part: 300}, **QUIET)
        assert not_accepted(uplink) == {}, seed
        assert leaves_at_fault(uplink) == ["leaf:leaf1 rail:1"], seed


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


def foreign_load(place: Fabric, *, rounds: tuple[int, ...], seed: int) -> dict[Any, float]:
    """Three quarters of the nodes lose 10 to 40 % in some rounds: something else ran then."""
    chance = Random(seed)  # noqa: S311 - a simulation, not a secret
    names = place.nodes()
    return {
        (name, number): chance.uniform(0.6, 0.9)
        for number in rounds
        for name in chance.sample(names, 3 * len(names) // 4)
    }


@pytest.mark.parametrize("place", [LAB, fabric(4, 4, 4, 4, rails=1)], ids=["lab", "sixteen"])
@pytest.mark.parametrize("policy", [Policy(), Policy(intra_rounds=2, cross_rounds=2)])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_round_that_is_slow_for_most_is_the_rounds_fault(
    place: Fabric, policy: Policy, number: int
) -> None:
    for seed in range(10):
        slow = foreign_load(place, rounds=(number,), seed=seed)
        verdict = run(place, seed, policy, slow_rounds=slow, **LIVELY)
        assert not_accepted(verdict) == {}, seed
        assert verdict.leaves == {}, seed


def test_a_slow_confirming_round_clears_nobody_and_accuses_nobody_else() -> None:
    for seed in SEEDS:
        slow = foreign_load(LAB, rounds=(8, 9), seed=seed)
        verdict = run(LAB, seed, nodes={"n6": 0.8}, slow_rounds=slow, **LIVELY)
        assert not_accepted(verdict) == {"n6": ("quarantined", "node")}, seed


def test_a_slow_node_is_named_though_another_load_runs_in_two_rounds() -> None:
    place = fabric(4, 4, 4, 4, rails=1)
    for seed in SEEDS:
        slow = foreign_load(place, rounds=(1, 6), seed=seed)
        verdict = run(place, seed, nodes={"n6": 0.85}, slow_rounds=slow, **LIVELY)
        assert not_accepted(verdict) == {"n6": ("quarantined", "node")}, seed
        assert verdict.rounds <= 16, seed


def test_a_node_that_fails_on_all_rails_now_and_then_is_named_as_node() -> None:
    place, caught = fabric(8, 8, 8, 8, rails=4), 0
    for seed in range(10):
        verdict = run(place, seed, intermittent={"n9": (0.4, 0.7)}, transient_rate=0.01, **LIVELY)
        found = {k: v for k, v in not_accepted(verdict).items() if v[0] == "quarantined"}
        caught += found == {"n9": ("quarantined", "node")}
    assert caught >= 9, "seeds 0 to 9"
