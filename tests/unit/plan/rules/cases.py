"""Stacks to judge against a cloud, and places in which that cloud may be broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muster.plan.cloud_view import PortRule
from muster.plan.rules.model import Said, View
from muster.plan.rules.run import ALL_RULES
from tests.unit.plan.rules import clouds
from tests.unit.plan.rules.views import FAIL, PASS, UNKNOWN, cluster, pool, says, view

IMAGE = "ami-0123456789abcdef0"
HELD = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"
FS = "fs-0123456789abcdef0"
ACCESS = {"publicKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExample you"]}
EXISTING = {
    "zoneId": "use2-az1",
    "vpcId": "vpc-0123456789abcdef0",
    "subnetId": "subnet-0123456789abcdef0",
}
MINE = {"fsx-new": {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 4800, "throughput": 250}}
Change = Callable[[View], dict[str, Any]]


def plain(**more: Any) -> View:
    """Two p5 in a network of their own, with a new file system that a bucket fills."""
    storage = [{**MINE["fsx-new"], "import": "s3://bucket/prefix"}]
    usual = {"image": IMAGE, "access": ACCESS, "storage": storage, "buckets": [{"name": "made"}]}
    return view(cluster(pool(), **{**usual, **more}))


def reserved(**more: Any) -> View:
    return view(cluster(pool(capacity={"reservation": HELD}, **more), image=IMAGE))


def block(ends: str | None = "2026-12-01T11:30Z") -> View:
    capacity = {"block": HELD, **({"ends": ends} if ends else {})}
    return view(cluster(pool(capacity=capacity), image=IMAGE))


def existing(**more: Any) -> View:
    storage = [{"mount": "/fsx", "kind": "fsxLustre", "id": FS}]
    return view(cluster(pool(), network=EXISTING, image=IMAGE, storage=storage, **more))


def in_vpc(cidr: str = "10.0.0.0/18") -> View:
    network = {"zoneId": "use2-az1", "vpcId": EXISTING["vpcId"], "cidr": cidr}
    return view(cluster(pool(), network=network, image=IMAGE))


def one(rule: str, found: View) -> Said:
    """What a rule says, where it says one thing, or the worst of what it says."""
    said = says(ALL_RULES, rule, found)
    assert said, f"{rule} says nothing"
    order = [FAIL, UNKNOWN, PASS]
    return min(said, key=lambda each: order.index(each.outcome))


def held(**changes: Any) -> Change:
    return lambda found: {
        "reservations": {HELD: clouds.reservation(found.plan.pools[0], **changes)}
    }


def fs(**changes: Any) -> Change:
    return lambda found: {
        "file_systems": {FS: clouds.file_system(found.plan.file_systems[0], **changes)}
    }


def told(**parts: Any) -> Change:
    return lambda _found: parts


def port(first: int, last: int, **more: Any) -> PortRule:
    usual = {"protocol": "tcp", "cidr": "10.0.0.0/16", "group": "", "own": False}
    return PortRule(first=first, last=last, **{**usual, **more})


def type_is(**changes: Any) -> Change:
    def change(found: View) -> dict[str, Any]:
        kinds = [pool.type for pool in found.plan.pools]
        return {"types": {kind.name: clouds.type_facts(kind, **changes) for kind in kinds}}

    return change
