"""Ranges that are free, and addresses within them."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import MusterError
from muster.lab import addresses

ROUTES = json.dumps(
    [
        {"dst": "default", "gateway": "192.168.1.1", "dev": "eth0"},
        {"dst": "192.168.1.0/24", "dev": "eth0"},
        {"type": "local", "dst": "192.168.1.5", "dev": "eth0", "table": "local"},
        {"dst": "fe80::/64", "dev": "eth0"},
        {"type": "blackhole", "dst": "10.211.0.0/22", "metric": 4000000},
        {"dst": "10.211.8.0/24", "dev": "lab-br0"},
    ]
)
LINKS = json.dumps(
    [
        {"ifname": "lo", "addr_info": [{"family": "inet6", "local": "::1", "prefixlen": 128}]},
        {
            "ifname": "eth0",
            "addr_info": [{"family": "inet", "local": "10.211.5.9", "prefixlen": 24}],
        },
        {
            "ifname": "lab-br0",
            "addr_info": [{"family": "inet", "local": "10.211.8.1", "prefixlen": 22}],
        },
    ]
)


def test_used_ranges_leave_out_default_routes_ipv6_and_our_own_bridge() -> None:
    used = addresses.used_ranges(ROUTES, LINKS, own_links=["lab-br0"])
    assert {str(net) for net in used} == {
        "192.168.1.0/24",
        "192.168.1.5/32",
        "10.211.0.0/22",
        "10.211.5.0/24",
    }


def test_the_first_range_that_overlaps_nothing_is_chosen() -> None:
    used = addresses.used_ranges(ROUTES, LINKS, own_links=["lab-br0"])
    assert addresses.choose_range(used) == "10.211.8.0/22"
    assert addresses.choose_range(addresses.used_ranges(ROUTES, LINKS)) == "10.211.12.0/22"


def test_a_route_over_ten_eight_leads_to_another_block() -> None:
    assert addresses.choose_range([IPv4Network("10.0.0.0/8")]) == "172.30.0.0/22"


def test_no_free_range_is_an_error_with_a_hint() -> None:
    with pytest.raises(MusterError, match="no free management range.*ip route show"):
        addresses.choose_range([IPv4Network("0.0.0.0/0")])


networks = st.builds(
    lambda address, prefix: IPv4Network((int(address), prefix), strict=False),
    st.ip_addresses(v=4),
    st.integers(8, 32),
)


@given(st.lists(networks, max_size=20))
def test_a_chosen_range_never_overlaps_what_is_used(used: list[IPv4Network]) -> None:
    try:
        chosen = addresses.choose_range(used)
    except MusterError:
        assert all(addresses.overlaps(str(c), used) for c in addresses.candidates())
    else:
        assert addresses.overlaps(chosen, used) == []


def test_no_management_range_meets_a_rail() -> None:
    rails = [IPv4Network(addresses.rail_cidr(r)) for r in range(addresses.RAILS_MAX)]
    assert all(not addresses.overlaps(str(c), rails) for c in addresses.candidates())


@given(st.integers(0, addresses.NODES_MAX), st.sampled_from(list(addresses.candidates())))
def test_every_node_has_an_address_of_its_own_in_the_range(ordinal: int, cidr: IPv4Network) -> None:
    address = IPv4Address(addresses.management_address(str(cidr), ordinal))
    assert address in cidr
    assert str(address) != addresses.gateway(str(cidr))
    assert address not in {cidr.network_address, cidr.broadcast_address}
    assert int(address) - int(cidr.network_address) == 10 + ordinal


def test_addresses_read_as_documented() -> None:
    assert addresses.gateway("10.211.4.0/22") == "10.211.4.1"
    assert addresses.management_address("10.211.4.0/22", 0) == "10.211.4.10"
    assert addresses.management_address("10.211.4.0/22", 300) == "10.211.5.54"
    assert addresses.rail_address(1, 3) == "10.213.0.3"
    assert addresses.with_prefix("10.213.0.3", addresses.rail_cidr(1)) == "10.213.0.3/16"
