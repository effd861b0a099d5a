"""A spec with target aws becomes the plan of a stack."""

from __future__ import annotations

from datetime import UTC, date, datetime
from ipaddress import IPv4Network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import load_catalog
from muster.errors import UsageError
from muster.plan.aws.model import AwsPlan
from muster.plan.aws.plan import plan_aws
from muster.spec import parse_spec

CR = "cr-0123456789abcdef0"
BASE: dict[str, Any] = {
    "target": "aws",
    "network": {"zoneId": "use2-az1"},
    "image": "ami-0123456789abcdef0",
    "pools": [{"name": "p5", "type": "p5.48xlarge", "count": 2, "capacity": {"reservation": CR}}],
    "stages": ["infra"],
}


def plan(**changes: Any) -> AwsPlan:
    catalog = load_catalog()
    data = {**BASE, **changes}
    spec = parse_spec(data, where="x", catalog=catalog, today=date(2026, 11, 21))
    return plan_aws(spec, catalog, "prod")


def pool(**changes: Any) -> AwsPlan:
    return plan(pools=[{**BASE["pools"][0], **changes}])


def test_a_pool_with_efa_is_placed_as_a_cluster() -> None:
    assert plan().pools[0].placement == "cluster"


def test_a_capacity_block_is_a_cluster_by_itself() -> None:
    found = pool(capacity={"block": CR, "ends": "2026-12-01T11:30Z"}).pools[0]
    assert found.placement is None
    assert found.capacity.ends == datetime(2026, 12, 1, 11, 30, tzinfo=UTC)


def test_a_pool_has_the_image_of_the_cluster_unless_it_names_its_own() -> None:
    assert plan().pools[0].image == BASE["image"]
    assert pool(image="ami-0fedcba9876543210").pools[0].image == "ami-0fedcba9876543210"


def test_addresses_are_counted_by_interfaces_that_have_one() -> None:
    assert plan().pools[0].addresses == 1
    assert pool(interfaces="fullBandwidth").pools[0].addresses == 8


def test_a_slurm_stack_has_a_head_and_eks_has_none() -> None:
    assert plan().head is not None
    assert plan(scheduler="kubernetes", kubernetes={"version": "1.34"}).head is None


def test_without_a_nat_gateway_there_is_no_public_subnet() -> None:
    network = plan(network={"zoneId": "use2-az1", "internet": "endpoints"}).network
    assert network.public_cidr is None
    assert network.private_cidr == network.cidr


def test_a_range_too_small_for_two_subnets_is_refused() -> None:
    with pytest.raises(UsageError, match="too small for a private and a public subnet"):
        plan(network={"zoneId": "use2-az1", "cidr": "10.0.0.0/28"})


def test_an_existing_file_system_is_not_new() -> None:
    fs = {"mount": "/fsx", "kind": "fsxLustre", "id": "fs-0123456789abcdef0"}
    assert not plan(storage=[fs]).file_systems[0].is_new


def test_a_lab_is_not_planned_here() -> None:
    catalog = load_catalog()
    data = {"target": "lab", "pools": [{"name": "gpu", "type": "lab.8gpu", "count": 1}]}
    spec = parse_spec(data, where="x", catalog=catalog, today=date(2026, 11, 21))
    with pytest.raises(UsageError, match="target is lab"):
        plan_aws(spec, catalog, "lab")


@given(st.integers(16, 27), st.integers(0, 255))
def test_the_two_subnets_lie_in_the_range_and_do_not_overlap(prefix: int, octet: int) -> None:
    cidr = str(IPv4Network(f"10.{octet}.0.0/{prefix}"))
    network = plan(network={"zoneId": "use2-az1", "cidr": cidr}).network
    assert network.public_cidr is not None
    whole, private = IPv4Network(cidr), IPv4Network(network.private_cidr)
    public = IPv4Network(network.public_cidr)
    assert private.subnet_of(whole)
    assert public.subnet_of(whole)
    assert not private.overlaps(public)
    assert private.num_addresses == whole.num_addresses // 2


def eks(**network: str) -> AwsPlan:
    wish = {"zoneId": "use2-az1", **network}
    changes = {"kubernetes": {"version": "1.34"}, "stages": ["infra"], "network": wish}
    return plan(scheduler="kubernetes", **changes)


def test_eks_has_a_range_of_its_own_for_a_second_zone() -> None:
    network = eks(cidr="10.0.0.0/26").network
    ranges = [network.private_cidr, network.public_cidr, network.control_cidr]
    assert ranges == ["10.0.0.0/27", "10.0.0.48/28", "10.0.0.32/28"]
    assert plan().network.control_cidr is None


def test_a_range_too_small_for_eks_is_refused() -> None:
    with pytest.raises(UsageError, match="too small for the two subnets of EKS"):
        eks(cidr="10.0.0.0/27")


def test_only_direct_access_lets_private_ranges_in() -> None:
    keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample you"]
    assert plan(access={"publicKeys": keys}).ssh_from == ()
    direct = plan(access={"publicKeys": keys, "via": "direct"})
    assert all(IPv4Network(one).is_private for one in direct.ssh_from)
    assert direct.ssh_from
