"""Names of nodes: who has one keeps it, a successor takes the lost one's."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from muster.fabric.ordinals import Member, assign


def member(number: int, name: str = "") -> Member:
    return Member(id=f"i-{number}", launched=f"2026-11-21T00:00:{number:02}Z", name=name)


def test_new_instances_are_named_in_the_order_of_their_launch() -> None:
    found = assign("gpu", 3, [member(2), member(1)])
    assert found.names == {"gpu-1": "i-1", "gpu-2": "i-2"}
    assert found.free == ("gpu-3",)


def test_a_successor_takes_the_name_of_the_lost_node() -> None:
    found = assign("gpu", 3, [member(1, "gpu-1"), member(3, "gpu-3"), member(9)])
    assert found.names == {"gpu-1": "i-1", "gpu-2": "i-9", "gpu-3": "i-3"}


def test_of_two_with_one_name_the_older_keeps_it() -> None:
    found = assign("gpu", 2, [member(5, "gpu-1"), member(4, "gpu-1")])
    assert found.names == {"gpu-1": "i-4", "gpu-2": "i-5"}


def test_a_smaller_pool_gives_up_its_highest_ordinals_first() -> None:
    found = assign("gpu", 2, [member(n, f"gpu-{n}") for n in (1, 2, 3, 10)])
    assert found.leftovers == ("i-10", "i-3")


def test_a_node_beyond_the_size_takes_a_free_name_rather_than_be_ended() -> None:
    found = assign("gpu", 2, [member(1, "gpu-1"), member(3, "gpu-3")])
    assert found.names == {"gpu-1": "i-1", "gpu-2": "i-3"}
    assert found.leftovers == ()


def test_a_name_of_another_pool_counts_as_none() -> None:
    assert assign("gpu", 1, [member(1, "cpu-1")]).names == {"gpu-1": "i-1"}


NAME = st.one_of(
    st.just(""), st.integers(0, 9).map("gpu-{}".format), st.sampled_from(["gpu-01", "x-1", "gpu-"])
)
MEMBERS = st.lists(st.tuples(st.integers(0, 20), NAME), max_size=9, unique_by=lambda m: m[0]).map(
    lambda found: [member(*each) for each in found]
)
SIZE = st.integers(0, 8)


@given(SIZE, MEMBERS)
def test_everybody_is_named_once_or_left_over(size: int, members: list[Member]) -> None:
    found = assign("gpu", size, members)
    seen = [*found.names.values(), *found.leftovers]
    assert sorted(seen) == sorted(m.id for m in members)
    assert set(found.names) | set(found.free) == {f"gpu-{n}" for n in range(1, size + 1)}
    assert not (found.free and found.leftovers)


@given(SIZE, MEMBERS)
def test_names_do_not_change_when_asked_again(size: int, members: list[Member]) -> None:
    first = assign("gpu", size, members)
    names = {found: name for name, found in first.names.items()}
    again = [Member(id=m.id, launched=m.launched, name=names.get(m.id, m.name)) for m in members]
    assert assign("gpu", size, again).names == first.names


@given(SIZE, MEMBERS, st.randoms(use_true_random=False))
def test_the_order_of_the_members_does_not_matter(
    size: int, members: list[Member], order: random.Random
) -> None:
    shuffled = list(members)
    order.shuffle(shuffled)
    assert assign("gpu", size, members) == assign("gpu", size, shuffled)
