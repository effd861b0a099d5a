"""Scheduled actions of Auto Scaling groups, done when their time has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from papercloud.cloud.calls import Call, handles, ticks
from papercloud.cloud.group_book import Group, groups, keep_size
from papercloud.cloud.world import World


@dataclass(kw_only=True, slots=True)
class Action:
    """New sizes for a group, at a time."""

    group: str
    name: str
    at: datetime
    sizes: dict[str, int]
    """MinSize, MaxSize and DesiredCapacity, where given."""


@dataclass
class _Book:
    actions: dict[tuple[str, str], Action] = field(default_factory=dict)


@ticks
def do_due(world: World) -> None:
    """Do the actions whose time has come; a one-time action is gone afterwards."""
    actions = world.state(_Book).actions
    for key, action in sorted(actions.items()):
        group = groups(world).get(action.group)
        if group is None:
            del actions[key]
        elif action.at <= world.now() and "ScheduledActions" not in group.suspended:
            _resize(world, group, action)
            del actions[key]


def _resize(world: World, group: Group, action: Action) -> None:
    group.minimum = action.sizes.get("MinSize", group.minimum)
    group.maximum = action.sizes.get("MaxSize", group.maximum)
    wanted = action.sizes.get("DesiredCapacity", group.desired)
    group.desired = max(group.minimum, min(wanted, group.maximum))
    keep_size(world, group)


@handles("autoscaling", "PutScheduledUpdateGroupAction")
def _put(call: Call) -> dict[str, Any]:
    group, name = call.get("AutoScalingGroupName"), call.get("ScheduledActionName")
    if group not in groups(call.world):
        raise call.refuse("ValidationError", f"Group {group} not found")
    at = call.get("StartTime") or call.get("Time")
    if call.get("Recurrence") or call.get("EndTime") or at is None:
        what = "paper cloud: only actions with a StartTime and no recurrence are modelled"
        raise call.refuse("ValidationError", what)
    if at <= call.world.now():
        what = "Given start time is in the past, please specify a start time in the future."
        raise call.refuse("ValidationError", what)
    sizes = {key: int(call.get(key)) for key in _SIZES if call.get(key) is not None}
    action = Action(group=group, name=name, at=at, sizes=sizes)
    call.world.state(_Book).actions[group, name] = action
    return {}


@handles("autoscaling", "DescribeScheduledActions")
def _describe(call: Call) -> dict[str, Any]:
    group, names = call.get("AutoScalingGroupName"), call.get("ScheduledActionNames") or ()
    return {
        "ScheduledUpdateGroupActions": [
            _row(call.world, action)
            for action in call.world.state(_Book).actions.values()
            if group in {None, action.group} and (not names or action.name in names)
        ]
    }


@handles("autoscaling", "DeleteScheduledAction")
def _delete(call: Call) -> dict[str, Any]:
    key = (call.get("AutoScalingGroupName"), call.get("ScheduledActionName"))
    if call.world.state(_Book).actions.pop(key, None) is None:
        raise call.refuse("ValidationError", "Scheduled action name not found")
    return {}


_SIZES = ("MinSize", "MaxSize", "DesiredCapacity")


def _row(world: World, action: Action) -> dict[str, Any]:
    return {
        "AutoScalingGroupName": action.group,
        "ScheduledActionName": action.name,
        "ScheduledActionARN": world.arn(
            "autoscaling",
            f"scheduledUpdateGroupAction:{action.group}:autoScalingGroupName/{action.group}"
            f":scheduledActionName/{action.name}",
        ),
        "Time": action.at,
        "StartTime": action.at,
        **action.sizes,
    }
