"""What a static check may look at: one node's facts, what was expected, what the scheduler says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.acceptance.expected import Expected
from muster.acceptance.facts import Facts, Problem
from muster.acceptance.policy import StaticLimits
from muster.schedulers.model import NodeStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeView:
    """One node before its static checks. `fleet` has the facts of all nodes that answered."""

    expected: Expected
    facts: Facts | Problem
    status: NodeStatus | Problem
    limits: StaticLimits
    head_shared_id: str | Problem
    fleet: Mapping[str, Facts] = field(default_factory=dict)
    asked_s: tuple[float, float] = (0.0, 0.0)
    """Reference wall clock before and after the facts were taken."""
    converge_failure: str | None = None
    """Why the playbooks failed on it; empty where they did not, None where nobody knows."""
    as_job: bool = True
    """Were the facts taken within a job? Limits of an ssh login are not those of a job."""
