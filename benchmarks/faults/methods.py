"""All methods that are compared: muster's, simpler ones, and muster's with a part taken out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType

from benchmarks.faults import baselines
from benchmarks.faults.baselines import Answer
from muster.acceptance.locate import (
    Fabric,
    LocateVerdict,
    Measure,
    Measurement,
    Pair,
    Policy,
    locate,
)
from muster.acceptance.simulated_fleet import SimulatedFleet
from muster.readiness import Verdict

OWN = "muster"
FLOOR_SHARE = 0.9
BROKEN_SPEED = 0.05
NEVER = 1e-300

Method = Callable[[SimulatedFleet, Policy, Random], Answer]


def policy_for(fleet: SimulatedFleet, *, floor: bool) -> Policy:
    """Return the default policy, with a floor of nine tenths where one is known."""
    if not floor:
        return Policy()
    limit = FLOOR_SHARE * fleet.rate_bps
    return Policy(floor_bps={"intra": limit, "cross": limit})


def _locate(fleet: SimulatedFleet, policy: Policy, _chance: Random) -> Answer:
    return _answer(locate(fleet.fabric, fleet.measure, policy))


def _ungated(fleet: SimulatedFleet, policy: Policy, _chance: Random) -> Answer:
    return _answer(locate(fleet.fabric, _without_gate(fleet), policy))


def _without_gate(fleet: SimulatedFleet) -> Measure:
    """Take a test that broke for a slow one, as a script does that reads what it can."""

    def measure(pairs: list[Pair]) -> list[Measurement]:
        slow = BROKEN_SPEED * fleet.rate_bps
        return [
            m if m.valid else Measurement(m.pair, slow, valid=True) for m in fleet.measure(pairs)
        ]

    return measure


def _leafless(fleet: SimulatedFleet, policy: Policy, _chance: Random) -> Answer:
    whole = Fabric({"all": fleet.fabric.nodes()}, fleet.fabric.rails)
    return _answer(locate(whole, fleet.measure, policy))


def _median_only(fleet: SimulatedFleet, policy: Policy, _chance: Random) -> Answer:
    return _answer(locate(fleet.fabric, fleet.measure, replace(policy, false_alarm=NEVER)))


def _uncounted(fleet: SimulatedFleet, policy: Policy, _chance: Random) -> Answer:
    return _answer(locate(fleet.fabric, fleet.measure, replace(policy, counter_limits={})))


def _answer(verdict: LocateVerdict) -> Answer:
    by = {wanted: set[str]() for wanted in Verdict}
    for node, found in verdict.nodes.items():
        by[found.verdict].add(node)
    return Answer(
        nodes={node: verdict.nodes[node].component for node in by[Verdict.QUARANTINED]},
        leaves=frozenset(verdict.leaves),
        fleet=verdict.fleet.verdict is not Verdict.ACCEPTED,
        suspects=frozenset(by[Verdict.SUSPECT]),
        untested=frozenset(by[Verdict.UNTESTED]),
        rounds=verdict.rounds,
    )


def _baseline(run: Callable[[SimulatedFleet, float, Random], Answer], line: float) -> Method:
    def method(fleet: SimulatedFleet, _policy: Policy, chance: Random) -> Answer:
        return run(fleet, line, chance)

    return method


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        OWN: _locate,
        "all-reduce .92": _baseline(baselines.all_reduce, 0.92),
        "absolute .92": _baseline(baselines.absolute, 0.92),
        "two-pass .65": _baseline(baselines.two_pass, 0.65),
        "two-pass .92": _baseline(baselines.two_pass, 0.92),
        "two-pass .96": _baseline(baselines.two_pass, 0.96),
        "two-pass .92 x8": _baseline(baselines.two_pass_repeated, 0.92),
        "two-pass .96 x8": _baseline(baselines.two_pass_repeated, 0.96),
        "bisection .92": _baseline(baselines.bisection, 0.92),
        "bisection .96": _baseline(baselines.bisection, 0.96),
    }
)

ABLATIONS: Mapping[str, Method] = MappingProxyType(
    {
        "no validity gate": _ungated,
        "no leaves": _leafless,
        "medians only": _median_only,
        "no counters": _uncounted,
    }
)

ABLATION_NODES = 512
ABLATED = ("slow-8", "intermittent", "uplink", "uplink-and-nodes", "loss", "hang", "flaky")
"""Scenarios in which a part is taken out."""

LARGE = 10_000
AT_LARGE = (OWN, "two-pass .96 x8")
"""Fleets from this size on see only these methods."""


def methods_for(scenario: str, nodes: int) -> tuple[str, ...]:
    """Return which methods are tried."""
    if nodes >= LARGE:
        return AT_LARGE
    if nodes == ABLATION_NODES and scenario in ABLATED:
        return (*METHODS, *ABLATIONS)
    return tuple(METHODS)
