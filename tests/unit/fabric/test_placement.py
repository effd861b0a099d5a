"""Where nodes sit: rows of the topology API in, one place for each node out."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.fabric.placement import Place, node_labels, place_instances


def row(name: str, *path: str, block: str | None = None) -> dict[str, Any]:
    """A row as the API gives it; what is empty is left out."""
    return {
        "InstanceId": name,
        "InstanceType": "p5.48xlarge",
        "NetworkNodes": list(path),
        **({"CapacityBlockId": block} if block else {}),
    }


def test_the_last_network_node_is_the_leaf_with_three_levels_and_with_four() -> None:
    rows = [row("i-3", "nn-a", "nn-b", "nn-c"), row("i-4", "nn-a", "nn-d", "nn-e", "nn-f")]
    places = place_instances(["i-3", "i-4"], rows).places
    assert places["i-3"] == Place(leaf="nn-c", switches=("nn-a", "nn-b"))
    assert places["i-4"] == Place(leaf="nn-f", switches=("nn-a", "nn-d", "nn-e"))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "has not said yet"),
        ([{"InstanceId": "i-1"}], "names no network nodes"),
        ([{"InstanceId": "i-1", "NetworkNodes": None}], "names no network nodes"),
        ([{"InstanceId": "i-1", "NetworkNodes": "null"}], "names no network nodes"),
        ([row("i-1")], "names no network nodes"),
        ([row("i-1", "nn-a", "null", "nn-c")], "names no network nodes"),
        ([row("i-1", "nn-a", "nn-b"), row("i-1", "nn-a", "nn-c")], "more than one place"),
    ],
)
def test_an_instance_without_one_sure_place_is_unplaced_and_says_why(
    rows: list[dict[str, Any]], why: str
) -> None:
    found = place_instances(["i-1"], rows)
    assert found.places == {}
    assert why in found.unplaced["i-1"]


def test_rows_of_instances_that_nobody_asked_for_are_left_aside() -> None:
    found = place_instances(["i-1"], [row("i-1", "a", "b"), row("i-old", "a", "b")])
    assert set(found.places) == {"i-1"}


def test_an_ultraserver_is_the_nodes_domain_and_the_word_null_is_none() -> None:
    rows = [row("i-1", "a", "b", block="us-1"), row("i-2", "a", "b", block="null")]
    places = place_instances(["i-1", "i-2"], rows).places
    assert (places["i-1"].domain, places["i-2"].domain) == ("us-1", "")


def test_one_leaf_below_two_spines_is_two_leaves() -> None:
    rows = [row("i-1", "s1", "leaf"), row("i-2", "s2", "leaf"), row("i-3", "s1", "leaf")]
    places = place_instances(["i-1", "i-2", "i-3"], rows).places
    assert places["i-1"] == places["i-3"]
    assert places["i-1"].leaf != places["i-2"].leaf
    assert places["i-1"].leaf.startswith("leaf-")


def test_a_switch_is_never_a_leaf_and_above_leaves_at_once() -> None:
    places = place_instances(["i-1", "i-2"], [row("i-1", "a", "b"), row("i-2", "a", "b", "c")])
    assert places.places["i-1"].leaf not in places.places["i-2"].switches


def test_labels_are_those_that_eks_writes() -> None:
    place = Place(leaf="nn-3", switches=("nn-1", "nn-2"), domain="us-1")
    assert node_labels(place, zone_id="use2-az1") == {
        "topology.k8s.aws/network-node-layer-1": "nn-1",
        "topology.k8s.aws/network-node-layer-2": "nn-2",
        "topology.k8s.aws/network-node-layer-3": "nn-3",
        "topology.k8s.aws/ultraserver-id": "us-1",
        "topology.k8s.aws/zone-id": "use2-az1",
    }


ID = st.sampled_from(["a", "b", "c", "d", "a b", "null", ""])
ROWS = st.lists(
    st.builds(
        lambda number, path, block: row(f"i-{number}", *path, block=block),
        st.integers(0, 8),
        st.lists(ID, max_size=4),
        st.sampled_from([None, "null", "us-1", "us-2"]),
    ),
    max_size=20,
)
IDS = st.lists(st.integers(0, 8).map("i-{}".format), max_size=9)


@given(IDS, ROWS)
def test_every_instance_is_placed_or_unplaced_exactly_once(
    ids: list[str], rows: list[dict[str, Any]]
) -> None:
    found = place_instances(ids, rows)
    assert found.places.keys() | found.unplaced.keys() == set(ids)
    assert not found.places.keys() & found.unplaced.keys()


@given(IDS, ROWS)
def test_every_switch_has_one_switch_above_it_and_a_name_of_its_own(
    ids: list[str], rows: list[dict[str, Any]]
) -> None:
    above: dict[str, tuple[str, ...]] = {}
    places = place_instances(ids, rows).places.values()
    for place in places:
        for depth, name in enumerate(place.path):
            assert above.setdefault(name, place.path[:depth]) == place.path[:depth]
    assert not {p.leaf for p in places} & {s for p in places for s in p.switches}


@given(IDS, ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_answer_does_not_matter(
    ids: list[str], rows: list[dict[str, Any]], order: random.Random
) -> None:
    shuffled_ids, shuffled = list(ids), list(rows)
    order.shuffle(shuffled_ids)
    order.shuffle(shuffled)
    assert place_instances(ids, rows) == place_instances(shuffled_ids, shuffled)
