"""A cloud in which all is well for a plan, for tests to break in one place."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

from muster.catalog import InstanceType
from muster.catalog.quotas import load_quotas
from muster.plan.aws.model import FileSystemPlan, PoolPlan
from muster.plan.cloud_view import (
    Bucket,
    CloudView,
    DryRun,
    FileSystem,
    GroupRules,
    Image,
    Instance,
    Interfaces,
    PortRule,
    Reservation,
    Subnet,
    TypeFacts,
    Unread,
    Used,
    Vpc,
)
from muster.plan.permissions import actions_of
from muster.plan.rules.model import View

DENIED = Unread("ec2:Describe is denied", "Allow ec2:Describe to the caller.")
ACCEPTED = DryRun(code="DryRunOperation", message="Request would have succeeded.")
ALL_PORTS = PortRule(
    protocol="all", first=0, last=65535, cidr="", group="sg-0123456789abcdef0", own=True
)
_USAGE = {"onDemand": "on-demand", "spot": "spot", "capacityBlock": "capacity-block"}


def well(found: View, **changes: Any) -> View:
    """Return the view with a cloud where all is well, but for these parts."""
    return replace(found, cloud=replace(good_cloud(found), **changes))


def unread(found: View) -> View:
    """Return the view with a cloud of which nothing could be read."""
    good = good_cloud(found)
    parts = {f.name: _denied(getattr(good, f.name), f.name) for f in fields(good)}
    return replace(found, cloud=CloudView(**parts))


_BY_NAME = {
    "reservations",
    "groups",
    "quotas",
    "images",
    "file_systems",
    "buckets",
    "dry_runs",
}


def _denied(part: Any, name: str) -> Any:
    if name == "region":
        return part
    return dict.fromkeys(part, DENIED) if name in _BY_NAME else DENIED


def good_cloud(found: View) -> CloudView:
    """Return a cloud that has room for all of the plan, and in which nothing runs yet."""
    plan = found.plan
    types = [pool.type for pool in plan.pools] + ([plan.head.type] if plan.head else [])
    nodes = [(pool.name, pool.image) for pool in plan.pools]
    nodes += [("head", plan.head.image)] if plan.head else []
    used = [system for system in plan.file_systems if system.id]
    made = {bucket.name: None for bucket in plan.buckets}
    facts = load_quotas()
    codes = [quota.code for quota in (*facts.vcpus, facts.network_interfaces, *facts.regional)]
    return CloudView(
        region="us-east-2",
        account="123456789012",
        offers={kind.name: frozenset({plan.network.zone_id, "use2-az3"}) for kind in types},
        types={kind.name: type_facts(kind) for kind in types},
        subnet=subnet(),
        vpc=vpc(),
        reservations={pool.capacity.id: reservation(pool) for pool in plan.pools if held(pool)},
        groups={p.capacity.id: ("cr-1",) for p in plan.pools if p.capacity.id.startswith("arn")},
        held={},
        instances=(),
        interfaces=Interfaces(total=10, own=0, own_addresses=0),
        addresses=Used(total=2, own=0),
        vpcs=Used(total=2, own=0),
        stored={},
        quotas=dict.fromkeys(codes, 1_000_000.0),
        images={image: picture() for _, image in nodes if image},
        file_systems={system.id or "": file_system(system) for system in used},
        buckets={**made, "bucket": Bucket(region="us-east-2", own=False)},
        security_groups=(fabric_group(),),
        dry_runs={name: ACCEPTED for name, image in nodes if image},
        decisions=dict.fromkeys(actions_of(plan), "allowed"),
    )


def held(pool: PoolPlan) -> bool:
    """Is it bought in a reservation or a block?"""
    return pool.capacity.buying in {"reservation", "block"}


def type_facts(kind: InstanceType, **changes: Any) -> TypeFacts:
    """Return what the catalog has as if the cloud said it."""
    usual = TypeFacts(
        usage=frozenset(_USAGE[way] for way in kind.purchase or ()),
        network_cards=kind.network_cards or 1,
        efa_interfaces=kind.efa_interfaces or 0,
        strategies=frozenset({"cluster", "partition", "spread"}),
        boot_modes=frozenset(kind.boot_modes or ()),
        arches=frozenset({kind.arch}),
    )
    return replace(usual, **changes)


def reservation(pool: PoolPlan, **changes: Any) -> Reservation:
    """Return an active reservation that the pool fits into."""
    usual = Reservation(
        type=pool.type.name,
        zone_id="use2-az1",
        state="active",
        block=pool.capacity.buying == "block",
        tenancy="default",
        available=pool.size,
        total=pool.size,
        starts=None,
        ends=pool.capacity.ends,
        placement_group="",
    )
    return replace(usual, **changes)


def subnet(**changes: Any) -> Subnet:
    """Return a private subnet with a NAT gateway."""
    usual = Subnet(
        vpc_id="vpc-0123456789abcdef0",
        zone_id="use2-az1",
        cidr="10.0.0.0/17",
        free_addresses=30_000,
        gives_public=False,
        way_out="nat-0123456789abcdef0",
    )
    return replace(usual, **changes)


def vpc(**changes: Any) -> Vpc:
    """Return a VPC with names on and no endpoints."""
    usual = Vpc(
        cidrs=("10.0.0.0/16",),
        taken={},
        dns_support=True,
        dns_hostnames=True,
        internet_gateway=True,
        endpoints=frozenset(),
    )
    return replace(usual, **changes)


def picture(**changes: Any) -> Image:
    """Return an image for x86_64."""
    usual = Image(state="available", arch="x86_64", boot_mode="uefi-preferred", root_gib=64)
    return replace(usual, **changes)


def file_system(system: FileSystemPlan, **changes: Any) -> FileSystem:
    """Return an existing file system that lets the stack's nodes in."""
    usual = FileSystem(
        kind=system.kind,
        lifecycle="available",
        vpc_id="vpc-0123456789abcdef0",
        zone_ids=frozenset({"use2-az1"}),
        efa=system.efa,
        opens=(ALL_PORTS,),
    )
    return replace(usual, **changes)


def fabric_group(**changes: Any) -> GroupRules:
    """Return the stack's own group, as the program makes it."""
    usual = GroupRules(id="sg-0123456789abcdef0", name="test-fabric", self_in=True, self_out=True)
    return replace(usual, **changes)


def node(kind: str = "p5.48xlarge", **changes: Any) -> Instance:
    """Return a running node of pool train."""
    usual = Instance(type=kind, vcpus=192, market="onDemand", pool="train", reservation="")
    return replace(usual, **changes)


def days(found: View, count: float) -> Any:
    """Return a moment so many days from the view's."""
    return found.now + timedelta(days=count)
