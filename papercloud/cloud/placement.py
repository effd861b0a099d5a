"""Placement groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.tags import of_resource, tag_resource, tags_match
from papercloud.cloud.world import World


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacementGroup:
    """A group whose instances are placed by one strategy."""

    id: str
    name: str
    strategy: str
    partitions: int | None
    spread_level: str | None


@dataclass
class PlacementGroups:
    """All groups of the account, by name."""

    by_name: dict[str, PlacementGroup] = field(default_factory=dict)


def find(world: World, *, name: str = "", group_id: str = "") -> PlacementGroup | None:
    """Return a group by its name or id."""
    groups = world.state(PlacementGroups).by_name
    if name:
        return groups.get(name)
    return next((group for group in groups.values() if group.id == group_id), None)


@handles("ec2", "CreatePlacementGroup")
def _create(call: Call) -> dict[str, Any]:
    groups, name = call.world.state(PlacementGroups).by_name, call.get("GroupName") or ""
    if not name:
        raise call.refuse("MissingParameter", "The request must contain the parameter groupName")
    if name in groups:
        what = f"The placement group '{name}' already exists"
        raise call.refuse("InvalidPlacementGroup.Duplicate", what)
    strategy = call.get("Strategy", "cluster")
    partitions = call.get("PartitionCount", 2 if strategy == "partition" else None)
    level = call.get("SpreadLevel", "rack" if strategy == "spread" else None)
    group = PlacementGroup(
        id=call.world.new_id("pg"),
        name=name,
        strategy=strategy,
        partitions=partitions,
        spread_level=level,
    )
    groups[name] = group
    tag_resource(call.world, group.id, call.tags("placement-group"))
    return {"PlacementGroup": _described(call.world, group)}


@handles("ec2", "DescribePlacementGroups")
def _describe(call: Call) -> dict[str, Any]:
    groups = call.world.state(PlacementGroups).by_name
    for name in call.get("GroupNames") or ():
        if name not in groups:
            raise _unknown(call, name)
    for group_id in call.get("GroupIds") or ():
        if not find(call.world, group_id=group_id):
            raise _unknown(call, group_id)
    asked = {*(call.get("GroupNames") or ()), *(call.get("GroupIds") or ())}
    filters = call.filters()
    return {
        "PlacementGroups": [
            _described(call.world, group)
            for group in groups.values()
            if (not asked or {group.id, group.name} & asked)
            and _kept(group, filters)
            and tags_match(call.world, group.id, filters)
        ]
    }


@handles("ec2", "DeletePlacementGroup")
def _delete(call: Call) -> dict[str, Any]:
    groups, name = call.world.state(PlacementGroups).by_name, call.get("GroupName") or ""
    if name not in groups:
        raise _unknown(call, name)
    gone = ("terminated", "shutting-down")
    if any(
        instance.placement.group_name == name and instance.state not in gone
        for instance in call.backend.all_instances()
    ):
        what = f"The placement group '{name}' is in use and may not be deleted"
        raise call.refuse("InvalidPlacementGroup.InUse", what)
    del groups[name]
    return {}


def _kept(group: PlacementGroup, filters: dict[str, list[str]]) -> bool:
    values = {"group-name": group.name, "strategy": group.strategy, "state": "available"}
    return all(value in filters[name] for name, value in values.items() if name in filters)


def _unknown(call: Call, name: str) -> Exception:
    return call.refuse("InvalidPlacementGroup.Unknown", f"The placement group '{name}' is unknown")


def _described(world: World, group: PlacementGroup) -> dict[str, Any]:
    optional = {"PartitionCount": group.partitions, "SpreadLevel": group.spread_level}
    return {
        "GroupName": group.name,
        "GroupId": group.id,
        "GroupArn": world.arn("ec2", f"placement-group/{group.name}"),
        "Strategy": group.strategy,
        "State": "available",
        "Tags": of_resource(world, group.id),
        **{name: value for name, value in optional.items() if value is not None},
    }
