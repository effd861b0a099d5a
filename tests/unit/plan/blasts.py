"""Previews of known shape, and acknowledgements, for tests of the blast radius."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from muster.catalog.blast import load_effects
from muster.plan.blast import Blast, Preview, judge, read_preview
from muster.spec import Acknowledgement

FIXTURES = Path(__file__).parent / "fixtures"
TODAY = date(2026, 11, 21)
URN = "urn:pulumi:prod::muster::"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
FILE_SYSTEM = f"{URN}{LUSTRE}::shared"
LINK = f"{URN}aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation::data"
RESERVATION = f"{URN}aws:ec2/capacityReservation:CapacityReservation::train"
GROUP = f"{URN}aws:autoscaling/group:Group::train"


def document(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return read


def step(
    op: str,
    kind: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    *,
    name: str = "it",
    **state: Any,
) -> dict[str, Any]:
    """One step as the engine writes it; what differs between the inputs is what changed."""
    urn = f"{URN}{kind}::{name}"
    common = {"urn": urn, "custom": True, "type": kind}
    old = {"oldState": {**common, "id": "id-1", "inputs": dict(before or {}), **state}}
    new = {"newState": {**common, "inputs": dict(after or {})}}
    both = {**(before or {}), **(after or {})}
    changed = [k for k in both if (before or {}).get(k) != (after or {}).get(k)]
    diff = {"diffReasons": changed, "detailedDiff": None} if op in {"update", "replace"} else {}
    sides = {"create": new, "import": new, "delete": old}.get(op, {**old, **new})
    return {"op": op, "urn": urn, **sides, **diff}


def preview_of(*steps: dict[str, Any]) -> Preview:
    counts: dict[str, int] = {}
    for one in steps:
        counts[one["op"]] = counts.get(one["op"], 0) + 1
    return read_preview({"steps": list(steps), "changeSummary": counts})


def acknowledge(urn: str, until: date = date(2026, 12, 1)) -> Acknowledgement:
    return Acknowledgement(urn=urn, reason="moved to the new file system on Friday", until=until)


def blast_of(preview: Preview, *acknowledgements: Acknowledgement) -> Blast:
    return judge(preview, acknowledgements, TODAY, effects=load_effects())


def recorded(name: str, *acknowledgements: Acknowledgement) -> Blast:
    return blast_of(read_preview(document(name)), *acknowledgements)
