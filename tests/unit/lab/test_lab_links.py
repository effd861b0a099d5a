"""The plan of a lab's links, and the text that makes a machine follow it."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from muster.lab import links, testing
from muster.lab.links import Change, Link
from muster.lab.paths import lab_paths
from tests.conftest import Golden

CIDR = "10.211.0.0/22"
WISH = testing.network_wish("lab", nodes=4, leaves=2)
PATHS = lab_paths("lab", Path("/nowhere"))
ALL = ["head", *WISH.node_names()]


def _follow(planned: list[Link]) -> dict[str, Link]:
    """What a namespace has once it is as planned."""
    kind = {link.peer: "veth" for link in planned if link.peer}
    return {
        x.name: Link(
            x.name, x.kind or kind.get(x.name, ""), x.master, rate_kbit=x.rate_kbit,
            address=x.address, up=x.up,
        )
        for x in planned
    }  # fmt: skip


def test_batch_text_for_an_empty_machine(golden: Golden) -> None:
    lines: list[str] = []
    for netns, planned in links.full_plan(PATHS, WISH, CIDR, ALL).items():
        # A pair that an earlier namespace made is there already.
        made = {} if netns in {"", PATHS.fabric_netns} else {x.name: Link(x.name, "veth", up=False)
                                                               for x in planned}  # fmt: skip
        todo = links.difference(planned, made, "")
        lines += [f"# {netns or 'host'}: ip", *todo.ip, f"# {netns or 'host'}: tc", *todo.tc]
    golden("lab/links.txt", "\n".join(lines) + "\n")


def test_a_machine_that_follows_the_plan_has_no_difference() -> None:
    for planned in links.full_plan(PATHS, WISH, CIDR, ALL).values():
        todo = links.difference(planned, _follow(planned), "")
        assert (todo.problems, todo.strays, todo.ip, todo.tc) == ([], [], [], [])


FABRIC = links.full_plan(PATHS, WISH, CIDR, ALL)[PATHS.fabric_netns]


@given(st.sets(st.sampled_from([x.name for x in FABRIC])))
def test_every_missing_link_is_named_and_nothing_else_is_touched(missing: set[str]) -> None:
    found = {name: x for name, x in _follow(FABRIC).items() if name not in missing}
    todo = links.difference(FABRIC, found, "")
    assert {p.split()[0] for p in todo.problems} == missing
    touched = {word for line in (*todo.ip, *todo.tc) for word in line.split()}
    untouched = {x.name for x in FABRIC} - missing - {x.master for x in FABRIC}
    peers = {x.peer for x in FABRIC if x.name in missing}
    assert not touched & (untouched - peers)


def test_strays_are_deleted_only_where_all_is_ours() -> None:
    found = {**_follow(FABRIC), "n9r0": Link("n9r0", "veth"), "lo": Link("lo")}
    assert links.difference(FABRIC, found, "").strays == ["n9r0"]
    assert links.difference(FABRIC, found, None).strays == []


def test_each_kind_of_difference_is_named_and_repaired() -> None:
    want = Link("n1r0", "veth", "l0r0", "rail0", "lab-gpu-1", 40000, "10.0.0.1/16")
    have = Link("n1r0", "veth", "l1r0", rate_kbit=32000, address="10.0.0.9/16", up=False)
    todo = links.difference([want], {"n1r0": have}, None)
    assert todo.problems == [
        "n1r0 is not at l0r0",
        "n1r0 has not address 10.0.0.1/16",
        "n1r0 is not up",
        "n1r0 is not limited to 40000 kbit/s",
    ]
    assert todo.ip == [
        "link set dev n1r0 master l0r0",
        "addr flush dev n1r0",
        "addr add 10.0.0.1/16 dev n1r0",
        "link set dev n1r0 up",
    ]
    assert todo.tc == ["qdisc replace dev n1r0 root tbf rate 40000kbit burst 32kb latency 50ms"]


def test_a_fault_bends_the_plan_so_that_it_is_no_difference() -> None:
    plan = links.full_plan(PATHS, WISH, CIDR, ALL)
    key = (PATHS.fabric_netns, "n1r0")
    bent = links.with_changes(plan, {key: Change(rate_kbit=32000, up=False)})
    changed = {x.name: x for x in bent[PATHS.fabric_netns]}["n1r0"]
    assert (changed.rate_kbit, changed.up) == (32000, False)
    assert links.difference(plan[PATHS.fabric_netns], _follow(bent[PATHS.fabric_netns]), "").ip


def test_links_are_read_from_what_ip_and_tc_say() -> None:
    link = [
        {
            "ifname": "xa",
            "link": "xb",
            "flags": ["BROADCAST", "UP"],
            "master": "br",
            "linkinfo": {"info_kind": "veth", "info_slave_kind": "bridge"},
        },
        {"ifname": "br", "flags": ["BROADCAST"], "linkinfo": {"info_kind": "bridge"}},
    ]
    address = [
        {"ifname": "br", "addr_info": [{"family": "inet", "local": "10.0.0.1", "prefixlen": 22}]}
    ]
    qdisc = [
        {"kind": "tbf", "dev": "xa", "root": True, "options": {"rate": 5000000, "burst": 32765}},
        {"kind": "noqueue", "dev": "br", "root": True, "options": {}},
    ]
    found = links.read_links(json.dumps(link), json.dumps(address), json.dumps(qdisc))
    assert found == {
        "xa": Link("xa", "veth", master="br", rate_kbit=40000),
        "br": Link("br", "bridge", address="10.0.0.1/22", up=False),
    }
    assert links.read_links("", "", "") == {}


def test_interface_names_fit_into_the_kernel() -> None:
    paths = lab_paths("abcdefgh", Path("/nowhere"))
    wish = testing.network_wish("abcdefgh", nodes=1000, leaves=63, rails=16)
    plan = links.full_plan(paths, wish, CIDR, ["head", "gpu-1000"])
    assert max(len(x.name) for planned in plan.values() for x in planned) <= 15


def test_the_head_has_no_rails() -> None:
    plan = links.node_plan(PATHS, WISH, CIDR, "head")
    assert plan[PATHS.fabric_netns] == []
    assert [x.name for x in plan["lab-head"]] == ["lo", "eth0"]
