"""Do the daemons run that the cluster needs of a node?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "services"
_STARTING = frozenset({"activating", "reloading"})


def judge(services: Mapping[str, str] | Problem) -> Finding:
    """Read what systemd says of each unit."""
    if isinstance(services, Problem):
        return unknown(CHECK, f"units could not be asked: {services.text}")
    if not services:
        return unknown(CHECK, "no unit was asked for")
    dead = {u: s for u, s in services.items() if s != "active" and s not in _STARTING}
    if dead:
        what = ", ".join(f"{unit} is {state}" for unit, state in sorted(dead.items()))
        return failed(CHECK, f"{what}; expected active", component="node")
    starting = sorted(u for u, s in services.items() if s in _STARTING)
    if starting:
        return unknown(CHECK, f"{', '.join(starting)} is still starting")
    return passed(CHECK, f"{', '.join(sorted(services))} active")


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(view.facts.services)
