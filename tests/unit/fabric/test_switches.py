"""The tree of switches and the memory domains that schedulers are told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muster.fabric.placement import place_instances
from muster.fabric.switches import Domain, Switch, domains, switch_tree
from muster.fleet import Node


def node(name: str, *path: str, domain: str = "") -> Node:
    return Node(
        name=name,
        serial=name,
        pool="gpu",
        type="big",
        address="10.0.0.1",
        host_key="k",
        leaf=path[-1] if path else "",
        switches=path[:-1],
        domain=domain,
    )


def test_leaves_of_unknown_spines_share_one() -> None:
    assert switch_tree([node("n1", "leaf0"), node("n2", "leaf1")]) == (
        Switch(name="leaf0", nodes=("n1",)),
        Switch(name="leaf1", nodes=("n2",)),
        Switch(name="spine", switches=("leaf0", "leaf1")),
    )


def test_known_switches_keep_their_levels_and_share_a_root() -> None:
    nodes = [node("n1", "s", "a", "l1"), node("n2", "s", "b", "l2"), node("n3")]
    assert switch_tree(nodes) == (
        Switch(name="l1", nodes=("n1",)),
        Switch(name="l2", nodes=("n2",)),
        Switch(name="unplaced", nodes=("n3",)),
        Switch(name="a", switches=("l1",)),
        Switch(name="b", switches=("l2",)),
        Switch(name="s", switches=("a", "b")),
        Switch(name="root", switches=("s", "unplaced")),
    )


def test_without_any_place_there_is_no_tree() -> None:
    assert switch_tree([node("n1")]) == ()
    assert switch_tree([]) == ()


def test_domains_are_told_only_when_every_node_has_one() -> None:
    nodes = [node("n1", domain="us1"), node("n2", domain="us2"), node("n3", domain="us1")]
    assert domains(nodes) == (
        Domain(name="us1", nodes=("n1", "n3")),
        Domain(name="us2", nodes=("n2",)),
    )
    assert domains([*nodes, node("n4")]) == ()


PATHS = st.lists(st.lists(st.sampled_from("abcde"), max_size=4), min_size=1, max_size=12)


@given(PATHS)
def test_every_node_is_in_one_switch_below_one_top(paths: list[list[str]]) -> None:
    rows = [{"InstanceId": f"i-{n}", "NetworkNodes": path} for n, path in enumerate(paths)]
    ids = [row["InstanceId"] for row in rows]
    places = place_instances([str(name) for name in ids], rows).places
    nodes = [node(str(i), *places[str(i)].path) if i in places else node(str(i)) for i in ids]
    tree = switch_tree(nodes)
    if not places:
        assert tree == ()
        return
    assert sorted(name for s in tree for name in s.nodes) == sorted(n.name for n in nodes)
    below = [name for switch in tree for name in switch.switches]
    names = [switch.name for switch in tree]
    assert len(set(below)) == len(below)
    assert len(set(names)) == len(names)
    assert set(names) - set(below) == {tree[-1].name}
    assert all(bool(switch.nodes) != bool(switch.switches) for switch in tree)
