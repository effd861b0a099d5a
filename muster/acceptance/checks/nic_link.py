"""Is every rail up, at its rate, and at its address?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.acceptance.checks.outcome import failed, one_part, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.expected import ExpectedRail
from muster.acceptance.facts import Interface, Problem
from muster.findings import Finding

CHECK = "nic-link"


def judge(
    interfaces: Mapping[str, Interface] | Problem, *, rails: Sequence[ExpectedRail]
) -> Finding:
    """Look at carrier, speed and address of each rail that is there (`nic-count` counts them)."""
    if isinstance(interfaces, Problem):
        return unknown(CHECK, f"interfaces could not be read: {interfaces.text}")
    there = [rail for rail in rails if rail.interface and rail.interface in interfaces]
    faults = {rail.index: _fault(interfaces[rail.interface], rail) for rail in there}
    bad = [index for index, fault in faults.items() if fault]
    if bad:
        what = "; ".join(f"rail {index}: {faults[index]}" for index in bad)
        return failed(CHECK, what, component=one_part("rail", bad))
    silent = [
        rail.interface
        for rail in there
        if rail.rate_mbit is not None and interfaces[rail.interface].speed_mbit is None
    ]
    if silent or len(there) < len(rails):
        what = f"{', '.join(silent)} states no speed" if silent else "not all rails are there"
        return unknown(CHECK, what)
    without = [str(rail.index) for rail in rails if not rail.address]
    if without:
        return unknown(CHECK, f"rail {', '.join(without)} is up, but has no address to look for")
    return passed(CHECK, f"{len(rails)} rails up, at their rate and address")


def _fault(interface: Interface, rail: ExpectedRail) -> str:
    if not interface.carrier:
        return f"{interface.name} has no carrier"
    speed, expected = interface.speed_mbit, rail.rate_mbit
    if speed is not None and expected is not None and speed < expected:
        return f"{interface.name} runs at {speed} Mbit/s, expected {expected} Mbit/s"
    if rail.address and rail.address not in interface.addresses:
        has = ", ".join(interface.addresses) or "no address"
        return f"{interface.name} has {has}, expected {rail.address}"
    return ""


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.interfaces, rails=view.expected.rails)
