"""Which ports security groups leave closed to the nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from muster.catalog.storage import Ports
from muster.plan.cloud_view import PortRule, Subnet
from muster.plan.rules.model import View


def closed_ports(view: View, wanted: Ports, opens: tuple[PortRule, ...]) -> list[str]:
    """Name the ports that nothing opens to the nodes, as "tcp 988"."""
    return [
        f"{protocol} {ports}"
        for protocol, listed in (("tcp", wanted.tcp), ("udp", wanted.udp))
        for ports in listed
        if not _is_open(protocol, ports, list(_for_nodes(view, opens)))
    ]


def _for_nodes(view: View, opens: tuple[PortRule, ...]) -> Iterator[PortRule]:
    """Rules that let the nodes in: by a group of this stack, or the whole range they are in."""
    subnet = view.cloud.subnet
    inside = subnet.cidr if isinstance(subnet, Subnet) else view.plan.network.private_cidr
    for rule in opens:
        if rule.own or (rule.cidr and IPv4Network(inside).subnet_of(IPv4Network(rule.cidr))):
            yield rule


def _is_open(protocol: str, ports: str, rules: list[PortRule]) -> bool:
    """Is every port of a range open? Several rules may share it."""
    first, _, last = ports.partition("-")
    port, end = int(first), int(last or first)
    spans = sorted((r.first, r.last) for r in rules if r.protocol in {protocol, "all"})
    for begin, stop in spans:
        if begin <= port <= stop:
            port = stop + 1
    return port > end
