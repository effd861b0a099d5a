"""Which addresses a lab uses. Pure.

Only the management range touches the host, so it must be free there; the fabric has a network
namespace of its own and may use any range.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network

from muster.errors import MusterError

_FIRST_NODE = 10
_PREFIX = 22
# Ours by convention, and apart from the rails' 10.212 and following.
_BLOCKS = ("10.211.0.0/16", "10.232.0.0/14", "172.30.0.0/15", "192.168.224.0/19")
_FIRST_RAIL = 212
RAILS_MAX = 16
NODES_MAX = 1000


def candidates() -> Iterable[IPv4Network]:
    """All management ranges, in the order in which they are tried."""
    for block in _BLOCKS:
        yield from IPv4Network(block).subnets(new_prefix=_PREFIX)


def used_ranges(routes: str, addresses: str, own_links: Sequence[str] = ()) -> list[IPv4Network]:
    """Read what the machine uses from `ip -j route show table all` and `ip -j addr`.

    Default routes overlap everything and say nothing; what belongs to `own_links` is ours.
    """
    used: list[IPv4Network] = []
    for route in json.loads(routes or "[]"):
        destination = route.get("dst", "default")
        if destination == "default" or ":" in destination or route.get("dev") in own_links:
            continue
        used.append(IPv4Network(destination, strict=False))
    for link in json.loads(addresses or "[]"):
        if link.get("ifname") in own_links:
            continue
        used += [
            IPv4Network(f"{entry['local']}/{entry['prefixlen']}", strict=False)
            for entry in link.get("addr_info", [])
            if entry.get("family") == "inet"
        ]
    return used


def overlaps(cidr: str, used: Iterable[IPv4Network]) -> list[IPv4Network]:
    """Return the used ranges that share an address with `cidr`."""
    return [other for other in used if other.overlaps(IPv4Network(cidr))]


def choose_range(used: Iterable[IPv4Network]) -> str:
    """Return the first management range that overlaps nothing.

    Raises:
        MusterError: all are taken.

    """
    taken = list(used)
    for candidate in candidates():
        if not overlaps(str(candidate), taken):
            return str(candidate)
    what = f"no free management range: all of {', '.join(_BLOCKS)} overlap this machine's routes"
    raise MusterError(what, hint="See `ip route show table all`; remove a lab or a route.")


def gateway(cidr: str) -> str:
    """Return the host's address in the management range."""
    return str(IPv4Network(cidr)[1])


def management_address(cidr: str, ordinal: int) -> str:
    """Return the management address of node `ordinal`; the head is 0."""
    return str(IPv4Network(cidr)[_FIRST_NODE + ordinal])


def rail_cidr(rail: int) -> str:
    """Return the range of one rail's plane."""
    return f"10.{_FIRST_RAIL + rail}.0.0/16"


def rail_address(rail: int, ordinal: int) -> str:
    """Return a node's address on a rail."""
    return str(IPv4Network(rail_cidr(rail))[ordinal])


def with_prefix(address: str, cidr: str) -> str:
    """Return "address/length" as `ip addr` wants it."""
    return f"{address}/{IPv4Network(cidr).prefixlen}"
