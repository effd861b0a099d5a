"""Instances that exist now."""

from __future__ import annotations

from typing import Any

from papercloud.cloud.world import World

GONE = frozenset({"shutting-down", "terminated"})


def live_instances(world: World) -> list[Any]:
    """Return moto's instances that are neither terminated nor on their way there."""
    found = world.backend("ec2").all_instances()
    return [instance for instance in found if instance.state not in GONE]


def running(world: World, instance_id: str) -> Any | None:
    """Return an instance that is live; None for another."""
    return next((found for found in live_instances(world) if found.id == instance_id), None)
