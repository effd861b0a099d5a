"""The benchmark of locating counts rightly, and its scenarios and methods run."""

from __future__ import annotations

import pytest

from benchmarks.faults.baselines import Answer
from benchmarks.faults.methods import ABLATIONS, METHODS, OWN
from benchmarks.faults.page import render
from benchmarks.faults.scenarios import SCENARIOS, Truth
from benchmarks.faults.tally import Share, Tally
from benchmarks.faults.trials import _trial

NODES = tuple(f"n{number}" for number in range(10))


def test_the_wilson_interval_is_that_of_the_textbook() -> None:
    assert Share(8, 10).interval() == pytest.approx((0.4901, 0.9433), abs=1e-3)
    assert Share(0, 30).interval()[0] == 0
    assert Share(30, 30).interval()[1] == 1


def test_a_trial_counts_who_was_found_missed_and_wrongly_named() -> None:
    tally = Tally()
    truth = Truth({"n1": "rail:1", "n2": "node"}, frozenset({"leaf0"}), excused=frozenset({"n9"}))
    answer = Answer(nodes={"n1": "node", "n5": "node", "n9": "node"}, suspects=frozenset({"n6"}))
    tally.count(truth, answer, NODES, 0.1)
    assert (tally.recall.hits, tally.recall.of) == (1, 2)
    assert (tally.false.hits, tally.false.of) == (1, 7)
    assert (tally.suspects.hits, tally.component.hits, tally.leaf.hits) == (1, 0, 0)
    assert tally.exact.value == 0


def test_an_answer_that_is_right_in_all_is_exact() -> None:
    tally = Tally()
    truth = Truth({"n1": "node"}, frozenset({"leaf0"}), fleet=True)
    tally.count(truth, Answer({"n1": "node"}, frozenset({"leaf0"}), fleet=True), NODES, 0.1)
    assert tally.exact.value == 1


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_scenario_is_solved_within_16_rounds(name: str) -> None:
    tally = Tally()
    _trial(SCENARIOS[name], 64, 3, OWN, tally)
    assert tally.rounds <= 16
    assert tally.false.hits <= 1
    restless = SCENARIOS[name].noise > 0.01
    assert restless or tally.exact.value == 1


def test_every_method_answers_and_the_page_shows_it() -> None:
    tallies = {}
    for name in (*METHODS, *ABLATIONS):
        tallies["slow-30", 64, name] = Tally()
        _trial(SCENARIOS["slow-30"], 64, 3, name, tallies["slow-30", 64, name])
    page = render(tallies, command="benchmark", date="today", seed=3, trials=1)
    assert all(method in page for method in METHODS)
    assert "| 1 % of nodes 30 % slow | 1 " in page
