"""The calls for Auto Scaling groups."""

from __future__ import annotations

from typing import Any

from papercloud.cloud.asked import asked
from papercloud.cloud.calls import Call, handles, only_handlers
from papercloud.cloud.group_book import (
    Activity,
    Group,
    Member,
    end_member,
    groups,
    keep_size,
    member_row,
)
from papercloud.cloud.world import World

only_handlers("autoscaling")

# Parameters that are kept as they were given and shown again.
_KEPT = (
    "DefaultCooldown", "HealthCheckType", "HealthCheckGracePeriod", "PlacementGroup",
    "TerminationPolicies", "NewInstancesProtectedFromScaleIn", "CapacityRebalance",
    "MaxInstanceLifetime", "ServiceLinkedRoleARN", "DefaultInstanceWarmup", "DesiredCapacityType",
    "Context", "CapacityReservationSpecification", "InstanceMaintenancePolicy",
)  # fmt: skip
_DEFAULTS = {
    "DefaultCooldown": 300,
    "HealthCheckType": "EC2",
    "HealthCheckGracePeriod": 0,
    "TerminationPolicies": ["Default"],
    "NewInstancesProtectedFromScaleIn": False,
}
_NOT_MODELLED = (
    "MixedInstancesPolicy",
    "LaunchConfigurationName",
    "InstanceId",
    "InstanceLifecyclePolicy",
)


@handles("autoscaling", "CreateAutoScalingGroup")
def _create(call: Call) -> dict[str, Any]:
    name = call.get("AutoScalingGroupName")
    if name in groups(call.world):
        what = f"AutoScalingGroup by this name already exists - {name}"
        raise call.refuse("AlreadyExists", what)
    _refuse_unmodelled(call)
    minimum, maximum = int(call.get("MinSize")), int(call.get("MaxSize"))
    group = Group(
        name=name,
        arn=call.world.arn(
            "autoscaling", f"autoScalingGroup:{_uuid(call)}:autoScalingGroupName/{name}"
        ),
        made=call.world.now(),
        minimum=minimum,
        maximum=maximum,
        desired=int(call.get("DesiredCapacity", minimum)),
        template=_template(call),
        subnets=_subnets(call),
        settings={**_DEFAULTS, **{key: call.get(key) for key in _KEPT if key in call.params}},
        tags={row["Key"]: _tag(row) for row in call.get("Tags") or ()},
    )
    _check_sizes(call, group)
    groups(call.world)[name] = group
    keep_size(call.world, group)
    return {}


@handles("autoscaling", "UpdateAutoScalingGroup")
def _update(call: Call) -> dict[str, Any]:
    group = _existing(call)
    _refuse_unmodelled(call)
    changed = (group.minimum, group.maximum, group.desired)
    group.minimum = int(call.get("MinSize", group.minimum))
    group.maximum = int(call.get("MaxSize", group.maximum))
    within = max(group.minimum, min(group.desired, group.maximum))
    group.desired = int(call.get("DesiredCapacity", within))
    try:
        _check_sizes(call, group)
    except Exception:
        group.minimum, group.maximum, group.desired = changed
        raise
    if call.get("LaunchTemplate"):
        group.template = _template(call)
    if call.get("VPCZoneIdentifier"):
        group.subnets = _subnets(call)
    group.settings.update({key: call.get(key) for key in _KEPT if key in call.params})
    keep_size(call.world, group)
    return {}


@handles("autoscaling", "SetDesiredCapacity")
def _set_desired(call: Call) -> dict[str, Any]:
    group, before = _existing(call), _existing(call).desired
    group.desired = int(call.get("DesiredCapacity"))
    try:
        _check_sizes(call, group)
    except Exception:
        group.desired = before
        raise
    keep_size(call.world, group)
    return {}


@handles("autoscaling", "DeleteAutoScalingGroup")
def _delete(call: Call) -> dict[str, Any]:
    group = _existing(call)
    if group.members and not call.get("ForceDelete"):
        what = "You cannot delete an AutoScalingGroup while there are instances still in the group."
        raise call.refuse("ResourceInUse", what)
    for member in tuple(group.members):
        end_member(call.world, group, member, "the group was deleted")
    del groups(call.world)[group.name]
    return {}


@handles("autoscaling", "DescribeAutoScalingGroups")
def _describe(call: Call) -> dict[str, Any]:
    named = call.get("AutoScalingGroupNames") or ()
    wanted = {row["Name"]: row.get("Values") or [] for row in call.get("Filters") or ()}
    return {
        "AutoScalingGroups": [
            _row(call.world, group)
            for group in groups(call.world).values()
            if (not named or group.name in named) and _kept(group, wanted)
        ]
    }


@handles("autoscaling", "DescribeAutoScalingInstances")
def _describe_instances(call: Call) -> dict[str, Any]:
    named = call.get("InstanceIds") or ()
    return {
        "AutoScalingInstances": [
            {**member_row(call.world, member), "AutoScalingGroupName": group.name}
            for group in groups(call.world).values()
            for member in group.members
            if not named or member.instance_id in named
        ]
    }


@handles("autoscaling", "DescribeScalingActivities")
def _activities(call: Call) -> dict[str, Any]:
    named, wanted = call.get("AutoScalingGroupName"), call.get("ActivityIds") or ()
    found = [
        activity_row(group, activity)
        for group in groups(call.world).values()
        if named in {None, group.name}
        for activity in group.activities
        if not wanted or activity.id in wanted
    ]
    start, size = int(call.get("NextToken") or 0), int(call.get("MaxRecords") or 100)
    more = {"NextToken": str(start + size)} if len(found) > start + size else {}
    return {"Activities": found[start : start + size], **more}


@handles("autoscaling", "TerminateInstanceInAutoScalingGroup")
def _terminate(call: Call) -> dict[str, Any]:
    group, member = _member(call, call.get("InstanceId"))
    if call.get("ShouldDecrementDesiredCapacity"):
        if group.desired <= group.minimum:
            what = "The desired capacity would fall below the minimum size of the group"
            raise call.refuse("ValidationError", what)
        group.desired -= 1
    cause = "an instance was taken out of service in response to a user request"
    activity = end_member(call.world, group, member, cause)
    keep_size(call.world, group)
    return {"Activity": activity_row(group, activity)}


@handles("autoscaling", "SetInstanceProtection")
def _protect(call: Call) -> dict[str, Any]:
    group = _existing(call)
    for instance_id in call.get("InstanceIds") or ():
        found = [one for one in group.members if one.instance_id == instance_id]
        if not found:
            what = f"The instance {instance_id} is not part of Auto Scaling group {group.name}."
            raise call.refuse("ValidationError", what)
        found[0].protected = bool(call.get("ProtectedFromScaleIn"))
    return {}


@handles("autoscaling", "SetInstanceHealth")
def _health(call: Call) -> dict[str, Any]:
    _group, member = _member(call, call.get("InstanceId"))
    member.healthy = call.get("HealthStatus") == "Healthy"
    return {}


@handles("autoscaling", "DetachInstances")
def _detach(call: Call) -> dict[str, Any]:
    group = _existing(call)
    for instance_id in call.get("InstanceIds") or ():
        _group, member = _member(call, instance_id)
        group.members.remove(member)
        if call.get("ShouldDecrementDesiredCapacity"):
            group.desired -= 1
    return {"Activities": []}


@handles("autoscaling", "SuspendProcesses", "ResumeProcesses")
def _processes(call: Call) -> dict[str, Any]:
    group, named = _existing(call), set(call.get("ScalingProcesses") or _PROCESSES)
    is_stop = call.action == "SuspendProcesses"
    group.suspended = group.suspended | named if is_stop else group.suspended - named
    return {}


@handles("autoscaling", "CreateOrUpdateTags", "DeleteTags")
def _tags(call: Call) -> dict[str, Any]:
    for row in call.get("Tags") or ():
        group = _existing(call, row["ResourceId"])
        if call.action == "DeleteTags":
            group.tags.pop(row["Key"], None)
        else:
            group.tags[row["Key"]] = _tag(row)
    return {}


@handles("autoscaling", "DescribeTags")
def _describe_tags(call: Call) -> dict[str, Any]:
    wanted = {row["Name"]: row.get("Values") or [] for row in call.get("Filters") or ()}
    names = wanted.get("auto-scaling-group")
    found = [group for group in groups(call.world).values() if not names or group.name in names]
    return {"Tags": [row for group in found for row in _tag_rows(group)]}


_PROCESSES = (
    "Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck",
    "InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions",
)  # fmt: skip


def activity_row(group: Group, activity: Activity) -> dict[str, Any]:
    """Return an activity as DescribeScalingActivities shows it."""
    message = {"StatusMessage": activity.message} if activity.message else {}
    return {
        "ActivityId": activity.id,
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "Description": activity.description,
        "Cause": activity.cause,
        "StartTime": activity.begun,
        "EndTime": activity.ended,
        "StatusCode": activity.status,
        "Progress": 100,
        **message,
    }


def _row(world: World, group: Group) -> dict[str, Any]:
    backend = world.backend("ec2")
    return {
        "AutoScalingGroupName": group.name,
        "AutoScalingGroupARN": group.arn,
        "CreatedTime": group.made,
        "MinSize": group.minimum,
        "MaxSize": group.maximum,
        "DesiredCapacity": group.desired,
        "LaunchTemplate": dict(group.template),
        "VPCZoneIdentifier": ",".join(group.subnets),
        "AvailabilityZones": sorted(
            {str(backend.get_subnet(subnet).availability_zone) for subnet in group.subnets}
        ),
        "Instances": [member_row(world, member) for member in group.members],
        "SuspendedProcesses": [
            {"ProcessName": name, "SuspensionReason": "User suspended"}
            for name in sorted(group.suspended)
        ],
        "Tags": _tag_rows(group),
        "LoadBalancerNames": [],
        "TargetGroupARNs": [],
        **{key: value for key, value in group.settings.items() if value is not None},
    }


def _template(call: Call) -> dict[str, str]:
    """Return id, name and version of the launch template; AWS fails for one that is not there."""
    named = call.get("LaunchTemplate")
    if not named:
        what = "Valid requests must contain a LaunchTemplate parameter."
        raise call.refuse("ValidationError", what)
    found = asked(call.world, {"LaunchTemplate": named}).template
    template_id = found[0] if found else ""
    template = call.world.backend("ec2").get_launch_template(template_id)
    version = str(named.get("Version") or "$Default")
    return {
        "LaunchTemplateId": template_id,
        "LaunchTemplateName": template.name,
        "Version": version,
    }


def _subnets(call: Call) -> tuple[str, ...]:
    named = tuple(part for part in str(call.get("VPCZoneIdentifier") or "").split(",") if part)
    if not named:
        what = "At least one Availability Zone or VPC Subnet is required."
        raise call.refuse("ValidationError", what)
    known = {subnet.id for subnet in call.world.backend("ec2").describe_subnets()}
    for subnet in named:
        if subnet not in known:
            what = f"The subnet ID '{subnet}' does not exist"
            raise call.refuse("ValidationError", what)
    return named


def _check_sizes(call: Call, group: Group) -> None:
    if not group.minimum <= group.desired <= group.maximum:
        what = (
            f"Desired capacity:{group.desired} must be between the specified min "
            f"size:{group.minimum} and max size:{group.maximum}"
        )
        raise call.refuse("ValidationError", what)


def _refuse_unmodelled(call: Call) -> None:
    for name in _NOT_MODELLED:
        if call.get(name):
            what = f"paper cloud: {name} is not modelled"
            raise call.refuse("ValidationError", what)


def _existing(call: Call, name: str = "") -> Group:
    found = groups(call.world).get(name or call.get("AutoScalingGroupName"))
    if found is None:
        raise call.refuse("ValidationError", "AutoScalingGroup name not found - null")
    return found


def _member(call: Call, instance_id: str) -> tuple[Group, Member]:
    for group in groups(call.world).values():
        for member in group.members:
            if member.instance_id == instance_id:
                return group, member
    what = f"Instance Id not found - No managed instance found for instance ID: {instance_id}"
    raise call.refuse("ValidationError", what)


def _kept(group: Group, wanted: dict[str, list[str]]) -> bool:
    for name, values in wanted.items():
        key = name.removeprefix("tag:")
        if name.startswith("tag:") and group.tags.get(key, ("", False))[0] not in values:
            return False
        if name == "tag-key" and not set(values) & set(group.tags):
            return False
    return True


def _tag(row: dict[str, Any]) -> tuple[str, bool]:
    return str(row.get("Value", "")), bool(row.get("PropagateAtLaunch"))


def _tag_rows(group: Group) -> list[dict[str, Any]]:
    return [
        {
            "ResourceId": group.name,
            "ResourceType": "auto-scaling-group",
            "Key": key,
            "Value": value,
            "PropagateAtLaunch": to_instances,
        }
        for key, (value, to_instances) in group.tags.items()
    ]


def _uuid(call: Call) -> str:
    return call.world.new_id("g").removeprefix("g-")
