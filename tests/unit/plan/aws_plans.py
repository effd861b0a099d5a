"""Plans of AWS stacks for tests, built by hand."""

from __future__ import annotations

from typing import Any

from muster.catalog import load_catalog
from muster.plan.aws.model import (
    AwsPlan,
    Buying,
    CapacityPlan,
    FileSystemPlan,
    HeadPlan,
    Interface,
    NetworkPlan,
    PoolPlan,
)

NETWORK = {
    "zone_id": "use1-az1",
    "cidr": "10.0.0.0/16",
    "private_cidr": "10.0.0.0/17",
    "public_cidr": None,
    "vpc_id": None,
    "subnet_id": None,
    "internet": "nat",
}
LUSTRE = {
    "mount": "/fsx",
    "kind": "fsxLustre",
    "id": None,
    "deployment": "persistent2",
    "capacity_gib": 48000,
    "throughput": 500,
    "metadata_iops": 12000,
    "efa": True,
    "data_repository": None,
    "export": False,
}


def plan(*pools: PoolPlan, **changes: Any) -> AwsPlan:
    """Return a stack of these pools and nothing else, in us-east-1, with what a test changes."""
    nothing = {
        "stack": "train",
        "scheduler": "slurm",
        "network": network(),
        "head": None,
        "file_systems": (),
        "buckets": (),
        "kubernetes": None,
        "access": None,
    }
    return AwsPlan(**{**nothing, "pools": pools, **changes})


def pool(
    kind: str = "p5.48xlarge", buying: Buying = "onDemand", *, count: int = 2, spares: int = 0
) -> PoolPlan:
    """Return a pool named after how it is bought."""
    return PoolPlan(
        name=buying.lower(),
        type=load_catalog().instance_type(kind),
        count=count,
        spares=spares,
        capacity=CapacityPlan(buying=buying),
        interfaces=(Interface(card=0, device=0, kind="interface"),),
        placement=None,
        image=None,
        root_gib=200,
    )


def network(**changes: Any) -> NetworkPlan:
    """Return a network without a NAT gateway."""
    return NetworkPlan(**{**NETWORK, **changes})


def head(kind: str = "m7i.2xlarge") -> HeadPlan:
    """Return a head node of a type."""
    return HeadPlan(type=load_catalog().instance_type(kind), image=None, root_gib=200)


def lustre(**changes: Any) -> FileSystemPlan:
    """Return an FSx for Lustre with a known price."""
    return FileSystemPlan(**{**LUSTRE, **changes})
