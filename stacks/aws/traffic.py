"""Security groups and what may flow between them, each rule a resource of its own.

Rules inside a group and rules beside it undo each other at every `up`, so all stand beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from stacks.aws.place import Place

ALL = "-1"
"""Every protocol and port: the only rule that EFA accepts."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A security group; the names of its rules begin with its word."""

    word: str
    resource: aws.ec2.SecurityGroup

    @property
    def id(self) -> pulumi.Output[str]:
        """Its id in AWS."""
        found: pulumi.Output[str] = self.resource.id
        return found


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What flows: a protocol, and ports where it has them."""

    protocol: str = ALL
    first: int | None = None
    last: int | None = None

    @classmethod
    def parse(cls, protocol: str, text: str) -> Ports:
        """Read `988` or `1018-1023`."""
        first, _, last = text.partition("-")
        return cls(protocol=protocol, first=int(first), last=int(last or first))

    def __str__(self) -> str:
        """Name them as a part of a resource's name."""
        if self.first is None:
            return "all"
        return f"{self.protocol}-{self.first}"


def new_group(
    place: Place, word: str, about: str, vpc_id: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> Group:
    """Make a group that lets nothing in or out."""
    name = place.name(word)
    resource = aws.ec2.SecurityGroup(
        name,
        vpc_id=vpc_id,
        description=about,
        revoke_rules_on_delete=True,
        tags=place.tagged(name),
        opts=opts,
    )
    return Group(word=word, resource=resource)


def let_flow(
    place: Place, source: Group, target: Group, ports: Iterable[Ports], opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Let the members of one group open connections to those of another, or of the same.

    Returns the rules, for what must not be made before they hold.
    """
    rules: list[pulumi.Resource] = []
    for port in ports:
        name = place.name(source.word, "to", target.word, str(port))
        shape = {"ip_protocol": port.protocol, "from_port": port.first, "to_port": port.last}
        come_in = aws.vpc.SecurityGroupIngressRule(
            name,
            security_group_id=target.id,
            referenced_security_group_id=source.id,
            description=f"from {source.word}",
            tags=place.tagged(name),
            opts=opts,
            **shape,
        )
        go_out = aws.vpc.SecurityGroupEgressRule(
            name,
            security_group_id=source.id,
            referenced_security_group_id=target.id,
            description=f"to {target.word}",
            tags=place.tagged(name),
            opts=opts,
            **shape,
        )
        rules += [come_in, go_out]
    return rules


def let_out(place: Place, group: Group, opts: pulumi.ResourceOptions) -> None:
    """Let the members of a group open any connection."""
    name = place.name(group.word, "out")
    aws.vpc.SecurityGroupEgressRule(
        name,
        security_group_id=group.id,
        cidr_ipv4="0.0.0.0/0",
        ip_protocol=ALL,
        description="anywhere",
        tags=place.tagged(name),
        opts=opts,
    )


def let_in(
    place: Place, group: Group, cidr: str, ports: Ports, opts: pulumi.ResourceOptions
) -> None:
    """Let a range of private addresses open connections to the members of a group."""
    name = place.name(group.word, "from", cidr.replace("/", "-"))
    aws.vpc.SecurityGroupIngressRule(
        name,
        security_group_id=group.id,
        cidr_ipv4=cidr,
        ip_protocol=ports.protocol,
        from_port=ports.first,
        to_port=ports.last,
        description=f"from {cidr}",
        tags=place.tagged(name),
        opts=opts,
    )
