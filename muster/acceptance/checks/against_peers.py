"""Is a node's rate that of its peers? Shared by the checks of single nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.facts import Problem
from muster.acceptance.thresholds import judge_against_peers
from muster.findings import Finding, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Yardstick:
    """What a rate is compared with; `floor` None where the catalog has none for this type."""

    unit: str
    tolerance: float
    floor: float | None = None
    floor_source: str = ""


def judge_rate(
    check: str,
    node: str,
    values: Mapping[str, float | Problem],
    yardstick: Yardstick,
    *,
    what: str,
) -> Finding:
    """Judge one node's value among those of comparable nodes."""
    own = values.get(node, Problem("it was not measured"))
    if isinstance(own, Problem):
        return unknown(check, f"{what} was not measured: {own.text}")
    measured = {name: v for name, v in values.items() if not isinstance(v, Problem)}
    judged = judge_against_peers(
        measured,
        node,
        floor=yardstick.floor,
        floor_source=yardstick.floor_source,
        relative_tolerance=yardstick.tolerance,
    )
    seen = {
        "value": own,
        "unit": yardstick.unit,
        "n": judged.n,
        "peers_median": judged.median,
        "peers_mad": judged.mad,
        "floor": yardstick.floor,
        "floor_source": yardstick.floor_source,
    }
    summary = f"{what}: {judged.reason}" if judged.reason else f"{what} is as its peers'"
    if judged.outcome is Outcome.FAIL:
        return failed(check, summary, component="node", **seen)
    if judged.outcome is Outcome.UNKNOWN:
        return unknown(check, summary, **seen)
    return passed(check, summary, **seen)
