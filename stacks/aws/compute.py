"""The nodes: for each pool a placement group, a launch template and an Auto Scaling group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from muster.catalog.aws_stack import load_aws_stack
from muster.plan.aws.model import PoolPlan
from stacks.aws.capacity import bought, emptied_at
from stacks.aws.place import Place
from stacks.aws.template import Template, TemplateArgs, new_template

_NO_RECOVERY: dict[str, Any] = {"auto_recovery": "disabled"}
"""AWS would move a node to another host without a word, and its place in the fabric with it."""


@dataclass(frozen=True, kw_only=True)
class PoolArgs:
    """`user_data` as EC2 wants it; `groups` are security groups."""

    place: Place
    plan: PoolPlan
    subnet_id: pulumi.Input[str]
    groups: tuple[pulumi.Input[str], ...]
    profile_arn: pulumi.Input[str]
    user_data: str


class Pool(pulumi.ComponentResource):
    """Instances of one type bought one way."""

    def __init__(
        self, name: str, args: PoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:Pool", name, {}, opts)
        self._args, self._name = args, args.place.name(args.plan.name)
        self.template = self._template()
        group = self._group()
        self.group_name: pulumi.Output[str] = group.name
        ends = emptied_at(args.plan)
        if ends is not None:
            empty_at(self._name, self.group_name, ends.strftime("%Y-%m-%dT%H:%M:%SZ"), self)
        self.register_outputs({"group": self.group_name, "launched": self.template.label})

    def _template(self) -> Template:
        args = self._args
        placed = placement(args.place, args.plan, self)
        return new_template(
            self._name,
            TemplateArgs(
                place=args.place,
                pool=args.plan.name,
                type=args.plan.type.name,
                image=args.plan.image,
                root_gib=args.plan.root_gib,
                interfaces=args.plan.interfaces,
                groups=args.groups,
                subnet_id=args.subnet_id,
                profile_arn=args.profile_arn,
                user_data=args.user_data,
                hops=load_aws_stack().metadata.slurm_hops,
                more={
                    "maintenance_options": _NO_RECOVERY,
                    **placed,
                    **bought(args.plan.capacity),
                },
            ),
            self,
        )

    def _group(self) -> aws.autoscaling.Group:
        """Make the group; the fleet waits for its instances, and explains why some are missing."""
        args = self._args
        tags = args.place.tagged(self._name, args.plan.name)
        return aws.autoscaling.Group(
            self._name,
            min_size=0,
            max_size=args.plan.size,
            desired_capacity=args.plan.size,
            vpc_zone_identifiers=[args.subnet_id],
            launch_template={"id": self.template.id, "version": self.template.version},
            wait_for_capacity_timeout="0",
            ignore_failed_scaling_activities=True,
            suspended_processes=["AZRebalance"],
            protect_from_scale_in=True,
            force_delete=True,
            tags=[
                {"key": key, "value": value, "propagate_at_launch": True}
                for key, value in tags.items()
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )


def placement(place: Place, plan: PoolPlan, parent: pulumi.Resource) -> dict[str, Any]:
    """Make the pool's placement group, where it has one; returns what the template says of it."""
    if plan.placement is None:
        return {}
    name = place.name(plan.name)
    group = aws.ec2.PlacementGroup(
        name,
        strategy=plan.placement,
        tags=place.tagged(name, plan.name),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return {"placement": {"group_id": group.placement_group_id}}


def empty_at(name: str, group: pulumi.Input[str], time: str, parent: pulumi.Resource) -> None:
    """Let a group's instances go at a time."""
    aws.autoscaling.Schedule(
        name,
        autoscaling_group_name=group,
        scheduled_action_name="capacity-block-ends",
        min_size=0,
        max_size=0,
        desired_capacity=0,
        start_time=time,
        opts=pulumi.ResourceOptions(parent=parent),
    )
