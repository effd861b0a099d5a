"""An AWS stack as data: what the program builds, what rules judge and what is priced."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from muster.catalog import InstanceType
from muster.spec import Access, Bucket, Kubernetes

InterfaceKind = Literal["interface", "efa", "efa-only"]
"""EC2's interface types; only the first two have an address."""
Buying = Literal["onDemand", "spot", "reservation", "resourceGroup", "block"]

PRIVATE_RANGES = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
"""Addresses that no one on the internet has (RFC 1918)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of an instance, where it sits and what it is."""

    card: int
    """EC2's NetworkCardIndex."""
    device: int
    """EC2's DeviceIndex."""
    kind: InterfaceKind


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityPlan:
    """How the instances of a pool are bought; `id` is that of a reservation, block or group."""

    buying: Buying
    id: str = ""
    ends: datetime | None = None
    """When a Capacity Block ends, where the spec says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolPlan:
    """Instances of one type bought one way: one set of cloud resources."""

    name: str
    type: InstanceType
    count: int
    spares: int
    capacity: CapacityPlan
    interfaces: tuple[Interface, ...]
    placement: Literal["cluster", "partition", "spread"] | None
    """Strategy of its placement group; None for no group."""
    image: str | None
    root_gib: int

    @property
    def size(self) -> int:
        """Instances with spares."""
        return self.count + self.spares

    @property
    def has_fabric(self) -> bool:
        """Do its nodes talk over EFA?"""
        return any(interface.kind != "interface" for interface in self.interfaces)

    @property
    def addresses(self) -> int:
        """Private IPv4 addresses of one instance."""
        return sum(interface.kind != "efa-only" for interface in self.interfaces)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkPlan:
    """Where the nodes are; a `None` id is made by the stack."""

    zone_id: str
    cidr: str
    """Range of a new VPC."""
    private_cidr: str
    """Range of a new private subnet, with all nodes."""
    public_cidr: str | None
    """Range of a new public subnet, with nothing but the NAT gateway."""
    vpc_id: str | None
    subnet_id: str | None
    internet: Literal["nat", "endpoints"]
    control_cidr: str | None = None
    """Range of a new subnet in a second zone, which EKS wants for its control plane."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadPlan:
    """The node that runs the scheduler."""

    type: InstanceType
    image: str | None
    root_gib: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystemPlan:
    """A shared file system; with an `id` it exists and is only mounted."""

    mount: str
    kind: Literal["fsxLustre", "fsxOpenZfs", "efs", "localNvme"]
    id: str | None
    deployment: Literal["scratch2", "persistent2", "intelligentTiering"] | None
    """Of FSx for Lustre."""
    capacity_gib: int | None
    throughput: int | None
    """MB/s per TiB for fsxLustre persistent2, else MB/s in all."""
    metadata_iops: int | None
    efa: bool
    data_repository: str | None
    """s3://bucket/prefix that fills it."""
    export: bool

    @property
    def is_new(self) -> bool:
        """Is it made, and paid, by this stack?"""
        return self.id is None and self.kind != "localNvme"


@dataclass(frozen=True, kw_only=True, slots=True)
class AwsPlan:
    """A whole stack on AWS."""

    stack: str
    scheduler: Literal["slurm", "kubernetes"]
    network: NetworkPlan
    pools: tuple[PoolPlan, ...]
    head: HeadPlan | None
    """None where no scheduler of ours runs: Kubernetes, or a stack of nothing but storage."""
    file_systems: tuple[FileSystemPlan, ...]
    buckets: tuple[Bucket, ...]
    kubernetes: Kubernetes | None
    access: Access | None
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def ssh_from(self) -> tuple[str, ...]:
        """Ranges that may open SSH: private ones where access is direct, else none."""
        direct = self.access is not None and self.access.via == "direct"
        return PRIVATE_RANGES if direct else ()

    @property
    def images(self) -> frozenset[str]:
        """Images that nodes boot."""
        booted = (*self.pools, *((self.head,) if self.head else ()))
        return frozenset(one.image for one in booted if one.image)

    @property
    def nodes(self) -> int:
        """Instances of all pools, without the head."""
        return sum(pool.size for pool in self.pools)
