"""One cluster in the words of muster and of AWS ParallelCluster, and the mistakes to find in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.plan import KEY, POOLS
from papercloud.cloud.scenario import Reservation, Scenario

ZONE, ZONE_ID, OTHER_ZONE = "us-east-2a", "use2-az1", "us-east-2b"
TYPE, VCPUS = "p5.48xlarge", 192
IMAGE, ARM_IMAGE = "ami-0123456789abcdef0", "ami-0123456789abcdef1"
P_QUOTA, INTERFACE_QUOTA = "L-417A185B", "L-DF5E4CA3"
BLOCK = "cr-0fedcba9876543210"
_NOW = datetime.now(UTC)
BLOCK_ENDS = (_NOW + timedelta(days=10)).replace(hour=11, minute=30, second=0, microsecond=0)
"""Blocks end at 11:30; the spec and the account agree about this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """Nodes of one type bought one way."""

    name: str
    count: int
    type: str = TYPE
    reservation: str = ""
    block: bool = False
    grouped: bool = False
    """Is a cluster placement group asked for in words? Both tools make one where it is right."""

    def as_muster(self) -> dict[str, Any]:
        """Return a pool of a spec."""
        ends = BLOCK_ENDS.strftime("%Y-%m-%dT%H:%MZ")
        bought: dict[str, Any] = {"onDemand": True}
        if self.reservation:
            bought = {"reservation": self.reservation}
        if self.block:
            bought = {"block": self.reservation, "ends": ends}
        group = {"placement": "cluster"} if self.grouped else {}
        plain = {"name": self.name, "type": self.type, "count": self.count}
        return {**plain, "capacity": bought, **group}

    def as_parallelcluster(self, subnet: str) -> dict[str, Any]:
        """Return a queue."""
        target = {"CapacityReservationTarget": {"CapacityReservationId": self.reservation}}
        group = {"PlacementGroup": {"Enabled": True}} if self.grouped or not self.block else {}
        resource = {
            "Name": self.name,
            "InstanceType": self.type,
            "MinCount": self.count,
            "MaxCount": self.count,
            "Efa": {"Enabled": True},
            **(target if self.reservation else {}),
        }
        return {
            "Name": self.name,
            "CapacityType": "CAPACITY_BLOCK" if self.block else "ONDEMAND",
            "Networking": {"SubnetIds": [subnet], **group},
            "ComputeResources": [resource],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """A cluster in an existing subnet, with one file system."""

    pools: tuple[Wish, ...]
    image: str = IMAGE
    mount: str = "/fsx"
    lustre_gib: int = 4800
    subnet: str = "wide"

    def as_muster(self, network: Mapping[str, str]) -> dict[str, Any]:
        """Return a stack file."""
        spec = {
            "target": "aws",
            "network": {
                "zoneId": ZONE_ID,
                "cidr": "10.0.0.0/16",
                "vpcId": network["vpc"],
                "subnetId": network[self.subnet],
            },
            "image": self.image,
            "access": {"publicKeys": [KEY]},
            "pools": [pool.as_muster() for pool in self.pools],
            "storage": [
                {
                    "mount": self.mount,
                    "kind": "fsxLustre",
                    "capacityGiB": self.lustre_gib,
                    "throughput": 500,
                }
            ],
        }
        return {"config": {"aws:region": "us-east-2", "muster:cluster": spec}}

    def as_parallelcluster(self, network: Mapping[str, str]) -> dict[str, Any]:
        """Return a configuration of AWS ParallelCluster 3."""
        subnet = network[self.subnet]
        lustre = {"StorageCapacity": self.lustre_gib, "DeploymentType": "PERSISTENT_2"}
        return {
            "Region": "us-east-2",
            "Image": {"Os": "ubuntu2204", "CustomAmi": self.image},
            "HeadNode": {"InstanceType": "m7i.2xlarge", "Networking": {"SubnetId": subnet}},
            "Scheduling": {
                "Scheduler": "slurm",
                "SlurmQueues": [pool.as_parallelcluster(subnet) for pool in self.pools],
            },
            "SharedStorage": [
                {
                    "Name": "fsx",
                    "MountDir": self.mount,
                    "StorageType": "FsxLustre",
                    "FsxLustreSettings": {**lustre, "PerUnitStorageThroughput": 500},
                }
            ],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A cluster that would fail, and the account in which it would."""

    name: str
    cluster: Cluster
    scenario: Scenario = field(default_factory=lambda: account(16))


def right(nodes: int) -> Cluster:
    """Return a cluster with nothing wrong: four pools, each in a reservation of its own."""
    counts = [nodes // POOLS + (n < nodes % POOLS) for n in range(POOLS)]
    pools = (
        Wish(name=f"train{n}", count=count, reservation=_reservation(n))
        for n, count in enumerate(counts)
    )
    return Cluster(pools=tuple(pools))


def account(reserved: int, *, vcpus: int = VCPUS * 4000, **changes: Any) -> Scenario:
    """Return an account with four reservations of so many instances, and quotas for more."""
    rows = (_row(_reservation(n), reserved) for n in range(POOLS))
    quotas = {P_QUOTA: vcpus, INTERFACE_QUOTA: 200_000}
    return Scenario(**{"reservations": tuple(rows), "quotas": quotas, **changes})


def wrong() -> tuple[Case, ...]:
    """Return each mistake, in a cluster of 16 nodes that is right otherwise."""
    good = right(16)
    bought = replace(good, pools=tuple(replace(pool, reservation="") for pool in good.pools))
    return (*_not_enough(good, bought), *_in_vain(good, bought), *_misfits(good, bought))


def _not_enough(good: Cluster, bought: Cluster) -> tuple[Case, ...]:
    """Too little of something, most of it only over all pools."""
    two = _reservation(0)
    forty = tuple(replace(pool, count=40) for pool in bought.pools)
    return (
        Case(
            name="a subnet with addresses for each pool, not for all",
            cluster=replace(bought, pools=forty, subnet="narrow"),
        ),
        Case(name="a reservation smaller than its pool", cluster=good, scenario=account(3)),
        Case(
            name="one reservation of 4 for two pools of 4",
            cluster=replace(good, pools=tuple(replace(p, reservation=two) for p in good.pools[:2])),
            scenario=account(4),
        ),
        Case(
            name="a quota for each pool, not for all",
            cluster=bought,
            scenario=account(16, vcpus=VCPUS * 8),
        ),
    )


def _in_vain(good: Cluster, bought: Cluster) -> tuple[Case, ...]:
    """Capacity that cannot be used: elsewhere, over, or not sold."""
    first, two = good.pools[0], _reservation(0)
    return (
        Case(
            name="a reservation in another zone",
            cluster=replace(good, pools=(first,)),
            scenario=Scenario(reservations=(_row(two, 16, zone=OTHER_ZONE),)),
        ),
        Case(
            name="a placement group around a Capacity Block",
            cluster=replace(good, pools=(_in_block(first, grouped=True),)),
            scenario=Scenario(
                reservations=(_block(ends_in_s=(BLOCK_ENDS - _NOW).total_seconds()),)
            ),
        ),
        Case(
            name="a Capacity Block that is over",
            cluster=replace(good, pools=(_in_block(first),)),
            scenario=Scenario(reservations=(_block(ends_in_s=-60),)),
        ),
        Case(
            name="a type that the zone does not have",
            cluster=bought,
            scenario=account(16, offered={TYPE: (OTHER_ZONE,)}),
        ),
    )


def _misfits(good: Cluster, bought: Cluster) -> tuple[Case, ...]:
    """Parts that do not go together, or do not exist."""
    first, second, *_ = bought.pools
    unknown = tuple(replace(pool, type="p5.49xlarge") for pool in bought.pools)
    return (
        Case(name="a subnet without a way out", cluster=replace(good, subnet="closed")),
        Case(name="an image of another architecture", cluster=replace(bought, image=ARM_IMAGE)),
        Case(name="a type that does not exist", cluster=replace(bought, pools=unknown)),
        Case(name="a file system of 5,000 GiB", cluster=replace(good, lustre_gib=5000)),
        Case(name="a file system over /usr", cluster=replace(good, mount="/usr")),
        Case(
            name="pools of two families, whose EFA does not meet",
            cluster=replace(bought, pools=(first, replace(second, type="p6-b300.48xlarge"))),
        ),
    )


def _in_block(pool: Wish, *, grouped: bool = False) -> Wish:
    return replace(pool, reservation=BLOCK, block=True, grouped=grouped)


def _reservation(number: int) -> str:
    return f"cr-0123456789abcde{number}0"


def _row(name: str, count: int, *, zone: str = ZONE) -> Reservation:
    return Reservation(id=name, type=TYPE, count=count, zone=zone)


def _block(*, ends_in_s: float) -> Reservation:
    return Reservation(
        id=BLOCK,
        type=TYPE,
        count=16,
        zone=ZONE,
        block=True,
        starts_in_s=-86400,
        ends_in_s=ends_in_s,
    )
