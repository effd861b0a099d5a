"""The network: each rule passes, fails and does not know where it should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plan.aws.model import FileSystemPlan
from muster.plan.rules.model import Said
from muster.plan.rules.network import RULES
from tests.unit.plan.rules.views import (
    FAIL,
    PASS,
    UNKNOWN,
    cluster,
    lustre,
    only,
    pool,
    says,
    view,
    with_plan,
)

EXISTING: dict[str, Any] = {
    "vpcId": "vpc-0123456789abcdef0",
    "subnetId": "subnet-0123456789abcdef0",
}


def network(cidr: str = "10.0.0.0/16", **more: Any) -> dict[str, Any]:
    return {"zoneId": "use2-az1", "cidr": cidr, **more}


def addresses(cidr: str, *file_systems: FileSystemPlan, count: int = 2, **more: Any) -> Said:
    """What free-addresses says of p5 nodes, a head and these file systems."""
    found = view(cluster(pool(count=count), network=network(cidr, **more)))
    return only(RULES, "free-addresses", with_plan(found, file_systems=file_systems))


def test_nodes_in_a_new_subnet_of_their_own_have_no_public_address() -> None:
    said = only(RULES, "no-public-address", view(cluster(pool())))
    assert said.outcome is PASS
    assert "the NAT gateway is in a public subnet" in said.what


def test_a_stack_without_nat_has_no_public_subnet_at_all() -> None:
    found = view(cluster(pool(), network=network(internet="endpoints")))
    said = only(RULES, "no-public-address", found)
    assert said.outcome is PASS
    assert "nothing is in a public subnet" in said.what


def test_a_public_range_within_that_of_the_nodes_fails() -> None:
    found = view(cluster(pool()))
    public = replace(found.plan.network, public_cidr="10.0.1.0/28")
    assert only(RULES, "no-public-address", with_plan(found, network=public)).outcome is FAIL


def test_whether_an_existing_subnet_is_public_is_unknown() -> None:
    said = only(RULES, "no-public-address", view(cluster(pool(), network=network(**EXISTING))))
    assert (said.outcome, said.path) == (UNKNOWN, "network.subnetId")
    assert "MapPublicIpOnLaunch" in said.do


def test_a_stack_of_nothing_but_storage_has_no_nodes_to_hide() -> None:
    found = with_plan(view(cluster(pool())), pools=(), head=None)
    assert says(RULES, "no-public-address", found) == ()
    assert says(RULES, "free-addresses", found) == ()
    assert says(RULES, "interface-quota", found) == ()


@pytest.mark.parametrize(("count", "outcome"), [(26, PASS), (27, FAIL)])
def test_nodes_and_head_must_fit_beside_the_five_reserved(count: int, outcome: str) -> None:
    """The private half of a /26 has 32 addresses."""
    said = addresses("10.0.0.0/26", count=count)
    assert said.outcome == outcome
    assert f"{count + 1} addresses ({count} train + 1 head) of 27 free" in said.what


@given(st.integers(min_value=1, max_value=70_000))
def test_a_subnet_passes_exactly_when_all_nodes_fit(count: int) -> None:
    said = addresses("10.0.0.0/20", count=count)
    assert said.outcome is (PASS if count + 1 <= 2048 - 5 else FAIL)


def test_addresses_are_summed_over_pools_with_spares_and_interfaces() -> None:
    rows = [pool(spares=1), pool("cpu", type="m7i.4xlarge", count=4)]
    said = only(RULES, "free-addresses", view(cluster(*rows)))
    assert "8 addresses (3 train + 4 cpu + 1 head)" in said.what


@pytest.mark.parametrize(
    ("found", "servers"),
    [
        (lustre(), 2 + 1),
        (lustre(capacity_gib=48_000), 20 + 2),
        (lustre(capacity_gib=48_000, metadata_iops=36_000), 20 + 3),
        (lustre(capacity_gib=48_000, throughput=1000, efa=True), 10 + 2),
        (lustre(capacity_gib=38_400, throughput=125, efa=True), 1 + 2),
        (lustre(deployment="scratch2", capacity_gib=48_000, throughput=None), 20 + 1),
        (
            lustre(
                deployment="intelligentTiering",
                capacity_gib=None,
                throughput=8000,
                metadata_iops=12_000,
            ),
            2 + 1,
        ),
        (lustre(kind="efs", deployment=None, capacity_gib=None, throughput=None), 1),
    ],
)
def test_each_server_of_a_file_system_has_an_address(found: FileSystemPlan, servers: int) -> None:
    said = addresses("10.0.0.0/16", found)
    assert said.outcome is PASS
    assert f"{servers} /fsx" in said.what


def test_a_file_system_that_exists_takes_no_address() -> None:
    said = addresses("10.0.0.0/16", lustre(id="fs-0123456789abcdef0"))
    assert (said.outcome, "/fsx" in said.what) == (PASS, False)


@pytest.mark.parametrize(
    "found", [lustre(kind="fsxOpenZfs"), lustre(efa=True, throughput=99), lustre(capacity_gib=None)]
)
def test_a_file_system_of_unknown_size_makes_room_unknown(found: FileSystemPlan) -> None:
    said = addresses("10.0.0.0/16", found)
    assert said.outcome is UNKNOWN
    assert "no source says how many /fsx take" in said.what


def test_what_is_known_not_to_fit_fails_whatever_is_unknown() -> None:
    assert addresses("10.0.0.0/26", lustre(kind="fsxOpenZfs"), count=64).outcome is FAIL


def test_endpoints_take_an_address_each() -> None:
    assert "6 endpoints" in addresses("10.0.0.0/16", internet="endpoints").what


def test_kubernetes_takes_addresses_that_no_source_counts() -> None:
    more = {"scheduler": "kubernetes", "kubernetes": {"version": "1.34"}, "stages": ["infra"]}
    said = only(RULES, "free-addresses", view(cluster(pool(), **more)))
    assert said.outcome is UNKNOWN
    assert "pods" in said.what


def test_an_existing_subnet_is_unknown_with_the_figure_that_it_must_have() -> None:
    said = addresses("10.0.0.0/16", lustre(), count=16, **EXISTING)
    assert said.outcome is UNKNOWN
    assert "must have 20 free addresses (16 train + 1 head + 3 /fsx)" in said.what
    assert "AvailableIpAddressCount" in said.do


def test_an_existing_subnet_names_what_could_not_be_counted() -> None:
    said = addresses("10.0.0.0/16", lustre(kind="fsxOpenZfs"), **EXISTING)
    assert "and those of /fsx" in said.what


def test_interfaces_without_address_count_against_the_regions_quota() -> None:
    found = view(cluster(pool(count=200)))
    said = only(RULES, "interface-quota", with_plan(found, file_systems=(lustre(),)))
    assert said.outcome is UNKNOWN
    assert f"{200 * 33 + 1 + 3} network interfaces; 5000 is" in said.what
    assert "--service-code vpc --quota-code L-DF5E4CA3" in said.do


def test_interfaces_that_cannot_be_counted_are_said_to_be_more() -> None:
    found = view(cluster(pool()))
    said = only(
        RULES, "interface-quota", with_plan(found, file_systems=(lustre(kind="fsxOpenZfs"),))
    )
    assert said.what.startswith("at least 67 network interfaces")
