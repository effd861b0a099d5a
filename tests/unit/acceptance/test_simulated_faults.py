"""A fault is written in a few words; a word that is wrong is told, with what was meant."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.acceptance.simulated_campaign import fabric_of
from muster.acceptance.simulated_faults import KINDS, Fault, describe_faults, join, parse_fault
from muster.errors import UsageError

FABRIC = fabric_of(40, 16, 4)


def parse(text: str, seed: int = 0) -> Fault:
    return parse_fault(text, FABRIC, Random(seed))  # noqa: S311 - not a secret


@pytest.mark.parametrize(
    ("text", "node", "component", "arguments"),
    [
        ("slow-node:17=-8%", "n17", "node", {"nodes": {"n17": 0.92}}),
        ("slow-node:n17", "n17", "node", {"nodes": {"n17": 0.92}}),
        ("slow-rail:17.3=-25%", "n17", "rail:3", {"rails": {("n17", 3): 0.75}}),
        ("leaf:2.1=-20%", "", "leaf:leaf2 rail:1", {"uplinks": {("leaf2", 1): 0.8}}),
        ("intermittent:9=-30%/35%", "n9", "node", {"intermittent": {"n9": (0.35, 0.7)}}),
        ("loss:9.0=364", "n9", "rail:0", {"retransmits": {("n9", 0): 364.0}}),
        ("corrupt:9=50%", "n9", "node", {"wrong": {"n9": 0.5}}),
        ("dead:9", "n9", "node", {"dead": frozenset({"n9"})}),
    ],
)
def test_a_fault_says_what_it_breaks_and_what_must_be_named(
    text: str, node: str, component: str, arguments: dict[str, Any]
) -> None:
    found = parse(text)
    assert (found.node, found.component) == (node, component)
    assert found.arguments == arguments


def test_the_uplink_of_a_leaf_has_all_rails_unless_one_is_named() -> None:
    found = parse("leaf:2")
    assert found.component == "leaf:leaf2"
    assert len(found.arguments["uplinks"]) == 4


def test_a_rail_without_a_node_is_of_a_node_that_the_seed_chooses() -> None:
    chosen = {parse("slow-rail:3", seed).node for seed in range(20)}
    assert len(chosen) > 5
    assert parse("slow-rail:3", 1) == parse("slow-rail:3", 1)


def test_on_a_fleet_of_one_rail_a_slow_rail_is_the_node() -> None:
    found = parse_fault("slow-rail:3.0", fabric_of(8, 4, 1), Random(0))  # noqa: S311 - not a secret
    assert found.component == "node"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slow-nod:17", "Did you mean slow-node"),
        ("nonsense", "Faults: slow-node"),
        ("slow-node", "Write as slow-node:NODE"),
        ("slow-node:99", "no node '99'"),
        ("slow-node:1=8%", "no loss of speed"),
        ("slow-node:1=-100%", "no loss of speed"),
        ("slow-node:1=fast", "no percentage"),
        ("slow-rail:1.9", "no rail '9'"),
        ("leaf:7", "no leaf '7'"),
        ("intermittent:1=-30%/150%", "no probability"),
        ("loss:1.0=some", "no count"),
        ("dead:1=5%", "takes no value"),
        ("broken-test:3", "takes no target"),
        ("foreign-load:x", "no round"),
    ],
)
def test_a_mistake_is_told_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert said in str(caught.value)


@given(st.text(max_size=40))
def test_whatever_is_written_is_a_fault_or_a_mistake(text: str) -> None:
    with suppress(UsageError):
        assert parse(text).arguments


def test_faults_of_one_kind_go_together_and_contradictions_do_not() -> None:
    both = join([parse("slow-node:1"), parse("slow-node:2=-20%"), parse("dead:3"), parse("dead:4")])
    assert both == {"nodes": {"n1": 0.92, "n2": 0.8}, "dead": frozenset({"n3", "n4"})}
    with pytest.raises(UsageError, match="same part"):
        join([parse("slow-node:1"), parse("slow-node:1=-20%")])


def test_every_kind_is_described_in_the_help() -> None:
    assert [line.split("=")[0].split(":")[0].split()[0] for line in describe_faults()] == list(
        KINDS
    )
