"""The head node: one instance, which nothing ends by mistake."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from muster.catalog.aws_stack import load_aws_stack
from muster.plan.aws.fleet import HEAD
from muster.plan.aws.model import HeadPlan, Interface
from stacks.aws.place import Place
from stacks.aws.template import TemplateArgs, new_template


@dataclass(frozen=True, kw_only=True)
class HeadArgs:
    """`user_data` as EC2 wants it; `groups` are security groups."""

    place: Place
    plan: HeadPlan
    subnet_id: pulumi.Input[str]
    groups: tuple[pulumi.Input[str], ...]
    profile_arn: pulumi.Input[str]
    user_data: str


class Head(pulumi.ComponentResource):
    """The node that runs the scheduler."""

    def __init__(
        self, name: str, args: HeadArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:Head", name, {}, opts)
        place, plan = args.place, args.plan
        called = place.name(HEAD)
        template = new_template(
            called,
            TemplateArgs(
                place=place,
                pool=HEAD,
                type=plan.type.name,
                image=plan.image,
                root_gib=plan.root_gib,
                interfaces=(Interface(card=0, device=0, kind="interface"),),
                groups=args.groups,
                subnet_id=args.subnet_id,
                profile_arn=args.profile_arn,
                user_data=args.user_data,
                hops=load_aws_stack().metadata.slurm_hops,
            ),
            self,
        )
        instance = aws.ec2.Instance(
            called,
            launch_template={"id": template.id, "version": template.version},
            disable_api_termination=True,
            # Lets `down` end it all the same: the protection is against a click, not the stack.
            force_destroy=True,
            tags=place.tagged(called, HEAD),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.type = plan.type.name
        self.instance_id: pulumi.Output[str] = instance.id
        self.register_outputs({"instance": self.instance_id})
