"""EKS clusters and node groups: active late, and node groups with instances behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from moto.eks import models

from papercloud.cloud.calls import Call, handles, ticks
from papercloud.cloud.group_book import Group, end_member, groups, keep_size
from papercloud.cloud.world import World

_ACTIVE = "ACTIVE"
_CREATING = "CREATING"


@dataclass
class _Seen:
    """When each cluster and node group was first seen, by ARN."""

    at: dict[str, datetime] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)


@handles("eks", "CreateCluster", "CreateNodegroup")
def _begin(call: Call) -> None:
    """Let moto answer; what it makes begins in the state that it reads here."""
    waits = call.world.scenario.eks_create_s > 0
    models.ACTIVE_STATUS = _CREATING if waits else _ACTIVE


@ticks
def make_active(world: World) -> None:
    """Let those become active whose time has come, and keep the groups of the node groups."""
    seen, there = world.state(_Seen), set()
    wait = timedelta(seconds=world.scenario.eks_create_s)
    for cluster in tuple(world.backend("eks").clusters.values()):
        for one in (cluster, *cluster.nodegroups.values()):
            begun = seen.at.setdefault(one.arn, world.now())
            if one.status == _CREATING and world.now() >= begun + wait:
                one.status = _ACTIVE
        for nodegroup in cluster.nodegroups.values():
            there |= set(_keep_groups(world, nodegroup))
    _end_groups(world, seen.groups - there)
    seen.groups = there


def _keep_groups(world: World, nodegroup: Any) -> Iterator[str]:
    """Keep the Auto Scaling group of a node group at the size that it asks for."""
    if not nodegroup.launch_template:
        return  # without one EKS takes an image and a type of its own, which nothing here knows
    name = nodegroup.resources["autoScalingGroups"][0]["name"]
    sizes = nodegroup.scaling_config
    group = groups(world).get(name)
    if group is None:
        group = groups(world)[name] = _group(world, nodegroup, name)
    wanted = (int(sizes["minSize"]), int(sizes["maxSize"]), int(sizes["desiredSize"]))
    if (group.minimum, group.maximum, group.desired) != wanted:
        group.minimum, group.maximum, group.desired = wanted
        keep_size(world, group)
    yield name


def _group(world: World, nodegroup: Any, name: str) -> Group:
    template = {
        "LaunchTemplateId": nodegroup.launch_template["id"],
        "Version": str(nodegroup.launch_template.get("version", "$Default")),
    }
    owner = {"eks:cluster-name": nodegroup.cluster_name, "eks:nodegroup-name": name}
    tags = {**nodegroup.tags, **owner}
    return Group(
        name=name,
        arn=world.arn(
            "autoscaling", f"autoScalingGroup:{nodegroup.uuid}:autoScalingGroupName/{name}"
        ),
        made=world.now(),
        minimum=0,
        maximum=0,
        desired=0,
        template=template,
        subnets=tuple(nodegroup.subnets),
        tags={key: (value, True) for key, value in tags.items()},
    )


def _end_groups(world: World, names: set[str]) -> None:
    for name in names:
        group = groups(world).pop(name, None)
        for member in tuple(group.members) if group else ():
            if group:
                end_member(world, group, member, "the node group was deleted")
