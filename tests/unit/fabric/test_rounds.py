"""Rounds are disjoint, as large as can be, and bring new partners."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.errors import UsageError
from muster.fabric.model import Fabric
from muster.fabric.rounds import Round, circle, cross_rounds, intra_rounds

Leaves = dict[str, list[str]]
SIZES = st.lists(st.integers(0, 7), min_size=1, max_size=7)


def leaves_of(*sizes: int) -> Leaves:
    return {f"leaf{i}": [f"l{i}n{j}" for j in range(size)] for i, size in enumerate(sizes)}


def partners(rounds: list[Round]) -> dict[str, list[str]]:
    met = defaultdict(list)
    for pairs in rounds:
        for a, b in pairs:
            met[a].append(b)
            met[b].append(a)
    return met


def assert_disjoint(rounds: list[Round]) -> None:
    for pairs in rounds:
        nodes = [node for pair in pairs for node in pair]
        assert len(nodes) == len(set(nodes))


@given(SIZES, st.integers(0, 9))
def test_a_node_has_one_partner_a_round_and_never_one_of_the_wrong_leaf(
    sizes: list[int], count: int
) -> None:
    leaves = leaves_of(*sizes)
    leaf_of = Fabric(leaves, 1).leaf_of()
    intra, cross = intra_rounds(leaves, count), cross_rounds(leaves, count)
    assert_disjoint(intra + cross)
    assert all(leaf_of[a] == leaf_of[b] for pairs in intra for a, b in pairs)
    assert all(leaf_of[a] != leaf_of[b] for pairs in cross for a, b in pairs)


@given(SIZES, st.integers(1, 9))
def test_every_round_pairs_as_many_nodes_as_any_could(sizes: list[int], count: int) -> None:
    leaves = leaves_of(*sizes)
    most_inside = sum(size // 2 for size in sizes)
    most_across = min(sum(sizes) // 2, sum(sizes) - max(sizes))
    assert [len(r) for r in intra_rounds(leaves, count)] == [most_inside] * count * bool(
        most_inside
    )
    assert [len(r) for r in cross_rounds(leaves, count)] == [most_across] * count * bool(
        most_across
    )


@given(st.integers(1, 40), st.integers(1, 12))
def test_rounds_inside_a_leaf_bring_a_new_partner_each_until_all_were_met(
    size: int, count: int
) -> None:
    met = partners(intra_rounds(leaves_of(size), count))
    for found in met.values():
        assert len(set(found)) == min(len(found), size - 1)


@given(st.integers(1, 8).map(lambda half: 2 * half), st.integers(1, 6), st.integers(1, 8))
def test_rounds_across_equal_leaves_bring_a_new_partner_each_until_all_were_met(
    leaf_count: int, size: int, count: int
) -> None:
    count = min(count, (leaf_count - 1) * size)
    met = partners(cross_rounds(leaves_of(*[size] * leaf_count), count))
    assert all(len(set(found)) == count for found in met.values())


@settings(deadline=None)
@given(st.lists(st.integers(1, 12), min_size=3, max_size=9))
def test_four_rounds_across_uneven_leaves_seldom_repeat_a_pair(sizes: list[int]) -> None:
    leaves = leaves_of(*sizes)
    leaf_of = Fabric(leaves, 1).leaf_of()
    met = partners(cross_rounds(leaves, 4))
    repeated = 0
    for node, found in met.items():
        others = sum(sizes) - len(leaves[leaf_of[node]])
        repeated += min(len(found), others) - len(set(found))
    assert repeated <= 4, sizes


def test_with_an_odd_count_another_node_rests_in_each_round() -> None:
    nodes = set(leaves_of(5)["leaf0"])
    resting = [nodes - {n for pair in r for n in pair} for r in intra_rounds(leaves_of(5), 5)]
    assert Counter(node for rest in resting for node in rest) == dict.fromkeys(nodes, 1)


def test_the_rest_across_leaves_is_shared_out_too() -> None:
    met = partners(cross_rounds(leaves_of(3, 3, 3), 9))
    assert {len(found) for found in met.values()} == {8}


def test_nodes_of_a_leaf_that_holds_most_nodes_take_turns() -> None:
    met = partners(cross_rounds(leaves_of(6, 2), 6))
    assert {len(found) for node, found in met.items() if node.startswith("l0")} == {2}
    assert {len(set(found)) for node, found in met.items() if node.startswith("l1")} == {6}


@pytest.mark.parametrize("leaves", [{}, leaves_of(0), leaves_of(1), leaves_of(0, 1)])
def test_fewer_than_two_nodes_make_no_round(leaves: Leaves) -> None:
    assert intra_rounds(leaves, 4) == []
    assert cross_rounds(leaves, 4) == []


def test_two_nodes_meet_inside_their_leaf_or_across() -> None:
    assert intra_rounds(leaves_of(2), 1) == [[("l0n0", "l0n1")]]
    assert cross_rounds(leaves_of(1, 1), 1) == [[("l0n0", "l1n0")]]


def test_leaves_of_one_node_have_no_rounds_inside() -> None:
    assert intra_rounds(leaves_of(1, 1, 1), 4) == []
    assert circle([], 3) == []


@pytest.mark.parametrize("sizes", [[16] * 256, [31] * 133, [1] * 4096, [2000, 2096], [2] * 2048])
def test_thousands_of_nodes_never_meet_twice_in_eight_rounds(sizes: list[int]) -> None:
    leaves = leaves_of(*sizes)
    met = partners(cross_rounds(leaves, 8))
    assert all(len(found) == len(set(found)) for found in met.values())
    assert min(len(found) for found in met.values()) >= 7


def test_a_node_on_two_leaves_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="n1 listed twice"):
        Fabric({"a": ["n0", "n1"], "b": ["n1"]}, 2)


def test_a_fabric_without_rails_is_refused() -> None:
    with pytest.raises(UsageError, match="0 rails"):
        Fabric({"a": ["n0"]}, 0)


def test_a_fabric_lists_nodes_leaf_by_leaf() -> None:
    fabric = Fabric({"b": ["n1", "n0"], "a": ["n2"]}, 1)
    assert fabric.nodes() == ("n1", "n0", "n2")
    assert fabric.leaf_of() == {"n1": "b", "n0": "b", "n2": "a"}
