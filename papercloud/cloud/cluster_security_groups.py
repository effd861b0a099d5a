"""The security group that EKS makes for each cluster, and takes away with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from moto.core.exceptions import ServiceException

from papercloud.cloud.calls import ticks
from papercloud.cloud.world import World

_DESCRIPTION = "EKS created security group applied to ENI that is attached to EKS Control Plane"


@dataclass
class _Book:
    """The group of each cluster, by the cluster's ARN."""

    by_arn: dict[str, tuple[str, str]] = field(default_factory=dict)


@ticks
def keep_security_groups(world: World) -> None:
    """Let each cluster have its group, and end those of clusters that are gone."""
    book, ec2 = world.state(_Book).by_arn, world.backend("ec2")
    clusters = {one.arn: one for one in tuple(world.backend("eks").clusters.values())}
    for arn, cluster in clusters.items():
        if arn not in book:
            subnets = cluster.resources_vpc_config.get("subnetIds") or []
            if not subnets:
                continue
            vpc = ec2.get_subnet(subnets[0]).vpc_id
            name = f"eks-cluster-sg-{cluster.name}"
            book[arn] = (ec2.create_security_group(name, _DESCRIPTION, vpc_id=vpc).id, vpc)
        group, vpc = book[arn]
        # An update of the cluster's settings replaces them all.
        cluster.resources_vpc_config |= {"clusterSecurityGroupId": group, "vpcId": vpc}
    for arn in set(book) - set(clusters):
        try:
            ec2.delete_security_group(group_id=book[arn][0])
        except ServiceException:
            continue  # something still uses it: it goes later
        del book[arn]
