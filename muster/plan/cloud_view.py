"""What was read in the cloud for a plan: each part is a value, or says why it is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network
from typing import Literal, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Unread:
    """A part that was not read; an empty `why` means that nobody asked, as with --offline."""

    why: str
    do: str = ""
    """What lets it be read the next time."""

    @property
    def asked(self) -> bool:
        """Was the cloud asked at all?"""
        return bool(self.why)


NOT_ASKED = Unread("")


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeFacts:
    """An instance type as the cloud describes it today."""

    usage: frozenset[str]
    """How it is sold: on-demand, spot, capacity-block."""
    network_cards: int
    efa_interfaces: int
    """0 without EFA."""
    strategies: frozenset[str]
    """Placement groups that take it."""
    boot_modes: frozenset[str]
    arches: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Subnet:
    """An existing subnet."""

    vpc_id: str
    zone_id: str
    cidr: str
    free_addresses: int
    gives_public: bool
    """Do new instances in it get public addresses?"""
    way_out: str
    """Target of its default route, as nat-0123; empty for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vpc:
    """An existing VPC."""

    cidrs: tuple[str, ...]
    taken: Mapping[str, bool]
    """Range of each subnet, and whether this stack made it."""
    dns_support: bool
    dns_hostnames: bool
    internet_gateway: bool
    endpoints: frozenset[str]
    """Services with an endpoint in it, by the last part of their names."""

    def holds(self, cidr: str) -> bool:
        """Does the range lie within one of the VPC's?"""
        return any(IPv4Network(cidr).subnet_of(IPv4Network(whole)) for whole in self.cidrs)

    def collisions(self, cidr: str) -> Iterator[str]:
        """Name the subnets of others that overlap the range."""
        for taken, own in self.taken.items():
            if not own and IPv4Network(cidr).overlaps(IPv4Network(taken)):
                yield taken


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """An on-demand capacity reservation or a Capacity Block."""

    type: str
    zone_id: str
    state: str
    block: bool
    tenancy: str
    available: int
    total: int
    starts: datetime | None
    ends: datetime | None
    placement_group: str
    """ARN of the group that it is in; empty for none."""
    own_group: bool | None = False
    """Did this stack make that group? None where that was not read."""
    shared: bool = False
    """Does it belong to another account?"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """An instance that runs or starts in the region."""

    type: str
    vcpus: int | None
    market: Literal["onDemand", "spot", "block"]
    pool: str
    """Pool of this stack; empty for an instance of others."""
    reservation: str
    """Reservation that it runs in; empty for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interfaces:
    """Network interfaces of the region."""

    total: int
    own: int
    """Those of this stack's nodes, file systems and endpoints."""
    own_addresses: int
    """Private addresses of these in the nodes' subnet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A machine image."""

    state: str
    arch: str
    boot_mode: str
    """Empty where the image leaves it to the type."""
    root_gib: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PortRule:
    """What a security group lets in; `tcp` and `udp` alike where protocol is all."""

    protocol: Literal["tcp", "udp", "all"]
    first: int
    last: int
    cidr: str
    """Range that may come in; empty where `group` may."""
    group: str
    own: bool
    """Is `group` one that this stack made?"""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileSystem:
    """A file system of FSx or EFS."""

    kind: str
    """As in a spec, or the cloud's own word for another."""
    lifecycle: str
    vpc_id: str
    zone_ids: frozenset[str]
    efa: bool
    opens: tuple[PortRule, ...] | Unread
    """What the security groups of its interfaces let in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """A bucket that exists."""

    region: str
    own: bool
    """Did this stack make it?"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRules:
    """A security group that this stack made: does it let all of itself in and out?"""

    id: str
    name: str
    self_in: bool
    self_out: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRun:
    """What EC2 answered to a launch that it only checks."""

    code: str
    """DryRunOperation where the launch would have been tried."""
    message: str

    @property
    def accepted(self) -> bool:
        """Would EC2 have tried it?"""
        return self.code == "DryRunOperation"


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """How much of a thing the region has, and how much of that is this stack's."""

    total: int
    own: int

    @classmethod
    def none(cls) -> Used:
        """Return nothing used."""
        return cls(total=0, own=0)


Known = Mapping[_Key, _Value | Unread | None]
"""What exists under an id; None where the cloud says that nothing does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudView:
    """All that was read. The default is a cloud that nobody asked."""

    region: str = ""
    account: str | Unread = NOT_ASKED
    offers: Mapping[str, frozenset[str]] | Unread = NOT_ASKED
    """Zones of the region that offer each type."""
    types: Mapping[str, TypeFacts] | Unread = NOT_ASKED
    subnet: Subnet | Unread | None = NOT_ASKED
    """The subnet that the spec names."""
    vpc: Vpc | Unread | None = NOT_ASKED
    """The VPC that the spec names."""
    reservations: Known[str, Reservation] = field(default_factory=dict)
    groups: Known[str, tuple[str, ...]] = field(default_factory=dict)
    """Reservations in each resource group."""
    held: Mapping[str, Reservation] | Unread = NOT_ASKED
    """All active reservations that this account can use."""
    instances: tuple[Instance, ...] | Unread = NOT_ASKED
    interfaces: Interfaces | Unread = NOT_ASKED
    addresses: Used | Unread = NOT_ASKED
    """Elastic IP addresses."""
    vpcs: Used | Unread = NOT_ASKED
    stored: Mapping[str, Used] | Unread = NOT_ASKED
    """What file systems take of each quota on FSx, by its code."""
    quotas: Mapping[str, float | Unread] = field(default_factory=dict)
    """What the account was granted, by the quota's code."""
    images: Known[str, Image] = field(default_factory=dict)
    file_systems: Known[str, FileSystem] = field(default_factory=dict)
    buckets: Known[str, Bucket] = field(default_factory=dict)
    security_groups: tuple[GroupRules, ...] | Unread = NOT_ASKED
    """Those that this stack made."""
    dry_runs: Mapping[str, DryRun | Unread] = field(default_factory=dict)
    """By pool; the head is `head`."""
    decisions: Mapping[str, str] | Unread = NOT_ASKED
    """What IAM's simulator says of each action that `up` needs, as allowed or implicitDeny."""

    def own_nodes(self, reservation: str) -> int | Unread:
        """Count the nodes of this stack that run in a reservation."""
        if isinstance(self.instances, Unread):
            return self.instances
        return sum(bool(i.pool) and i.reservation == reservation for i in self.instances)


NOTHING_ASKED = CloudView()


def is_asked(part: object) -> bool:
    """Was the cloud asked for a part, whether it answered or not?"""
    return not isinstance(part, Unread) or part.asked


def look_up(known: Known[str, _Value], name: str) -> _Value | Unread | None:
    """Return what exists under an id; what was not asked for is unread, not absent."""
    return known.get(name, NOT_ASKED)
