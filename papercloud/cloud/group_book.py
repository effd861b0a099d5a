"""Auto Scaling groups as data, and the work that keeps each at its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from moto.core.exceptions import ServiceException

from papercloud.cloud.asked import Asked, asked
from papercloud.cloud.boots import terminate
from papercloud.cloud.calls import ticks
from papercloud.cloud.launching import launch
from papercloud.cloud.live import live_instances, running
from papercloud.cloud.world import World

_SAME_FAILURE = timedelta(seconds=60)
"""A failure that goes on is noted as a new activity this often."""
_ACTIVITIES_KEPT = 200


@dataclass(kw_only=True, slots=True)
class Member:
    """An instance in a group."""

    instance_id: str
    protected: bool
    template: Mapping[str, str]
    healthy: bool = True


@dataclass(kw_only=True, slots=True)
class Activity:
    """Something that a group did or tried."""

    id: str
    begun: datetime
    ended: datetime
    status: str
    description: str
    cause: str
    message: str = ""


@dataclass(kw_only=True, slots=True)
class Group:
    """An Auto Scaling group; `settings` are its other parameters in AWS' words."""

    name: str
    arn: str
    made: datetime
    minimum: int
    maximum: int
    desired: int
    template: dict[str, str]
    subnets: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Value, and whether new instances get it."""
    suspended: set[str] = field(default_factory=set)
    members: list[Member] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    """The newest first."""


@dataclass
class _Book:
    groups: dict[str, Group] = field(default_factory=dict)


def groups(world: World) -> dict[str, Group]:
    """Return all groups by name."""
    return world.state(_Book).groups


@ticks
def keep_sizes(world: World) -> None:
    """Let every group launch and end what it must."""
    for group in tuple(groups(world).values()):
        keep_size(world, group)


def keep_size(world: World, group: Group) -> None:
    """Drop what is gone, launch what lacks, end what is too much."""
    _drop_gone(world, group)
    if len(group.members) < group.desired and "Launch" not in group.suspended:
        _launch(world, group)
    surplus = len(group.members) - group.desired
    if surplus > 0 and "Terminate" not in group.suspended:
        spare = [member for member in group.members if not member.protected]
        cause = "a difference between desired and actual capacity, shrinking the capacity"
        for member in spare[:surplus]:
            end_member(world, group, member, cause)


def end_member(world: World, group: Group, member: Member, cause: str) -> Activity:
    """End an instance of a group."""
    group.members.remove(member)
    terminate(
        world, [member.instance_id], "Client.UserInitiatedShutdown", "User initiated shutdown"
    )
    return note(world, group, f"Terminating EC2 instance: {member.instance_id}", cause)


def note(
    world: World, group: Group, description: str, cause: str, *, failure: str = ""
) -> Activity:
    """Write down what a group did, or why it failed."""
    activity = Activity(
        id=world.new_id("activity").removeprefix("activity-"),
        begun=world.now(),
        ended=world.now(),
        status="Failed" if failure else "Successful",
        description=description,
        cause=f"At {world.now():%Y-%m-%dT%H:%M:%SZ} {cause}.",
        message=failure,
    )
    group.activities.insert(0, activity)
    del group.activities[_ACTIVITIES_KEPT:]
    return activity


def _drop_gone(world: World, group: Group) -> None:
    live = {instance.id for instance in live_instances(world)}
    if {"HealthCheck", "ReplaceUnhealthy"} & group.suspended:
        return
    for member in tuple(group.members):
        if member.instance_id not in live:
            group.members.remove(member)
            cause = "an instance was taken out of service in response to an EC2 health check"
            note(world, group, f"Terminating EC2 instance: {member.instance_id}", cause)
        elif not member.healthy:
            cause = "an instance was taken out of service in response to a user health-check"
            end_member(world, group, member, cause)


def _launch(world: World, group: Group) -> None:
    """Launch what there is room for; a subnet without room is passed over for the next."""
    cause = (
        "an instance was started in response to a difference between desired and actual capacity"
    )
    error: ServiceException | None = None
    for subnet in group.subnets:
        lacking = group.desired - len(group.members)
        if not lacking:
            return
        try:
            wanted = _wanted(world, group, subnet)
            made = launch(world, wanted, least=1, most=lacking)
        except ServiceException as refused:
            error = refused
            continue
        for instance in made.instances:
            protected = bool(group.settings.get("NewInstancesProtectedFromScaleIn"))
            template = dict(group.template)
            group.members.append(
                Member(instance_id=instance.id, protected=protected, template=template)
            )
            note(world, group, f"Launching a new EC2 instance: {instance.id}", cause)
    if len(group.members) < group.desired:
        _note_failure(world, group, error, cause)


def _note_failure(world: World, group: Group, error: ServiceException | None, cause: str) -> None:
    """Note what a group could not do; a room that was just too small shows at the next try."""
    if error is None:
        return
    message = f"{error.message} Launching EC2 instance failed."
    last = group.activities[0] if group.activities else None
    same = last is not None and last.message == message
    if last is None or not same or world.now() - last.begun >= _SAME_FAILURE:
        note(world, group, "Launching a new EC2 instance", cause, failure=message)


def _wanted(world: World, group: Group, subnet: str) -> Asked:
    """Ask for what the template says, in a subnet, with the group's own tags and placement."""
    tags = {key: value for key, (value, to_instances) in group.tags.items() if to_instances}
    tags["aws:autoscaling:groupName"] = group.name
    rows = [{"Key": key, "Value": value} for key, value in tags.items()]
    request: dict[str, Any] = {
        "LaunchTemplate": group.template,
        "TagSpecifications": [{"ResourceType": "instance", "Tags": rows}],
    }
    wanted = asked(world, request)
    if wanted.interfaces:
        moved = [{**row, "SubnetId": subnet} for row in wanted.interfaces]
        wanted = wanted.put(NetworkInterfaces=moved)
    else:
        wanted = wanted.put(SubnetId=subnet)
    if group.settings.get("PlacementGroup"):
        placement = {**(wanted.values.get("Placement") or {}), "GroupId": None}
        placement["GroupName"] = group.settings["PlacementGroup"]
        wanted = wanted.put(Placement=placement)
    return wanted


def member_row(world: World, member: Member) -> dict[str, Any]:
    """Return a member as DescribeAutoScalingGroups shows it."""
    instance = running(world, member.instance_id)
    found = instance or world.backend("ec2").get_instance(member.instance_id)
    states = {"pending": "Pending", "running": "InService"}
    return {
        "InstanceId": member.instance_id,
        "InstanceType": found.instance_type,
        "AvailabilityZone": found.availability_zone,
        "LifecycleState": states.get(found.state, "Terminating"),
        "HealthStatus": "Healthy" if member.healthy and instance else "Unhealthy",
        "LaunchTemplate": dict(member.template),
        "ProtectedFromScaleIn": member.protected,
    }
