"""What a plan costs more or less than what is deployed, from the stack's exported state. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from muster.plan.aws.model import AwsPlan
from muster.plan.price import PriceSheet

_STACK = "pulumi:pulumi:Stack"
_GROUP = "aws:autoscaling/group:Group"
_NODES = "aws:eks/nodeGroup:NodeGroup"
_POOL_TAG = "muster:pool"


@dataclass(frozen=True, slots=True)
class Deployed:
    """What stands now; None where the state does not say."""

    hourly_usd: float | None
    pools: Mapping[str, int] | None
    """Instances that each pool is to have."""
    resources: int


NOTHING = Deployed(hourly_usd=0.0, pools={}, resources=0)
NOT_READ = Deployed(hourly_usd=None, pools=None, resources=0)
"""The state could not be read."""


@dataclass(frozen=True, slots=True)
class PoolDelta:
    """Instances of a pool, before and after; None where there is no such pool."""

    pool: str
    deployed: int | None
    planned: int | None


@dataclass(frozen=True, slots=True)
class PriceDelta:
    """What changes when the plan is carried out."""

    deployed_usd: float | None
    planned_usd: float
    unknown: tuple[str, ...]
    """Lines of the plan without a price, which come on top."""
    pools: tuple[PoolDelta, ...]

    @property
    def usd(self) -> float | None:
        """Difference by the hour; None where it is not known what the stack costs now."""
        return None if self.deployed_usd is None else self.planned_usd - self.deployed_usd


def deployed_in(state: Mapping[str, Any]) -> Deployed:
    """Read an exported state; a stack without resources costs nothing."""
    found = list(_resources(state))
    real = [resource for resource in found if resource.get("type") != _STACK]
    if not real:
        return NOTHING
    outputs: Any = next((r.get("outputs") for r in found if r.get("type") == _STACK), None)
    usd = outputs.get("hourlyUsd") if isinstance(outputs, dict) else None
    return Deployed(
        hourly_usd=_number(usd),
        pools=dict(_pools(real)),
        resources=len(real),
    )


def delta_of(deployed: Deployed, plan: AwsPlan, sheet: PriceSheet) -> PriceDelta:
    """Compare what stands with what is planned."""
    planned = {pool.name: pool.size for pool in plan.pools}
    stand = deployed.pools if deployed.pools is not None else planned
    names = [*planned, *(name for name in sorted(stand) if name not in planned)]
    changes = (PoolDelta(name, stand.get(name), planned.get(name)) for name in names)
    return PriceDelta(
        deployed_usd=deployed.hourly_usd,
        planned_usd=sheet.hourly_usd,
        unknown=sheet.unknown,
        pools=tuple(change for change in changes if change.deployed != change.planned),
    )


def _resources(state: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    deployment = state.get("deployment")
    found = deployment.get("resources") if isinstance(deployment, dict) else None
    for resource in found if isinstance(found, list) else ():
        # What waits for its deletion is no longer part of the stack.
        if isinstance(resource, dict) and not resource.get("delete"):
            yield resource


def _pools(resources: list[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    counted: Counter[str] = Counter()
    for resource in resources:
        inputs = resource.get("inputs")
        if not isinstance(inputs, dict):
            continue
        pool, size = _pool_of(str(resource.get("type")), inputs)
        number = _number(size)
        if pool and number is not None:
            counted[pool] += int(number)
    yield from counted.items()


def _number(value: Any) -> float | None:
    """Return a number; a secret or an output that is not known yet is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None


def _pool_of(kind: str, inputs: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the pool that a group of instances belongs to, and its size."""
    tags = inputs.get("tags")
    if kind == _GROUP and isinstance(tags, list):
        named = (
            tag.get("value")
            for tag in tags
            if isinstance(tag, dict) and tag.get("key") == _POOL_TAG
        )
        return str(next(named, "")), inputs.get("desiredCapacity")
    if kind == _NODES and isinstance(tags, dict):
        scaling = inputs.get("scalingConfig")
        size = scaling.get("desiredSize") if isinstance(scaling, dict) else None
        return str(tags.get(_POOL_TAG, "")), size
    return "", None
