"""What a fleet on AWS should be, and the document that follows from what is there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.catalog import Catalog, InstanceType
from muster.fabric.placement import Place
from muster.fleet import Fleet, Mount, Node, Rail, SshAccess

HEAD = "head"
"""Name and pool of the node that runs the scheduler."""


class _Wish(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class PoolWish(_Wish):
    """A pool, and the Auto Scaling group that its instances are in."""

    name: str
    type: str
    size: int = Field(ge=0)
    count: int = Field(ge=0)
    """Nodes that must be there; those above it are spares."""
    group: str


class HeadWish(_Wish):
    """The head, by its instance's id."""

    instance: str
    type: str


class AccessWish(_Wish):
    """How nodes are reached."""

    user: str
    key_file: str
    via: Literal["direct", "sessionManager"]


class StorageWish(_Wish):
    """A shared file system, by its id or DNS name, which begins with the id."""

    mount: str
    kind: Literal["fsxLustre", "fsxOpenZfs", "efs"]
    address: str

    @property
    def id(self) -> str:
        """Return its id."""
        return self.address.partition(".")[0]


class FleetWish(_Wish):
    """A whole fleet."""

    stack: str
    region: str
    zone_id: str
    pools: tuple[PoolWish, ...]
    head: HeadWish | None
    access: AccessWish
    launched: dict[str, str]
    """Launch template and version by pool."""
    storage: tuple[StorageWish, ...] = ()
    """File systems that every machine has; through the first one nodes exchange files."""
    software: str = ""
    """Row of the version matrix; empty where the image has all that is needed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CloudInterface:
    """A network interface of an instance, as the cloud describes it."""

    card: int
    device: int
    address: str
    """Private IPv4; empty where it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """An instance, as the cloud describes it."""

    id: str
    state: str
    """EC2's word: pending, running, shutting-down, stopped ..."""
    launched: str
    """ISO 8601 in UTC; a stop and a start give a new time."""
    address: str
    interfaces: tuple[CloudInterface, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def boot(self) -> str:
        """Changes whenever the node is another machine or was started again."""
        return f"{self.id}:{self.launched}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """A node that is there, with all that has to be known of it."""

    name: str
    pool: str
    type: str
    instance: Instance
    host_key: str
    place: Place | None = None


def fleet_of(
    wish: FleetWish,
    head: Arrived,
    nodes: tuple[Arrived, ...],
    catalog: Catalog,
    *,
    known_hosts_file: str,
    mounts: tuple[Mount, ...],
) -> Fleet:
    """Write the fleet's document."""
    access = wish.access
    return Fleet(
        stack=wish.stack,
        target="aws",
        ssh=SshAccess(
            user=access.user,
            key_file=access.key_file,
            known_hosts_file=known_hosts_file,
            via=access.via,
            region=wish.region,
            known_by="serial",
        ),
        head=_node(head, access.via, ()),
        nodes=tuple(
            _node(found, access.via, _rails(catalog.instance_type(found.type), found.instance))
            for found in nodes
        ),
        shared_directory=mounts[0].path if mounts else "",
        mounts=mounts,
        software=wish.software,
    )


def _node(found: Arrived, via: str, rails: tuple[Rail, ...]) -> Node:
    place = found.place
    return Node(
        name=found.name,
        serial=found.instance.id,
        pool=found.pool,
        type=found.type,
        address=found.instance.address,
        host_key=found.host_key,
        leaf=place.leaf if place else "",
        rails=rails,
        switches=place.switches if place else (),
        domain=place.domain if place else "",
        ssh_host=found.instance.id if via == "sessionManager" else "",
    )


def _rails(kind: InstanceType, instance: Instance) -> tuple[Rail, ...]:
    """Return a rail for each of the type's interfaces to the compute network.

    Traffic over EFA has no address: what an address of such a type carries is not the rail. Other
    rails are the interfaces beyond the first card, in the order of their cards.
    """
    beyond = sorted((i.card, i.device, i.address) for i in instance.interfaces if i.card > 0)
    addresses = [] if kind.efa_interfaces else [address for _, _, address in beyond if address]
    addresses += [""] * len(kind.rails)
    return tuple(
        Rail(index=index, interface=rail.interface or "", address=address)
        for index, (rail, address) in enumerate(zip(kind.rails, addresses, strict=False))
    )
