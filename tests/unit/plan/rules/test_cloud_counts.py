"""What a stack has already is not wanted twice; what others have is not there to take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plan.cloud_view import Bucket, Instance, Interfaces, PortRule, Used
from muster.plan.rules.model import View
from muster.plan.rules.run import ALL_RULES
from tests.unit.plan.rules import clouds
from tests.unit.plan.rules.cases import (
    GROUP,
    HELD,
    IMAGE,
    existing,
    fs,
    held,
    in_vpc,
    one,
    plain,
    port,
    reserved,
)
from tests.unit.plan.rules.clouds import well
from tests.unit.plan.rules.views import FAIL, PASS, UNKNOWN, cluster, pool, says, view


def test_nodes_of_this_stack_in_a_reservation_are_not_wanted_twice() -> None:
    found = reserved()
    running = (clouds.node(reservation=HELD), clouds.node(reservation=HELD))
    full = {"reservations": {HELD: clouds.reservation(found.plan.pools[0], available=0)}}
    assert one("reservation-size", well(found, **full)).outcome is FAIL
    assert one("reservation-size", well(found, **full, instances=running)).outcome is PASS


def test_vcpus_of_this_stack_are_not_counted_twice_those_of_others_are() -> None:
    found = plain()
    quotas = {"L-417A185B": 384.0, "L-1216C47A": 8.0}
    own = (clouds.node(), clouds.node(), clouds.node("m7i.2xlarge", vcpus=8, pool="head"))
    assert one("vcpu-quotas", well(found, quotas=quotas, instances=own)).outcome is PASS
    others = tuple(replace(each, pool="") for each in own)
    assert one("vcpu-quotas", well(found, quotas=quotas, instances=others)).outcome is FAIL


def test_idle_reservations_of_others_may_count_and_leave_it_open() -> None:
    found = plain()
    idle = clouds.reservation(found.plan.pools[0], available=1)
    changes = {"quotas": {"L-417A185B": 400.0, "L-1216C47A": 8.0}, "held": {"cr-2": idle}}
    assert one("vcpu-quotas", well(found, **changes)).outcome is UNKNOWN
    shared = {"cr-2": replace(idle, shared=True)}
    assert one("vcpu-quotas", well(found, **{**changes, "held": shared})).outcome is PASS


def test_addresses_and_interfaces_of_this_stack_are_not_wanted_twice() -> None:
    found = existing()
    tight = clouds.subnet(free_addresses=1)
    mine = Interfaces(total=80, own=70, own_addresses=40)
    assert one("free-addresses", well(found, subnet=tight)).outcome is FAIL
    assert one("free-addresses", well(found, subnet=tight, interfaces=mine)).outcome is PASS


def test_a_stack_that_stands_has_its_vpc_address_and_storage_already() -> None:
    found = plain()
    quotas = {"L-0263D0A3": 1.0, "L-F678F1CE": 1.0, "L-8F1B9C74": 4800.0}
    stands = {"addresses": Used(total=1, own=1), "vpcs": Used(total=1, own=1)}
    stored = {"lustrePersistent2Gib": Used(total=4800, own=4800)}
    cloud = well(found, quotas=quotas, stored=stored, **stands)
    for rule in ("network-quotas", "storage-quotas"):
        assert one(rule, cloud).outcome is PASS


def test_a_bucket_that_this_stack_made_is_its_own() -> None:
    own = {"made": Bucket(region="us-east-2", own=True)}
    assert one("bucket-names", well(plain(), buckets=own)).outcome is PASS


def test_a_reservation_in_the_groups_own_placement_group_agrees() -> None:
    found = reserved()
    own = held(placement_group="arn:aws:ec2::placement-group/test", own_group=True)
    assert one("placement-agrees", well(found, **own(found))).outcome is PASS


def test_a_reservation_in_no_group_is_a_warning_for_nodes_that_are_in_one() -> None:
    said = one("placement-agrees", well(reserved()))
    assert (said.outcome, said.severity) == (FAIL, "warning")


def in_group(*members: tuple[str, Any]) -> View:
    pools = [
        pool(capacity={"resourceGroup": GROUP}),
        pool("more", type="p5en.48xlarge", capacity={"resourceGroup": GROUP}),
    ]
    found = view(cluster(*pools, image=IMAGE))
    reservations = {
        f"cr-{n}": replace(clouds.reservation(found.plan.pools[0], **more), type=name)
        for n, (name, more) in enumerate(members)
    }
    return well(found, groups={GROUP: tuple(reservations)}, reservations=reservations)


def test_a_resource_group_has_room_for_each_type_over_all_of_its_reservations() -> None:
    halves = [("p5.48xlarge", {"available": 1}), ("p5.48xlarge", {"available": 1})]
    found = in_group(*halves, ("p5en.48xlarge", {"available": 2}))
    assert one("reservation-usable", found).outcome is PASS
    assert one("reservation-size", found).outcome is PASS
    found = in_group(*halves, ("p5en.48xlarge", {"available": 1}))
    said = one("reservation-size", found)
    assert (said.outcome, "of p5en.48xlarge 1 are free" in said.what) == (FAIL, True)


def test_a_resource_group_without_one_of_the_types_fails() -> None:
    said = one("reservation-usable", in_group(("p5.48xlarge", {})))
    assert said.outcome is FAIL


def test_what_is_in_another_zone_of_a_resource_group_is_no_room() -> None:
    found = in_group(("p5.48xlarge", {"zone_id": "use2-az2"}), ("p5en.48xlarge", {}))
    assert one("reservation-size", found).outcome is FAIL


def test_endpoints_of_all_services_do_without_a_route() -> None:
    services = frozenset({"ec2", "ec2messages", "fsx", "logs", "ssm", "ssmmessages"})
    parts = {"subnet": clouds.subnet(way_out=""), "vpc": clouds.vpc(endpoints=services)}
    assert one("way-out", well(existing(), **parts)).outcome is PASS


def test_own_subnets_do_not_collide_with_a_second_up() -> None:
    own = clouds.vpc(taken={"10.0.0.0/19": True})
    assert one("network-agrees", well(in_vpc(), vpc=own)).outcome is PASS


def test_before_a_first_up_there_is_no_group_to_judge() -> None:
    assert says(ALL_RULES, "fabric-group", well(plain(), security_groups=())) == ()


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [
        ([port(988, 988), port(1018, 1023)], PASS),
        ([port(900, 1100)], PASS),
        ([port(988, 988), port(1018, 1020), port(1021, 1023)], PASS),
        ([port(988, 988), port(1018, 1020), port(1022, 1023)], FAIL),
        ([port(988, 988, cidr="10.0.0.0/24"), port(1018, 1023)], FAIL),
        ([port(988, 1023, cidr="", group="sg-1", own=True)], PASS),
        ([port(988, 1023, cidr="", group="sg-1")], FAIL),
        ([port(988, 1023, protocol="udp")], FAIL),
        ([port(0, 65535, protocol="all", cidr="0.0.0.0/0")], PASS),
    ],
)
def test_which_ports_of_a_file_system_are_open(rules: list[PortRule], outcome: str) -> None:
    found = existing()
    said = one("storage-within-reach", well(found, **fs(opens=tuple(rules))(found)))
    assert said.outcome == outcome


PLAIN = plain()


@given(st.integers(min_value=1, max_value=10_000), st.integers(min_value=0, max_value=10_000))
def test_a_vcpu_quota_passes_only_where_all_nodes_fit_beside_those_of_others(
    limit: int, others: int
) -> None:
    beside = (
        Instance(type="p4d.24xlarge", vcpus=others, market="onDemand", pool="", reservation=""),
    )
    quotas = {"L-417A185B": float(limit), "L-1216C47A": 8.0}
    said = one("vcpu-quotas", well(PLAIN, quotas=quotas, instances=beside if others else ()))
    assert (said.outcome is PASS) is (others + 384 <= limit)
