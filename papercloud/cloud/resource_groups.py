"""Which capacity reservations a resource group holds; moto keeps the groups themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.world import World

_RESERVATION = "AWS::EC2::CapacityReservation"


@dataclass
class _Members:
    by_group: dict[str, list[str]] = field(default_factory=dict)


def members_of(world: World, group: str) -> list[str]:
    """Return the ids of the reservations in a group, given by its name or ARN."""
    arns = world.state(_Members).by_group.get(_name(group), [])
    return [arn.rpartition("/")[2] for arn in arns]


@handles("resource-groups", "GroupResources")
def _group(call: Call) -> dict[str, Any]:
    members = _members(call)
    added = [arn for arn in call.get("ResourceArns") or () if arn not in members]
    members.extend(added)
    return {"Succeeded": list(call.get("ResourceArns") or ()), "Failed": [], "Pending": []}


@handles("resource-groups", "UngroupResources")
def _ungroup(call: Call) -> dict[str, Any]:
    members, gone = _members(call), list(call.get("ResourceArns") or ())
    members[:] = [arn for arn in members if arn not in gone]
    return {"Succeeded": gone, "Failed": [], "Pending": []}


@handles("resource-groups", "ListGroupResources")
def _list(call: Call) -> dict[str, Any]:
    named = [{"ResourceArn": arn, "ResourceType": _RESERVATION} for arn in _members(call)]
    return {"Resources": [{"Identifier": row} for row in named], "ResourceIdentifiers": named}


def _members(call: Call) -> list[str]:
    name = _name(call.get("Group") or call.get("GroupName") or "")
    if name not in call.backend.groups.by_name:
        raise call.refuse("NotFoundException", f"There is no group {name!r}")
    return call.world.state(_Members).by_group.setdefault(name, [])


def _name(group: str) -> str:
    """Take the name out of an ARN, as …:group/NAME or …:group/NAME/ID."""
    if not group.startswith("arn:"):
        return group
    return group.partition(":group/")[2].partition("/")[0]
