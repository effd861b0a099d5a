"""Rules on a network that exists: it fits the plan, nodes get out, the fabric's group lets them."""

from __future__ import annotations

from collections.abc import Iterator

from muster.catalog.quotas import load_quotas
from muster.plan.cloud_view import Subnet, Unread, Vpc
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown, untold
from muster.plan.rules.network import no_subnet

_NAT = ("nat-", "tgw-", "vgw-", "lgw-", "eni-", "i-", "core-network")
"""What a private subnet's default route may point at: NAT, or a network that has one."""


def network_agrees(view: View) -> Iterator[Said]:
    """An existing VPC and subnet are where the spec says, and new ranges find room in the VPC."""
    wish, vpc = view.plan.network, view.cloud.vpc
    if wish.vpc_id is None or (isinstance(vpc, Unread) and not vpc.asked):
        return
    if isinstance(vpc, Unread):
        do = f"See: aws ec2 describe-vpcs --vpc-ids {wish.vpc_id}"
        yield untold(f"what {wish.vpc_id} is like is not known", "network.vpcId", do, vpc)
        return
    if vpc is None:
        what = f"{wish.vpc_id} does not exist in {view.cloud.region}"
        yield failed(what, "network.vpcId", "Correct the id, or aws:region of the stack.")
        return
    yield _resolves_names(wish.vpc_id, vpc)
    yield _subnet_agrees(view) if wish.subnet_id else _ranges_fit(view, vpc)
    if wish.public_cidr and not vpc.internet_gateway:
        what = f"{wish.vpc_id} has no internet gateway, which the stack's NAT gateway needs"
        do = "Attach one, or set internet: endpoints."
        yield failed(what, "network.vpcId", do)


def _resolves_names(vpc_id: str, vpc: Vpc) -> Said:
    """File systems and endpoints are found by names that only the VPC's own resolver knows."""
    off = [
        name
        for name, on in (
            ("enableDnsSupport", vpc.dns_support),
            ("enableDnsHostnames", vpc.dns_hostnames),
        )
        if not on
    ]
    path = "network.vpcId"
    if not off:
        return passed(f"{vpc_id} resolves the names of file systems and endpoints", path)
    flag = {"enableDnsSupport": "--enable-dns-support"}.get(off[0], "--enable-dns-hostnames")
    do = f"Switch it on: aws ec2 modify-vpc-attribute --vpc-id {vpc_id} {flag}"
    return failed(f"{vpc_id}: {' and '.join(off)} off; nodes find no file system", path, do)


def _subnet_agrees(view: View) -> Said:
    wish, found, path = view.plan.network, view.cloud.subnet, "network.subnetId"
    if isinstance(found, Unread):
        do = f"See: aws ec2 describe-subnets --subnet-ids {wish.subnet_id}"
        return untold(f"where {wish.subnet_id} is is not known", path, do, found)
    if found is None:
        return no_subnet(view)
    if found.vpc_id != wish.vpc_id:
        do = f"Set network.vpcId to {found.vpc_id}, or use another subnet."
        return failed(f"{wish.subnet_id} is in {found.vpc_id}, not {wish.vpc_id}", path, do)
    if found.zone_id != wish.zone_id:
        do = f"Set network.zoneId to {found.zone_id}, or use another subnet."
        return failed(f"{wish.subnet_id} is in {found.zone_id}, not {wish.zone_id}", path, do)
    return passed(f"{wish.subnet_id} is in {found.vpc_id} and {found.zone_id}", path)


def _ranges_fit(view: View, vpc: Vpc) -> Said:
    wish, path = view.plan.network, "network.cidr"
    wanted = [c for c in (wish.private_cidr, wish.public_cidr, wish.control_cidr) if c]
    outside = [cidr for cidr in wanted if not vpc.holds(cidr)]
    taken = sorted({other for cidr in wanted for other in vpc.collisions(cidr)})
    if outside:
        what = f"{', '.join(outside)} is outside of {wish.vpc_id}, which has {', '.join(vpc.cidrs)}"
        return failed(what, path, "Give network.cidr a range within it.")
    if taken:
        what = f"{' and '.join(wanted)} would overlap subnets of others: {', '.join(taken)}"
        return failed(what, path, "Give network.cidr a range that is free, or name a subnet.")
    return passed(f"{' and '.join(wanted)} are free in {wish.vpc_id}", path)


def nodes_get_out(view: View) -> Iterator[Said]:
    """Nodes in an existing subnet reach the cloud's services: through NAT, or endpoints."""
    subnet, path = view.cloud.subnet, "network.subnetId"
    if view.plan.network.subnet_id is None or not view.plan.pools:
        return
    if isinstance(subnet, Unread):
        if subnet.asked:
            do = "Its default route must lead to a NAT gateway, or its VPC have endpoints."
            yield untold("whether nodes reach the cloud's services is not known", path, do, subnet)
    elif subnet is None:
        yield no_subnet(view)
    else:
        yield _way_out(view, subnet)


def _way_out(view: View, subnet: Subnet) -> Said:
    path, out = "network.subnetId", subnet.way_out
    if out.startswith(_NAT):
        return passed(f"nodes get out through {out}", path)
    if out.startswith("igw-"):
        what = f"the default route is to {out}, which serves only public addresses; nodes have none"
        return failed(what, path, "Use a subnet whose default route is to a NAT gateway.")
    vpc, wanted = view.cloud.vpc, load_quotas().endpoints.services
    if out:
        do = "See where it leads; waive the rule if nodes reach AWS that way."
        return unknown(f"the default route is to {out}, whose way out is not known", path, do)
    if isinstance(vpc, Unread):
        return untold("there is no default route", path, "Look for endpoints in the VPC.", vpc)
    missing = [name for name in wanted if vpc is None or name not in vpc.endpoints]
    if missing:
        what = f"no default route, and no endpoints of {', '.join(missing)}"
        return failed(what, path, "Add a route to a NAT gateway, or these endpoints to the VPC.")
    return passed("no default route, and endpoints of all services that nodes need", path)


def fabric_group_lets_itself(view: View) -> Iterator[Said]:
    """The stack's group for EFA lets all of itself in and out; EFA takes no range instead.

    Before a first `up` there is no group, and nothing to say: the program makes it so.
    """
    if not any(pool.has_fabric for pool in view.plan.pools):
        return
    groups = view.cloud.security_groups
    if isinstance(groups, Unread):
        if groups.asked:
            do = "See: aws ec2 describe-security-groups --filters Name=tag:muster:stack,Values="
            what = "whether the fabric's security group was changed is not known"
            yield untold(what, "pools", f"{do}{view.plan.stack}", groups)
        return
    if not groups:
        return
    good = [group for group in groups if group.self_in and group.self_out]
    if good:
        yield passed(f"{good[0].name} lets all of itself in and out", "pools")
    else:
        names = ", ".join(f"{group.name} ({group.id})" for group in groups)
        what = f"no group of the stack lets all of itself in and out, so EFA is blocked: {names}"
        yield failed(what, "pools", "Put the rules back: `muster up` with a refresh does.")


_EFA = "EC2 user guide, Elastic Fabric Adapter"

RULES: tuple[Rule, ...] = (
    Rule(
        id="network-agrees",
        title="An existing VPC and subnet are where the spec says, and resolve names",
        source="EC2 API, DescribeSubnets and DescribeVpcAttribute; VPC user guide, DNS attributes",
        ask=network_agrees,
    ),
    Rule(
        id="way-out",
        title="Nodes in an existing subnet reach the cloud's services",
        source="VPC user guide, route tables; endpoints in catalog/quotas.yaml",
        ask=nodes_get_out,
    ),
    Rule(
        id="fabric-group",
        title="The fabric's security group lets all of itself in and out",
        source=_EFA,
        ask=fabric_group_lets_itself,
    ),
)
