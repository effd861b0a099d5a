"""From a checked spec to the plan of an AWS stack. Pure."""

from __future__ import annotations

import ipaddress
from datetime import datetime

from muster.catalog import Catalog
from muster.errors import UsageError
from muster.plan.aws.interfaces import interfaces_of
from muster.plan.aws.model import (
    AwsPlan,
    CapacityPlan,
    FileSystemPlan,
    HeadPlan,
    NetworkPlan,
    PoolPlan,
)
from muster.spec import Capacity, ClusterSpec, Head, Network, Pool, Storage

_SMALL_PREFIX = 28
"""The smallest subnet that a VPC takes; for a NAT gateway, or EKS's own interfaces."""


def plan_aws(spec: ClusterSpec, catalog: Catalog, stack: str) -> AwsPlan:
    """Turn a parsed spec with target aws into what the stack is made of.

    Raises:
        UsageError: the spec is of another target, or asks for interfaces that a type cannot have.

    """
    if spec.target != "aws" or spec.network is None:
        raise UsageError(f"target is {spec.target}", where=stack, hint="Only aws is planned here.")
    return AwsPlan(
        stack=stack,
        scheduler=spec.scheduler,
        network=_network(spec.network, eks=spec.scheduler == "kubernetes"),
        pools=tuple(_pool(n, pool, spec, catalog) for n, pool in enumerate(spec.pools)),
        head=_head(spec, catalog),
        file_systems=tuple(_file_system(storage) for storage in spec.storage),
        buckets=spec.buckets,
        kubernetes=spec.kubernetes,
        access=spec.access,
        tags=dict(spec.tags),
    )


def _network(wish: Network, *, eks: bool) -> NetworkPlan:
    if eks and wish.subnet_id:
        what = f"{wish.subnet_id} is in one zone, and EKS needs subnets in two"
        hint = "Leave it out; with vpcId the stack makes both subnets in that VPC."
        raise UsageError(what, where="muster:cluster.network.subnetId", hint=hint)
    public = wish.subnet_id is None and wish.internet == "nat"
    if not public and not eks:
        return _made_of(wish, wish.cidr)
    private_cidr, public_cidr, control_cidr = _split(wish.cidr)
    if eks and control_cidr is None:
        raise _too_small(wish.cidr, "the two subnets of EKS", "Use a /26 or larger.")
    return _made_of(
        wish,
        private_cidr,
        public_cidr=public_cidr if public else None,
        control_cidr=control_cidr if eks else None,
    )


def _made_of(
    wish: Network,
    private_cidr: str,
    public_cidr: str | None = None,
    control_cidr: str | None = None,
) -> NetworkPlan:
    return NetworkPlan(
        zone_id=wish.zone_id,
        cidr=wish.cidr,
        private_cidr=private_cidr,
        public_cidr=public_cidr,
        vpc_id=wish.vpc_id,
        subnet_id=wish.subnet_id,
        internet=wish.internet,
        control_cidr=control_cidr,
    )


def _too_small(cidr: str, need: str, hint: str) -> UsageError:
    return UsageError(
        f"{cidr} is too small for {need}", where="muster:cluster.network.cidr", hint=hint
    )


def _split(cidr: str) -> tuple[str, str, str | None]:
    """Give the lower half of a range to the nodes, and the last /28s of the rest to other subnets.

    A subnet cannot be enlarged later, and a range cannot be two: half is what is left whole.
    """
    whole = ipaddress.IPv4Network(cidr)
    if whole.prefixlen >= _SMALL_PREFIX:
        hint = "Use a /27 or larger, or internet: endpoints."
        raise _too_small(cidr, "a private and a public subnet", hint)
    lower, upper = whole.subnets()
    *others, last = upper.subnets(new_prefix=_SMALL_PREFIX)
    return str(lower), str(last), str(others[-1]) if others else None


def _pool(number: int, pool: Pool, spec: ClusterSpec, catalog: Catalog) -> PoolPlan:
    found = catalog.instance_type(pool.type)
    where = f"muster:cluster.pools[{number}]"
    interfaces = interfaces_of(found, pool.interfaces, where=where)
    capacity = _capacity(pool.capacity)
    fabric = any(interface.kind != "interface" for interface in interfaces)
    # A Capacity Block is one cluster already, and a group on top of it finds no capacity.
    clustered = fabric and capacity.buying != "block"
    return PoolPlan(
        name=pool.name,
        type=found,
        count=pool.count,
        spares=pool.spares,
        capacity=capacity,
        interfaces=interfaces,
        placement=pool.placement or ("cluster" if clustered else None),
        image=pool.image or spec.image,
        root_gib=pool.root_gib,
    )


def _capacity(wish: Capacity | None) -> CapacityPlan:
    if wish is None or wish.on_demand:
        return CapacityPlan(buying="onDemand")
    if wish.spot:
        return CapacityPlan(buying="spot")
    if wish.reservation:
        return CapacityPlan(buying="reservation", id=wish.reservation)
    if wish.resource_group:
        return CapacityPlan(buying="resourceGroup", id=wish.resource_group)
    ends = datetime.fromisoformat(wish.ends) if wish.ends else None
    return CapacityPlan(buying="block", id=wish.block or "", ends=ends)


def _head(spec: ClusterSpec, catalog: Catalog) -> HeadPlan | None:
    if spec.scheduler != "slurm" or not spec.pools:
        return None
    head = spec.head or Head()
    return HeadPlan(
        type=catalog.instance_type(head.type),
        image=head.image or spec.image,
        root_gib=head.root_gib,
    )


def _file_system(wish: Storage) -> FileSystemPlan:
    if wish.kind == "labDirectory":
        raise UsageError("labDirectory needs target lab", where=f"muster:cluster: {wish.mount}")
    deployment = wish.deployment or "persistent2" if wish.kind == "fsxLustre" else None
    return FileSystemPlan(
        mount=wish.mount,
        kind=wish.kind,
        id=wish.id,
        deployment=deployment,
        capacity_gib=wish.capacity_gib,
        throughput=wish.throughput,
        metadata_iops=wish.metadata_iops,
        efa=wish.efa,
        data_repository=wish.import_,
        export=wish.export,
    )
