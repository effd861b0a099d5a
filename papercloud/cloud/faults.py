"""Faults of a scenario: which of them, if any, hits a call."""

from __future__ import annotations

from fnmatch import fnmatchcase

from papercloud.cloud.codes import PaperError
from papercloud.cloud.scenario import Fault
from papercloud.cloud.world import World


def hit(world: World, service: str, action: str) -> Fault | None:
    """Return the first fault that hits this call, and count it."""
    for number, fault in enumerate(world.scenario.faults):
        if not fnmatchcase(f"{service}:{action}", fault.match):
            continue
        if fault.count is not None and world.hits.get(number, 0) >= fault.count:
            continue
        if fault.rate is not None and world.random.random() >= fault.rate:
            continue
        world.hits[number] = world.hits.get(number, 0) + 1
        return fault
    return None


def as_error(fault: Fault) -> PaperError:
    """Return a fault as the error that AWS would send."""
    return PaperError(fault.code, fault.message or "paper cloud: a fault of the scenario")
