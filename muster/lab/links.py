"""Which links a lab has, and what must be done where they differ. Pure.

A plan maps a network namespace ("" is the host's) to its links. What exists is read from `ip -j -d
link`, `ip -j addr` and `tc -j qdisc`; the difference is text for `ip -batch` and `tc -batch`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster.lab import addresses
from muster.lab.model import NetworkWish
from muster.lab.paths import LabPaths

# A queue of 10 ms drops thousands of packets at full rate and spoils retransmit counters.
_TBF = "burst 32kb latency 50ms"
_KBIT_PER_MBIT = 1000


@dataclass(frozen=True, slots=True)
class Link:
    """One interface. A veth is made by the end that names its `peer`."""

    name: str
    kind: str = ""
    """bridge, veth, or empty: the other end of a veth that is made elsewhere."""
    master: str = ""
    peer: str = ""
    peer_netns: str = ""
    rate_kbit: int | None = None
    address: str = ""
    up: bool = True
    mac: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What a fault does to a link: another rate, or down."""

    rate_kbit: int | None = None
    up: bool = True


@dataclass(slots=True)
class Difference:
    """What is not as planned in one namespace: links to delete, and batch text that repairs it."""

    problems: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    ip: list[str] = field(default_factory=list)
    tc: list[str] = field(default_factory=list)

    def add(self, problem: str, *, ip: str = "", tc: str = "") -> None:
        """Note one problem and its repair."""
        if problem not in self.problems:
            self.problems.append(problem)
        self.ip += [ip] if ip else []
        self.tc += [tc] if tc else []


def node_rail_link(ordinal: int, rail: int) -> str:
    """Name the fabric's end of a node's rail."""
    return f"n{ordinal}r{rail}"


def uplink_links(leaf_index: int, rail: int) -> tuple[str, str]:
    """Name the leaf's and the spine's end of an uplink."""
    return f"u{leaf_index}r{rail}", f"d{leaf_index}r{rail}"


def management_link(paths: LabPaths, ordinal: int) -> str:
    """Name the host's end of a node's eth0."""
    return f"{paths.prefix}m{ordinal}"


def leaf_index(wish: NetworkWish, node: str) -> int:
    """Return at which leaf a node sits."""
    return next(k for k, nodes in enumerate(wish.leaves.values()) if node in nodes)


def ordinal_of(wish: NetworkWish, node: str) -> int:
    """Return a node's ordinal: 0 for the head, which has no rails."""
    names = wish.node_names()
    return names.index(node) + 1 if node in names else 0


def fabric_plan(wish: NetworkWish) -> tuple[Link, ...]:
    """Bridges and uplinks of every rail's plane: one spine, and each leaf with one uplink."""
    rate = wish.uplink_rate_mbit * _KBIT_PER_MBIT
    links: list[Link] = []
    for rail in range(wish.rails):
        links.append(Link(f"sp{rail}", "bridge"))
        for k in range(len(wish.leaves)):
            up, down = uplink_links(k, rail)
            links += [
                Link(f"l{k}r{rail}", "bridge"),
                Link(up, "veth", master=f"l{k}r{rail}", peer=down, rate_kbit=rate),
                Link(down, master=f"sp{rail}", rate_kbit=rate),
            ]
    return tuple(links)


def host_plan(paths: LabPaths, cidr: str) -> tuple[Link, ...]:
    """The management bridge. Its fixed MAC keeps nodes' ARP entries right as ports come and go."""
    digest = hashlib.sha256(paths.bridge.encode()).hexdigest()
    mac = ":".join(["02", *(digest[i : i + 2] for i in range(0, 10, 2))])
    address = addresses.with_prefix(addresses.gateway(cidr), cidr)
    return (Link(paths.bridge, "bridge", address=address, mac=mac),)


def node_plan(paths: LabPaths, wish: NetworkWish, cidr: str, node: str) -> dict[str, list[Link]]:
    """Links of one node by namespace: the host's, the fabric's and the node's own."""
    ordinal, netns = ordinal_of(wish, node), paths.machine(node)
    host = Link(management_link(paths, ordinal), "veth", master=paths.bridge, peer="eth0",
                peer_netns=netns)  # fmt: skip
    address = addresses.management_address(cidr, ordinal)
    own = [Link("lo"), Link("eth0", address=addresses.with_prefix(address, cidr))]
    fabric: list[Link] = []
    rate = wish.rail_rate_mbit * _KBIT_PER_MBIT
    for rail in range(wish.rails if ordinal else 0):
        inside, outside = f"rail{rail}", node_rail_link(ordinal, rail)
        bridge = f"l{leaf_index(wish, node)}r{rail}"
        fabric.append(Link(outside, "veth", bridge, inside, netns, rate))
        at = addresses.with_prefix(addresses.rail_address(rail, ordinal), addresses.rail_cidr(rail))
        own.append(Link(inside, rate_kbit=rate, address=at))
    return {"": [host], paths.fabric_netns: fabric, netns: own}


def full_plan(
    paths: LabPaths, wish: NetworkWish, cidr: str, nodes: Sequence[str]
) -> dict[str, list[Link]]:
    """All links of a lab in which `nodes` exist, in the order in which they can be made."""
    plan = {"": list(host_plan(paths, cidr)), paths.fabric_netns: list(fabric_plan(wish))}
    for node in nodes:
        for netns, links in node_plan(paths, wish, cidr, node).items():
            plan.setdefault(netns, []).extend(links)
    return plan


def with_changes(
    plan: Mapping[str, Sequence[Link]], changes: Mapping[tuple[str, str], Change]
) -> dict[str, list[Link]]:
    """Return the plan as active faults bend it."""
    bent: dict[str, list[Link]] = {}
    for netns, links in plan.items():
        bent[netns] = []
        for link in links:
            change = changes.get((netns, link.name), Change())
            rate = link.rate_kbit if change.rate_kbit is None else change.rate_kbit
            bent[netns].append(replace(link, rate_kbit=rate, up=link.up and change.up))
    return bent


def read_links(link_json: str, address_json: str, qdisc_json: str) -> dict[str, Link]:
    """Read what a namespace has, from `ip -j -d link`, `ip -j addr` and `tc -j qdisc`."""
    rates = {
        q["dev"]: int(q["options"]["rate"]) * 8 // 1000
        for q in json.loads(qdisc_json or "[]")
        if q.get("kind") == "tbf" and q.get("root")
    }
    at: dict[str, str] = {}
    for entry in json.loads(address_json or "[]"):
        for info in entry.get("addr_info", []):
            if info.get("family") == "inet":
                at.setdefault(entry["ifname"], f"{info['local']}/{info['prefixlen']}")
    found: dict[str, Link] = {}
    for entry in json.loads(link_json or "[]"):
        name = entry["ifname"]
        found[name] = Link(
            name,
            entry.get("linkinfo", {}).get("info_kind", ""),
            master=entry.get("master", ""),
            rate_kbit=rates.get(name),
            address=at.get(name, ""),
            up="UP" in entry.get("flags", []),
        )
    return found


def difference(
    planned: Sequence[Link], found: Mapping[str, Link], stray_prefix: str | None
) -> Difference:
    """Compare one namespace with its plan.

    Links that are not planned are removed if their name begins with `stray_prefix`; None: never.
    """
    result = Difference()
    names = {link.name for link in planned}
    for name, link in found.items():
        stray = stray_prefix is not None and name.startswith(stray_prefix) and name not in names
        if stray and link.kind in {"veth", "bridge"}:
            result.add(f"{name} should not be there")
            result.strays.append(name)
    for link in planned:
        _compare(link, found.get(link.name), found, result)
    return result


def _compare(want: Link, have: Link | None, found: Mapping[str, Link], result: Difference) -> None:
    name = want.name
    if have is None:
        # The named end of a pair makes both ends.
        result.add(f"{name} is missing", ip=_creation(want, found))
        have = Link(name, up=False)
    if want.master and want.master != have.master:
        result.add(
            f"{name} is not at {want.master}", ip=f"link set dev {name} master {want.master}"
        )
    if want.address and want.address != have.address:
        if have.address:
            result.ip.append(f"addr flush dev {name}")
        result.add(
            f"{name} has not address {want.address}", ip=f"addr add {want.address} dev {name}"
        )
    if want.up != have.up:
        state = "up" if want.up else "down"
        result.add(f"{name} is not {state}", ip=f"link set dev {name} {state}")
    if want.rate_kbit is not None and want.rate_kbit != have.rate_kbit:
        limit = f"qdisc replace dev {name} root tbf rate {want.rate_kbit}kbit {_TBF}"
        result.add(f"{name} is not limited to {want.rate_kbit} kbit/s", tc=limit)


def _creation(link: Link, found: Mapping[str, Link]) -> str:
    if link.kind == "bridge":
        mac = f" address {link.mac}" if link.mac else ""
        return f"link add name {link.name}{mac} type bridge mcast_snooping 0"
    if link.kind == "veth" and link.peer not in (found if not link.peer_netns else ()):
        netns = f" netns {link.peer_netns}" if link.peer_netns else ""
        return f"link add name {link.name} type veth peer name {link.peer}{netns}"
    return ""
