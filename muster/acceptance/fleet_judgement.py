"""Is the fleet as a whole low, so that no node can be accused? Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from muster.acceptance.locate_model import FleetVerdict, Kind, Policy
from muster.acceptance.rail_study import RailStudy
from muster.fabric.model import Fabric
from muster.readiness import Verdict

LOW_SHARE_MAX = 0.5
"""If more of the nodes are low, the median is no measure of what is normal."""

PATH_LEAVES = 2

Studies = Mapping[int | None, RailStudy]


@dataclass(frozen=True, slots=True)
class FleetEvidence:
    """The fleet's verdict, and the rails on which it lets nobody be accused."""

    verdict: FleetVerdict
    low_rails: frozenset[int | None] = frozenset()


def weigh_fleet(studies: Studies, fabric: Fabric, policy: Policy) -> FleetEvidence:
    """Find rails that are low as a whole, and paths across leaves that are."""
    silent = [rail for rail, study in studies.items() if not study.classes]
    if silent:
        reason = "no test was valid: the test is broken, or nothing could be paired"
        component = _name("fleet", silent, studies)
        return FleetEvidence(
            FleetVerdict(verdict=Verdict.UNTESTED, component=component, reason=reason)
        )
    if not any(study.throughput for study in studies.values()) and not policy.floor_bps:
        reason = "too few peers to compare with, and no floor is known"
        return FleetEvidence(
            FleetVerdict(verdict=Verdict.UNTESTED, component="fleet", reason=reason)
        )
    low = {rail: reason for rail in studies if (reason := _rail_low(rail, studies, policy))}
    if low:
        return FleetEvidence(_suspect("fleet", low, studies), frozenset(low))
    across = {
        rail: reason for rail in studies if (reason := _class_low(rail, "cross", studies, policy))
    }
    if across:
        leaves = [leaf for leaf, members in fabric.leaves.items() if members]
        path = f"{'-'.join(leaves)} path" if len(leaves) == PATH_LEAVES else "spine"
        return FleetEvidence(_suspect(path, across, studies))
    return FleetEvidence(FleetVerdict(verdict=Verdict.ACCEPTED))


def _rail_low(rail: int | None, studies: Studies, policy: Policy) -> str:
    study = studies[rail]
    if study.unsteady:
        return study.unsteady
    if study.throughput:
        effects = study.throughput.effects
        judged, low = int((effects.nodes.tests > 0).sum()), int(effects.low_nodes.sum())
        if low > LOW_SHARE_MAX * judged:
            return f"{low} of {judged} nodes are low: no node is a measure for another"
    kind: Kind = "intra" if "intra" in study.classes else "cross"
    return _class_low(rail, kind, studies, policy)


def _class_low(rail: int | None, kind: Kind, studies: Studies, policy: Policy) -> str:
    """Return why pairs of a kind are low on a rail: below the floor, or far below other rails."""
    study = studies[rail]
    mine = study.classes.get(kind)
    if mine is None or study.throughput is None:
        return ""
    floor = (policy.floor_bps or {}).get(kind)
    if floor is not None and mine.median_bps < floor:
        return f"median of {kind} pairs {mine.median_bps:.3g} B/s, floor {floor:.3g} B/s"
    others = [s.classes[kind].median_bps for s in studies.values() if kind in s.classes]
    if mine.median_bps < (1 - policy.rail_fraction) * max(others):
        return f"median of {kind} pairs {mine.median_bps:.3g} B/s, best rail {max(others):.3g} B/s"
    return ""


def _suspect(part: str, reasons: Mapping[int | None, str], studies: Studies) -> FleetVerdict:
    component = _name(part, reasons, studies)
    text = "; ".join(
        reason if rail is None else f"rail {rail}: {reason}" for rail, reason in reasons.items()
    )
    return FleetVerdict(verdict=Verdict.SUSPECT, component=component, reason=text)


def _name(part: str, rails: Collection[int | None], studies: Studies) -> str:
    if len(rails) == len(studies):
        return part
    names = " ".join(f"rail:{rail}" for rail in rails)
    return names if part == "fleet" else f"{part} {names}"
