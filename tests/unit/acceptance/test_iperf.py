"""A pair test is believed only if it was the test that was asked for, and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.acceptance.facts import Problem
from muster.acceptance.iperf import Throughput, parse_iperf
from muster.acceptance.pair_results import measure_round, plan_round
from muster.fabric.model import Pair
from muster.fleet import Fleet, Node, Rail, SshAccess
from tests.unit.acceptance.documents import iperf_text

A, B = "10.212.0.1", "10.212.0.2"


def read(text: str, *, reverse: bool = False) -> Throughput | Problem:
    return parse_iperf(text, client=A, server=B, seconds=1, reverse=reverse)


def changed(*path: str, value: Any) -> str:
    document = json.loads(iperf_text(A, B))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document)


def test_a_good_test_is_read() -> None:
    found = read(iperf_text(A, B, bps=4.7e6, retransmits=3))
    assert isinstance(found, Throughput)
    assert found.bps == pytest.approx(4.7e6)
    assert found.retransmits == 3


def test_a_reverse_test_is_told_from_a_forward_one() -> None:
    text = iperf_text(A, B, reverse=True)
    assert isinstance(read(text, reverse=True), Throughput)
    assert isinstance(read(text), Problem)


def test_every_cut_is_a_problem() -> None:
    text = iperf_text(A, B)
    assert all(isinstance(read(text[:n]), Problem) for n in range(0, len(text), 37))


@pytest.mark.parametrize(
    "text",
    [
        iperf_text("10.9.9.9", B),
        iperf_text(A, "127.0.0.1"),
        json.dumps({"error": "unable to connect to server"}),
        changed("end", "sum_received", "seconds", value=0.2),
        changed("end", "sum_received", "bits_per_second", value=9e9),
        changed("end", "sum_received", "bytes", value=1e12),
        changed("end", "sum_sent", "retransmits", value=None),
        changed("end", "sum_sent", value={}),
        changed("start", "connected", value=[]),
        "[]",
        "",
    ],
)
def test_another_test_an_error_or_a_lie_is_a_problem(text: str) -> None:
    assert isinstance(read(text), Problem)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["start", "end", "error", "sum_sent", "connected"]), inner, max_size=3), max_leaves=5))  # fmt: skip  # noqa: E501
def test_any_json_gives_a_value_or_a_problem(document: object) -> None:
    assert isinstance(read(json.dumps(document)), Throughput | Problem)


def member(n: int) -> Node:
    rails = tuple(
        Rail(index=r, interface=f"rail{r}", address=f"10.{212 + r}.0.{n}") for r in range(2)
    )
    return Node(name=f"n{n}", serial=f"s{n}", pool="p", type="lab.8gpu", address=f"10.0.0.{n}",
                host_key="ssh-ed25519 AAAA", leaf="leaf0", rails=rails)  # fmt: skip


FLEET = Fleet(
    stack="t",
    target="lab",
    ssh=SshAccess(key_file="k", known_hosts_file="h"),
    head=member(0),
    nodes=tuple(member(n) for n in range(1, 5)),
)
PAIRS = [Pair("n1", "n2", 0), Pair("n1", "n2", 1), Pair("n3", "n4", None)]
PLAN = plan_round(FLEET, PAIRS, number=3, seconds=1, connect_s=4, test_s=4)


def result(client: str, *, bps: dict[int, float] | None = None, **changes: Any) -> str:
    rails = next(p["rails"] for p in PLAN["pairs"] if p["client"] == client)
    tests = [
        {
            "rail": rail["rail"],
            "direction": direction,
            "rc": 0,
            "stdout": iperf_text(
                rail["client_address"],
                rail["server_address"],
                bps=(bps or {}).get(rail["rail"], 4.8e6),
                retransmits=2,
                reverse=direction == "reverse",
            ),
        }
        for rail in rails
        for direction in ("forward", "reverse")
    ]
    document = {"node": client, "round": 3, "role": "client", "tests": tests, **changes}
    return json.dumps(document)


def test_a_plan_has_one_port_per_rail_and_direction() -> None:
    ports = [port for rail in PLAN["pairs"][0]["rails"] for port in rail["ports"]]
    assert len(set(ports)) == 4


def test_another_round_uses_other_ports() -> None:
    other = plan_round(FLEET, PAIRS, number=4, seconds=1, connect_s=4, test_s=4)
    assert other["pairs"][0]["rails"][0]["ports"] != PLAN["pairs"][0]["rails"][0]["ports"]


def test_each_rail_of_a_pair_has_its_own_value() -> None:
    found = measure_round(PLAN, PAIRS, {"n1": result("n1", bps={1: 3.8e6}), "n3": result("n3")})
    values = [outcome.measurement.value for outcome in found]
    assert values == [pytest.approx(4.8e6), pytest.approx(3.8e6), pytest.approx(9.6e6)]
    assert [o.measurement.counters["retransmits"] for o in found] == [4, 4, 8]


@pytest.mark.parametrize(
    "text",
    [None, "", "{", result("n1", round=2), result("n1", role="server"), result("n1", tests=[])],
)
def test_a_result_that_is_missing_cut_or_of_another_round_is_not_valid(text: str | None) -> None:
    found = measure_round(PLAN, PAIRS, {"n1": text, "n3": result("n3")})
    assert [o.measurement.valid for o in found] == [False, False, True]
    assert found[0].problem


def test_a_test_that_timed_out_is_not_slow_but_not_valid() -> None:
    tests = [{"rail": 0, "direction": "forward", "error": "not done within 4 s"}]
    found = measure_round(PLAN, PAIRS[:1], {"n1": result("n1", tests=tests)})
    assert found[0].measurement.value is None
    assert not found[0].measurement.valid
