"""What nodes may do in AWS, and who may log in to them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart

import pulumi
import pulumi_aws as aws
import yaml

from muster.catalog.aws_stack import load_aws_stack
from muster.errors import UsageError
from muster.spec import Access
from stacks.aws.place import Place

_BOUNDARY = "muster-part"
"""Between the parts of user data; a random one would make a new launch template each time."""


@dataclass(frozen=True, kw_only=True)
class NodeRoleArgs:
    """`repositories` are the s3:// addresses that fill file systems."""

    place: Place
    repositories: Sequence[str] = ()


class NodeRole(pulumi.ComponentResource):
    """What every node may do: be reached through SSM, ask where it is, read its data."""

    def __init__(
        self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:NodeRole", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        place = args.place
        policies = load_aws_stack().managed_policies.node
        role = service_role(place, place.name("node"), "ec2", policies, child).resource
        aws.iam.RolePolicy(
            place.name("node"),
            role=role.id,
            policy=json.dumps(_statements(args.repositories)),
            opts=child,
        )
        profile = aws.iam.InstanceProfile(
            place.name("node"), role=role.name, tags=place.tagged(place.name("node")), opts=child
        )
        self.profile_arn: pulumi.Output[str] = profile.arn
        self.register_outputs({"profileArn": self.profile_arn})


@dataclass(frozen=True, kw_only=True)
class ServiceRole:
    """A role that a service of AWS takes; what needs its policies depends on them."""

    resource: aws.iam.Role
    policies: tuple[aws.iam.RolePolicyAttachment, ...]


def service_role(
    place: Place, name: str, service: str, policies: Sequence[str], opts: pulumi.ResourceOptions
) -> ServiceRole:
    """Make a role for a service of AWS, with policies of AWS by name."""
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": f"{service}.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    role = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
        tags=place.tagged(name),
        opts=opts,
    )
    attached = (
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy}",
            role=role.name,
            policy_arn=f"arn:aws:iam::aws:policy/{policy}",
            opts=opts,
        )
        for policy in policies
    )
    return ServiceRole(resource=role, policies=tuple(attached))


def _statements(repositories: Sequence[str]) -> dict[str, object]:
    """Return the node's own policy; DescribeInstanceTopology knows no single resources."""
    allowed: list[dict[str, object]] = [
        {"Effect": "Allow", "Action": "ec2:DescribeInstanceTopology", "Resource": "*"}
    ]
    for address in sorted(set(repositories)):
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        arn = f"arn:aws:s3:::{bucket}"
        allowed += [
            {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn},
            {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"{arn}/{prefix}*"},
        ]
    return {"Version": "2012-10-17", "Statement": allowed}


def cloud_config(access: Access | None) -> str:
    """Return what cloud-init does at the first boot: let in the keys, and nothing else."""
    content: dict[str, object] = {"disable_root": False, "ssh_pwauth": False}
    if access is not None:
        keys = list(access.public_keys)
        content["ssh_authorized_keys"] = keys
        if access.user != "root":
            content["users"] = ["default", _person(access.user, access.public_keys)]
    return "#cloud-config\n" + yaml.safe_dump(content, sort_keys=True, width=10_000)


def _person(name: str, keys: Sequence[str]) -> dict[str, object]:
    return {
        "name": name,
        "sudo": "ALL=(ALL) NOPASSWD:ALL",
        "shell": "/bin/bash",
        "ssh_authorized_keys": list(keys),
    }


def in_parts(parts: Sequence[tuple[str, str]]) -> str:
    """Join documents, each with its content type, into one user data."""
    message = MIMEMultipart(boundary=_BOUNDARY)
    for kind, text in parts:
        part = MIMENonMultipart(*kind.split("/", 1))
        part.set_payload(text)
        message.attach(part)
    return message.as_string()


def encoded(user_data: str, where: str) -> str:
    """Return user data as EC2 wants it.

    Raises:
        UsageError: it is longer than EC2 takes.

    """
    raw = user_data.encode()
    most = load_aws_stack().user_data.most_bytes
    if len(raw) > most:
        what = f"{len(raw)} bytes of user data; EC2 takes {most}"
        raise UsageError(what, where=where, hint="Give fewer public keys.")
    return base64.b64encode(raw).decode()
