"""Rules on the network: addresses, interfaces, and no way in from outside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from muster.catalog.quotas import load_quotas
from muster.catalog.storage import load_storage
from muster.findings import Outcome
from muster.plan.aws.model import AwsPlan, FileSystemPlan
from muster.plan.cloud_view import Unread
from muster.plan.rules.model import (
    Rule,
    Said,
    View,
    because,
    failed,
    passed,
    unknown,
    untold,
)
from muster.plan.rules.quotas import against, same


def _no_public_address(view: View) -> Iterator[Said]:
    network = view.plan.network
    if not view.plan.pools:
        return
    if network.subnet_id:
        yield _gives_public(view, network.subnet_id)
    elif network.public_cidr and _overlap(network.public_cidr, network.private_cidr):
        what = f"the public range {network.public_cidr} overlaps that of the nodes"
        yield failed(f"{what}, {network.private_cidr}", "network.cidr", "Use a larger range.")
    else:
        only = "the NAT gateway" if network.public_cidr else "nothing"
        what = f"nodes are in the private {network.private_cidr}; {only} is in a public subnet"
        yield passed(what, "network.cidr")


def _gives_public(view: View, subnet_id: str) -> Said:
    path, found = "network.subnetId", view.cloud.subnet
    if isinstance(found, Unread):
        what = f"whether {subnet_id} gives its nodes public addresses is not known"
        look = f"aws ec2 describe-subnets --subnet-ids {subnet_id}"
        query = "--query 'Subnets[].MapPublicIpOnLaunch'"
        return untold(what, path, f"It must be false: {look} {query}", found)
    if found is None:
        return no_subnet(view)
    if found.gives_public:
        do = "Use a private subnet, or switch this off: aws ec2 modify-subnet-attribute"
        do = f"{do} --subnet-id {subnet_id} --no-map-public-ip-on-launch"
        return failed(f"{subnet_id} gives its nodes public addresses", path, do)
    return passed(f"{subnet_id} gives no public addresses", path)


def no_subnet(view: View) -> Said:
    """Say that the subnet of the spec is not there."""
    what = f"{view.plan.network.subnet_id} does not exist in {view.cloud.region}"
    return failed(what, "network.subnetId", "Correct the id, or aws:region of the stack.")


def _overlap(one: str, other: str) -> bool:
    return IPv4Network(one).overlaps(IPv4Network(other))


@dataclass(frozen=True, slots=True)
class _Use:
    """What takes addresses, and how many; None where no source says."""

    what: str
    addresses: int | None


def _free_addresses(view: View) -> Iterator[Said]:
    network, uses = view.plan.network, tuple(_uses(view.plan))
    if not uses:
        return
    need, open_ends = _sum(uses)
    figures = " + ".join(f"{use.addresses} {use.what}" for use in uses if use.addresses is not None)
    if network.subnet_id:
        free = "--query 'Subnets[].AvailableIpAddressCount'"
        look = f"aws ec2 describe-subnets --subnet-ids {network.subnet_id} {free}"
        what = f"{network.subnet_id} must have {need} free addresses ({figures})"
        more = f", and those of {', '.join(open_ends)}" if open_ends else ""
        do = f"At least {need} are needed, less those of this stack already: {look}"
        open_ = unknown(what + more, "network.subnetId", do)
        yield _free_in(view, need, open_ends, open_)
        return
    reserved = load_quotas().subnet.reserved_addresses
    free_count = IPv4Network(network.private_cidr).num_addresses - reserved
    what = f"{need} addresses ({figures}) of {free_count} free in {network.private_cidr}"
    do = "Give network.cidr a larger range; a subnet cannot be enlarged later."
    if need > free_count:
        yield failed(what, "network.cidr", do)
    elif open_ends:
        names = ", ".join(open_ends)
        do = "Count them, give network.cidr room to spare, and waive this rule."
        yield unknown(f"{what}; no source says how many {names} take", "network.cidr", do)
    else:
        yield passed(what, "network.cidr")


def _free_in(view: View, need: int, open_ends: tuple[str, ...], open_: Said) -> Said:
    """Judge an existing subnet; what this stack has in it is not wanted twice."""
    path, found, mine = open_.path, view.cloud.subnet, view.cloud.interfaces
    if found is None:
        return no_subnet(view)
    if isinstance(found, Unread):
        return because(open_, found)
    if isinstance(mine, Unread):
        return because(open_, mine)
    room = found.free_addresses + mine.own_addresses
    what = f"{open_.what}; {found.free_addresses} are free, {mine.own_addresses} are this stack's"
    if need > room:
        return failed(what, path, "Use a larger subnet; a subnet cannot be enlarged later.")
    if open_ends:
        return unknown(what, path, "Count them, leave room to spare, and waive this rule.")
    return passed(what, path)


def _sum(uses: tuple[_Use, ...]) -> tuple[int, tuple[str, ...]]:
    """Add up what is known, and name what is not."""
    known = sum(use.addresses or 0 for use in uses)
    return known, tuple(use.what for use in uses if use.addresses is None)


def _uses(plan: AwsPlan) -> Iterator[_Use]:
    """All that takes addresses in the nodes' subnet."""
    for pool in plan.pools:
        yield _Use(pool.name, pool.size * pool.addresses)
    if plan.head:
        yield _Use("head", 1)
    yield from _beside_nodes(plan)


def _beside_nodes(plan: AwsPlan) -> Iterator[_Use]:
    for found in plan.file_systems:
        if found.is_new:
            yield _Use(found.mount, _addresses_of(found))
    if plan.network.internet == "endpoints":
        yield _Use("endpoints", len(load_quotas().endpoints.services))
    if plan.kubernetes:
        yield _Use("the EKS control plane and pods", None)


def _addresses_of(found: FileSystemPlan) -> int | None:
    """Addresses of a file system of this stack; None where no source says."""
    if found.kind == "efs":
        return load_quotas().efs.addresses
    if found.kind != "fsxLustre":
        return None
    storage = _storage_servers(found)
    return None if storage is None else storage + _metadata_servers(found)


def _storage_servers(found: FileSystemPlan) -> int | None:
    limits = load_quotas().lustre
    if found.deployment == "intelligentTiering":
        return _servers(found.throughput, limits.tiering_mbps_per_server)
    if not found.efa:
        return _servers(found.capacity_gib, limits.gib_per_server)
    steps = load_storage().fsx_lustre[found.deployment or "persistent2"].efa_step_gib
    return _servers(found.capacity_gib, steps.get(found.throughput or 0))


def _metadata_servers(found: FileSystemPlan) -> int:
    limits = load_quotas().lustre
    if found.deployment == "scratch2":
        return 1
    by_iops = _servers(found.metadata_iops, limits.metadata_iops_per_server)
    by_itself = _servers(found.capacity_gib, limits.automatic_gib_per_metadata_server)
    return by_iops or by_itself or 1


def _servers(amount: int | None, each: int | None) -> int | None:
    return math.ceil(amount / each) if amount and each else None


def _interface_quota(view: View) -> Iterator[Said]:
    plan, quota = view.plan, load_quotas().network_interfaces
    nodes = sum(pool.size * len(pool.interfaces) for pool in plan.pools) + bool(plan.head)
    others, open_ends = _sum(tuple(_beside_nodes(plan)))
    need = nodes + others
    if not need:
        return
    at_least = "at least " if open_ends else ""
    what = f"{at_least}{need} network interfaces; {quota.default} is a region's quota by default"
    do = f"The quota must be that much above what is in use: {quota.command}"
    path, found = "pools" if plan.pools else "storage", view.cloud.interfaces
    total = found if isinstance(found, Unread) else same(found.total - found.own + need)
    said = against(view, quota, total, unknown(what, path, do))
    if said.outcome is Outcome.PASS and open_ends:
        do = "Count them, and waive this rule if there is room."
        said = unknown(
            f"{said.what}; no source says how many {', '.join(open_ends)} take", path, do
        )
    yield said


RULES: tuple[Rule, ...] = (
    Rule(
        id="no-public-address",
        title="No node has a public address",
        source="EC2 user guide, Elastic Fabric Adapter (several interfaces exclude it)",
        ask=_no_public_address,
    ),
    Rule(
        id="free-addresses",
        title="The subnet has addresses for all nodes, the head and the file systems",
        source="VPC user guide, subnet sizing; FSx for Lustre user guide, IP addresses",
        ask=_free_addresses,
    ),
    Rule(
        id="interface-quota",
        title="The region's quota holds the network interfaces of all nodes",
        source="Service Quotas, VPC",
        ask=_interface_quota,
    ),
)
