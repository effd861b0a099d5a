"""Launch templates: what one instance of a pool, or the head, is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from muster.catalog.aws_stack import load_aws_stack
from muster.errors import UsageError
from muster.plan.aws.model import Interface
from stacks.aws.place import Place

_TAGGED = ("instance", "volume", "network-interface")


@dataclass(frozen=True, kw_only=True)
class TemplateArgs:
    """`subnet_id` is None where a node group says it; `more` are further arguments by name."""

    place: Place
    pool: str
    type: str
    image: str | None
    root_gib: int
    interfaces: Sequence[Interface]
    groups: Sequence[pulumi.Input[str]]
    subnet_id: pulumi.Input[str] | None
    user_data: pulumi.Input[str]
    hops: int
    profile_arn: pulumi.Input[str] | None = None
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Template:
    """A launch template and the version that was written last."""

    id: pulumi.Output[str]
    version: pulumi.Output[str]

    @property
    def label(self) -> pulumi.Output[str]:
        """Both in one word."""
        return pulumi.Output.concat(self.id, ":", self.version)


def new_template(name: str, args: TemplateArgs, parent: pulumi.Resource) -> Template:
    """Make a launch template.

    Raises:
        UsageError: no image is given; one that AWS chooses would change by itself.

    """
    if args.image is None:
        hint = "Give muster:cluster.image, as ami-0123456789abcdef0."
        raise UsageError(f"{args.pool} has no image", where="muster:cluster", hint=hint)
    tags = args.place.tagged(name, args.pool)
    profile = {"arn": args.profile_arn} if args.profile_arn is not None else None
    template = aws.ec2.LaunchTemplate(
        name,
        image_id=args.image,
        instance_type=args.type,
        ebs_optimized="true",
        update_default_version=True,
        user_data=args.user_data,
        iam_instance_profile=profile,
        network_interfaces=[_interface(one, args) for one in args.interfaces],
        metadata_options={
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": args.hops,
            "instance_metadata_tags": "enabled",
        },
        block_device_mappings=[_root_disk(args, args.image)],
        tag_specifications=[{"resource_type": kind, "tags": tags} for kind in _TAGGED],
        tags=tags,
        opts=pulumi.ResourceOptions(parent=parent),
        **args.more,
    )
    return Template(id=template.id, version=template.latest_version.apply(lambda n: str(int(n))))


def _interface(one: Interface, args: TemplateArgs) -> dict[str, Any]:
    found: dict[str, Any] = {
        "network_card_index": one.card,
        "device_index": one.device,
        "interface_type": one.kind,
        "security_groups": list(args.groups),
        "delete_on_termination": "true",
    }
    if args.subnet_id is not None:
        found["subnet_id"] = args.subnet_id
    if one.card == 0 and one.device == 0:
        # EC2 takes the answer for the primary interface only.
        found["associate_public_ip_address"] = "false"
    return found


def _root_disk(args: TemplateArgs, image: str) -> dict[str, Any]:
    """Return the root disk, under the image's own name for it."""
    disk = {
        "volume_type": load_aws_stack().root_disk.kind,
        "volume_size": args.root_gib,
        "encrypted": "true",
        "delete_on_termination": "true",
    }
    return {"device_name": args.place.root_devices[image], "ebs": disk}
