"""A lab's plan: every node on one leaf, names that a host can have, rates that do not block."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import Catalog, load_catalog
from muster.errors import UsageError
from muster.plan.lab import LabPlan, lab_name, plan_lab
from muster.spec import ClusterSpec, parse_spec
from muster.spec_rules import LAB_NODES_MAX

HOST_NAME = re.compile(r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")


def spec_of(pools: dict[str, int], **more: Any) -> ClusterSpec:
    rows = [{"name": name, "type": "lab.8gpu", "count": count} for name, count in pools.items()]
    data = {"target": "lab", "pools": rows, **more}
    return parse_spec(data, where="test", catalog=load_catalog(), today=date(2026, 11, 21))


def plan(pools: dict[str, int], **lab: Any) -> LabPlan:
    return plan_lab(spec_of(pools, lab=lab), load_catalog(), "lab")


def test_eight_nodes_stand_on_four_leaves_of_two() -> None:
    found = plan({"gpu": 8})
    assert found.network.leaves == {
        "leaf0": ("gpu-1", "gpu-2"),
        "leaf1": ("gpu-3", "gpu-4"),
        "leaf2": ("gpu-5", "gpu-6"),
        "leaf3": ("gpu-7", "gpu-8"),
    }
    assert (found.network.rails, found.network.rail_rate_mbit) == (2, 40)


def test_an_uplink_carries_all_nodes_of_its_leaf_at_once() -> None:
    assert plan({"gpu": 8}).network.uplink_rate_mbit == 92
    assert plan({"gpu": 8}, nodesPerLeaf=4, railRateMbit=20).network.uplink_rate_mbit == 92
    assert plan({"gpu": 8}, uplinkRateMbit=10).network.uplink_rate_mbit == 10


def test_the_head_comes_first_and_has_no_leaf_and_no_gpu() -> None:
    head = plan({"gpu": 1}).nodes[0]
    assert (head.name, head.ordinal, head.leaf, head.gpu_count) == ("head", 0, "", 0)


def test_nodes_carry_what_the_catalog_says_of_their_type() -> None:
    node = plan({"gpu": 1}).workers[0]
    assert (node.type, node.gpu_count, node.gpu_model) == ("lab.8gpu", 8, "Muster Lab GPU")
    assert node.gpu_memory_mib == 81920


def test_spares_are_made_too() -> None:
    spec = spec_of({"gpu": 2})
    [pool] = spec.pools
    spec = spec.model_copy(update={"pools": (pool.model_copy(update={"spares": 1}),)})
    names = [node.name for node in plan_lab(spec, load_catalog(), "lab").workers]
    assert names == ["gpu-1", "gpu-2", "gpu-3"]
    assert spec.wanted == 2


def test_the_name_of_the_lab_is_that_of_the_stack_unless_given() -> None:
    spec = spec_of({"gpu": 1})
    assert plan_lab(spec, load_catalog(), "My-Long-Stack").lab == "mylongst"
    assert plan({"gpu": 1}, name="mine").lab == "mine"


def test_more_nodes_than_a_lab_holds_are_refused() -> None:
    full = spec_of({"gpu": LAB_NODES_MAX})
    assert len(plan_lab(full, load_catalog(), "lab").workers) == LAB_NODES_MAX
    more = full.model_copy(update={"pools": full.pools + spec_of({"more": 1}).pools})
    with pytest.raises(UsageError, match=r"lab: muster:cluster\.pools: 65 nodes with spares"):
        plan_lab(more, load_catalog(), "lab")


def test_pools_with_other_rails_are_refused() -> None:
    catalog = load_catalog()
    known = catalog.types["lab.8gpu"]
    other = known.model_copy(update={"name": "lab.one", "rails": known.rails[:1]})
    types = {**catalog.types, "lab.one": other}
    wider = Catalog(
        types=types,
        gpus=catalog.gpus,
        sources=catalog.sources,
        quantities=catalog.quantities,
        limits=catalog.limits,
    )
    pools = [
        {"name": "a", "type": "lab.8gpu", "count": 1},
        {"name": "b", "type": "lab.one", "count": 1},
    ]
    data = {"target": "lab", "pools": pools}
    spec = parse_spec(data, where="test", catalog=wider, today=date(2026, 11, 21))
    with pytest.raises(UsageError, match=r"pool b \(lab.one\) has other rails than lab.8gpu"):
        plan_lab(spec, wider, "lab")


def test_another_target_is_refused() -> None:
    spec = spec_of({"gpu": 1}).model_copy(update={"target": "aws"})
    with pytest.raises(UsageError, match="target is aws"):
        plan_lab(spec, load_catalog(), "lab")


POOLS = st.dictionaries(
    st.from_regex(r"[a-z]([a-z0-9-]{0,13}[a-z0-9])?", fullmatch=True),
    st.integers(1, 16),
    min_size=1,
    max_size=4,
)


@given(POOLS, st.integers(1, 64))
def test_every_node_stands_on_exactly_one_leaf_and_no_leaf_is_overfull(
    pools: dict[str, int], per_leaf: int
) -> None:
    found = plan(pools, nodesPerLeaf=per_leaf)
    placed = [name for nodes in found.network.leaves.values() for name in nodes]
    assert placed == [node.name for node in found.workers]
    assert all(1 <= len(nodes) <= per_leaf for nodes in found.network.leaves.values())
    for node in found.workers:
        assert node.name in found.network.leaves[node.leaf]
    *full, _last = found.network.leaves.values()
    assert all(len(nodes) == per_leaf for nodes in full)


@given(POOLS)
def test_ordinals_and_names_are_unique_and_names_are_host_names(pools: dict[str, int]) -> None:
    nodes = plan(pools).nodes
    assert [node.ordinal for node in nodes] == list(range(len(nodes)))
    assert len({node.name for node in nodes}) == len(nodes)
    assert all(HOST_NAME.match(node.name) for node in nodes)


@given(POOLS, st.integers(1, 1000), st.integers(1, 64))
def test_uplinks_never_block_a_healthy_leaf(
    pools: dict[str, int], rate: int, per_leaf: int
) -> None:
    network = plan(pools, railRateMbit=rate, nodesPerLeaf=per_leaf).network
    busiest = max(len(nodes) for nodes in network.leaves.values())
    assert network.uplink_rate_mbit >= busiest * rate


@given(st.text(min_size=1))
def test_any_stack_name_gives_a_lab_name_that_the_spec_would_take(stack: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]{0,7}", lab_name(stack))


def test_interface_names_of_the_rails_are_short_enough_for_linux() -> None:
    for rail in load_catalog().instance_type("lab.8gpu").rails:
        assert rail.interface
        assert len(rail.interface) <= 15
