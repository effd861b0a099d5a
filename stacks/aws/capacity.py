"""How the instances of a pool are bought, as launch templates say it. Nothing is bought here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from muster.catalog.aws_stack import load_aws_stack
from muster.catalog.quotas import load_quotas
from muster.plan.aws.model import CapacityPlan, PoolPlan


def bought(capacity: CapacityPlan) -> dict[str, Any]:
    """Return the launch template's arguments for a way of buying."""
    if capacity.buying == "onDemand":
        return {}
    if capacity.buying == "spot":
        return {"instance_market_options": {"market_type": "spot"}}
    key = "capacity_reservation_id"
    if capacity.buying == "resourceGroup":
        key = "capacity_reservation_resource_group_arn"
    target = {
        "capacity_reservation_specification": {"capacity_reservation_target": {key: capacity.id}}
    }
    if capacity.buying == "block":
        return {**target, "instance_market_options": {"market_type": "capacity-block"}}
    return target


def emptied_at(pool: PoolPlan) -> datetime | None:
    """When the nodes of a Capacity Block are let go: before EC2 warns, and then ends them."""
    if pool.capacity.ends is None:
        return None
    limits = load_quotas().block
    whole = pool.type.domain_sizes is not None
    ended = limits.ultraserver_ended_minutes_before if whole else limits.ended_minutes_before
    own = load_aws_stack().block_drain.minutes_before_warning
    minutes = ended + limits.warned_minutes_before_that + own
    return pool.capacity.ends.astimezone(UTC) - timedelta(minutes=minutes)
