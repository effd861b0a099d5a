"""What a check says: pass, fail or unknown, with its evidence."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Outcome(StrEnum):
    """The three results of a check. A check that could not run is UNKNOWN, never PASS."""

    PASS = "pass"  # noqa: S105, an outcome
    FAIL = "fail"
    UNKNOWN = "unknown"


class Finding(BaseModel):
    """One result of one check on one subject: one line of results.jsonl.

    Field names follow the run store's convention; `outcome` is written as "verdict". `value`,
    `peers_median`, `peers_mad` and `floor` are in `unit`. `evidence` holds paths relative to the
    run's directory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    check: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    outcome: Outcome = Field(alias="verdict")
    summary: str = Field(min_length=1)
    """Part, found, expected: "rail1 has no carrier; expected carrier on 2 rails"."""
    stage: str = ""
    """static, local, pairs or groups."""
    node: str = ""
    """Name of the node, or empty for the fleet or a part of the fabric."""
    component: str = ""
    """Part that is at fault, as "node", "rail:1", "gpu:3", "leaf:leaf1", "fleet"; empty on pass."""
    serial: str = ""
    shape: str = ""
    """Instance type."""
    run_id: str = ""
    ts: datetime | None = None
    image_digest: str = ""
    version: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    value: float | None = None
    unit: str = ""
    n: int | None = None
    """Number of samples behind `value`."""
    peers_median: float | None = None
    peers_mad: float | None = None
    floor: float | None = None
    floor_source: str = ""
    evidence: tuple[str, ...] = ()
    cmd: str = ""
    """Command that produced the evidence, ready to paste."""
    rc: int | None = None
    duration_s: float | None = None
    scheduler_job: str = ""
