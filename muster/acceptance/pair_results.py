"""What did a round of pair tests measure? Pure: the nodes' result files in, measurements out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.acceptance.facts import Problem
from muster.acceptance.iperf import Throughput, parse_iperf
from muster.acceptance.locate_model import Measurement
from muster.fabric.model import Pair
from muster.fleet import Fleet

_DIRECTIONS = ("forward", "reverse")
_FIRST_PORT = 18500
_PORTS = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class PairOutcome:
    """A measurement and, where it is not valid, why."""

    measurement: Measurement
    problem: str = ""
    forward_bps: float | None = None
    reverse_bps: float | None = None


def plan_round(
    fleet: Fleet,
    pairs: Sequence[Pair],
    *,
    number: int,
    seconds: int,
    connect_s: float,
    test_s: float,
) -> dict[str, Any]:
    """Write the plan that every node of the round reads: who serves, which addresses and ports."""
    by_nodes: dict[tuple[str, str], list[int]] = {}
    for pair in pairs:
        rails = range(len(fleet.node(pair.a).rails)) if pair.rail is None else (pair.rail,)
        by_nodes.setdefault((pair.a, pair.b), []).extend(rails)
    return {
        "round": number,
        "seconds": seconds,
        "connect_s": connect_s,
        "test_s": test_s,
        "pairs": [
            {
                "client": a,
                "server": b,
                "rails": [_rail_plan(fleet, a, b, rail, number) for rail in sorted(set(rails))],
            }
            for (a, b), rails in by_nodes.items()
        ],
    }


def _rail_plan(fleet: Fleet, client: str, server: str, rail: int, number: int) -> dict[str, Any]:
    ours = {r.index: r for r in fleet.node(client).rails}[rail]
    theirs = {r.index: r for r in fleet.node(server).rails}[rail]
    return {
        "rail": rail,
        "client_address": ours.address,
        "server_address": theirs.address,
        "client_interface": ours.interface,
        "server_interface": theirs.interface,
        # Other ports each round: what is left of an earlier round answers nobody.
        "ports": [_FIRST_PORT + (number * 128 + rail * 2 + way) % _PORTS for way in (0, 1)],
    }


def measure_round(
    plan: Mapping[str, Any], pairs: Sequence[Pair], results: Mapping[str, str | None]
) -> list[PairOutcome]:
    """Judge each pair's tests by the client's file; the server's only says why there is none."""
    tests = {p["client"]: p for p in plan["pairs"]}
    return [_outcome(pair, tests[pair.a], plan, results) for pair in pairs]


def _outcome(
    pair: Pair, tests: Mapping[str, Any], plan: Mapping[str, Any], results: Mapping[str, str | None]
) -> PairOutcome:
    rails = [r for r in tests["rails"] if pair.rail is None or r["rail"] == pair.rail]
    read = _tests_of(results.get(pair.a), pair.a, int(plan["round"]))
    if isinstance(read, Problem):
        return _invalid(pair, read.text)
    found: dict[str, list[Throughput]] = {direction: [] for direction in _DIRECTIONS}
    for rail in rails:
        for direction in _DIRECTIONS:
            value = _throughput(read, rail, direction, float(plan["seconds"]))
            if isinstance(value, Problem):
                return _invalid(pair, f"rail {rail['rail']} {direction}: {value.text}")
            found[direction].append(value)
    rates = {direction: sum(t.bps for t in values) for direction, values in found.items()}
    retransmits = sum(t.retransmits for values in found.values() for t in values)
    measurement = Measurement(
        pair, min(rates.values()), valid=True, counters={"retransmits": float(retransmits)}
    )
    return PairOutcome(
        measurement=measurement, forward_bps=rates["forward"], reverse_bps=rates["reverse"]
    )


def _invalid(pair: Pair, why: str) -> PairOutcome:
    return PairOutcome(measurement=Measurement(pair, None, valid=False), problem=why)


def _tests_of(text: str | None, node: str, number: int) -> list[dict[str, Any]] | Problem:
    if text is None:
        return Problem(f"{node} wrote no result")
    try:
        document = json.loads(text)
        if (document["node"], document["round"], document["role"]) != (node, number, "client"):
            return Problem(f"{node}'s result is of another node, round or role")
        return list(document["tests"])
    except (ValueError, KeyError, TypeError) as error:
        return Problem(f"{node}'s result is cut short or of another form ({error})")


def _throughput(
    tests: Sequence[Mapping[str, Any]], rail: Mapping[str, Any], direction: str, seconds: float
) -> Throughput | Problem:
    for test in tests:
        if (test.get("rail"), test.get("direction")) == (rail["rail"], direction):
            break
    else:
        return Problem("was not run")
    if test.get("error"):
        return Problem(f"iperf3 {test['error']}")
    return parse_iperf(
        str(test.get("stdout", "")),
        client=rail["client_address"],
        server=rail["server_address"],
        seconds=seconds,
        reverse=direction == "reverse",
    )
