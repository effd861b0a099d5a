"""Are all interfaces to the compute network there?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muster.acceptance.checks.outcome import failed, one_part, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.expected import ExpectedRail
from muster.acceptance.facts import Interface, Problem
from muster.findings import Finding

CHECK = "nic-count"


def judge(
    interfaces: Mapping[str, Interface] | Problem, *, rails: Sequence[ExpectedRail]
) -> Finding:
    """Look for every rail's interface by name."""
    if isinstance(interfaces, Problem):
        return unknown(CHECK, f"interfaces could not be listed: {interfaces.text}")
    nameless = [rail for rail in rails if not rail.interface]
    if nameless:
        what = f"{len(nameless)} of {len(rails)} rails have no interface name to look for"
        return unknown(CHECK, f"{what}; devices without one are not counted yet")
    missing = [rail for rail in rails if rail.interface not in interfaces]
    found = len(rails) - len(missing)
    if missing:
        names = ", ".join(rail.interface for rail in missing)
        what = f"{found} of {len(rails)} rail interfaces; {names} is not there"
        part = one_part("rail", [rail.index for rail in missing])
        return failed(CHECK, what, component=part, value=found, unit="interfaces")
    return passed(CHECK, f"all {found} rail interfaces", value=found, unit="interfaces")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.interfaces, rails=view.expected.rails)
