"""The verdict: per node, per component, and for the fleet; readiness.json is this model."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Verdict(StrEnum):
    """What follows for a node or component."""

    ACCEPTED = "accepted"
    SUSPECT = "suspect"
    QUARANTINED = "quarantined"
    UNTESTED = "untested"


class _Document(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class CheckCounts(_Document):
    """How many findings of a node had each outcome."""

    passed: int = Field(alias="pass", ge=0)
    fail: int = Field(ge=0)
    unknown: int = Field(ge=0)


class NodeReadiness(_Document):
    """Verdict of one node. `component` is what is at fault: "node", "rail:1", "gpu:3"."""

    node: str
    serial: str
    verdict: Verdict
    component: str = ""
    reasons: tuple[str, ...] = ()
    checks: CheckCounts
    evidence: tuple[str, ...] = ()
    slowest_check: str = ""
    slowest_check_s: float = 0.0


class ComponentVerdict(_Document):
    """Verdict of something that is not one node: a leaf ("leaf:leaf1"), or "fleet"."""

    component: str
    verdict: Verdict
    evidence: tuple[str, ...] = ()


class Readiness(_Document):
    """The verdict of a whole run; the file that other programs read."""

    api_version: str = "muster/v1"
    kind: str = "Readiness"
    stack: str
    run: str
    time: datetime
    ready: bool
    reason: str
    wanted: int
    accepted: int
    quarantined: int
    untested: int
    suspect: int = 0
    fleet: tuple[ComponentVerdict, ...] = ()
    nodes: tuple[NodeReadiness, ...] = ()
