"""What AWS says of networks, as parts of a view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from muster.cloud.sheet import Sheet
from muster.plan.aws.model import AwsPlan
from muster.plan.cloud_view import GroupRules, Interfaces, PortRule, Subnet, Used, Vpc

_ALL = "-1"
_LAST_PORT = 65535
_ANYWHERE = "0.0.0.0/0"


def subnet(sheet: Sheet, subnet_id: str) -> Subnet | None:
    """Return the subnet of that id."""
    for found in sheet["subnets"]:
        if found["SubnetId"] == subnet_id:
            return Subnet(
                vpc_id=found["VpcId"],
                zone_id=found["AvailabilityZoneId"],
                cidr=found["CidrBlock"],
                free_addresses=found["AvailableIpAddressCount"],
                gives_public=bool(found.get("MapPublicIpOnLaunch")),
                way_out=_way_out(sheet["routes"], subnet_id),
            )
    return None


def own_subnet(sheet: Sheet, plan: AwsPlan) -> str | None:
    """Return the nodes' subnet, where it exists already."""
    if plan.network.subnet_id:
        return plan.network.subnet_id
    for found in sheet["subnets"]:
        if sheet.is_own(found) and found["CidrBlock"] == plan.network.private_cidr:
            return str(found["SubnetId"])
    return None


def _way_out(tables: list[dict[str, Any]], subnet_id: str) -> str:
    """Name the target of the default route, of the subnet's own table or else the VPC's main."""
    own = [t for t in tables if any(a.get("SubnetId") == subnet_id for a in t["Associations"])]
    main = [t for t in tables if any(a.get("Main") for a in t["Associations"])]
    for table in own or main:
        for route in table["Routes"]:
            if route.get("DestinationCidrBlock") == _ANYWHERE and route.get("State") != "blackhole":
                return _target(route)
    return ""


def _target(route: Mapping[str, Any]) -> str:
    keys = ("NatGatewayId", "TransitGatewayId", "GatewayId", "NetworkInterfaceId", "InstanceId")
    others = (value for key, value in route.items() if key.endswith("Id") and value)
    return str(next((route[key] for key in keys if route.get(key)), next(others, "")))


def vpc(sheet: Sheet, vpc_id: str) -> Vpc | None:
    """Return the VPC of that id."""
    for found in sheet["vpcs"]:
        if found["VpcId"] == vpc_id:
            blocks = found.get("CidrBlockAssociationSet") or [{"CidrBlock": found["CidrBlock"]}]
            inside = [s for s in sheet["subnets"] if s["VpcId"] == vpc_id]
            return Vpc(
                cidrs=tuple(block["CidrBlock"] for block in blocks),
                taken={s["CidrBlock"]: sheet.is_own(s) for s in inside},
                dns_support=_attribute(sheet, "enableDnsSupport"),
                dns_hostnames=_attribute(sheet, "enableDnsHostnames"),
                internet_gateway=bool(sheet["internet_gateways"]),
                endpoints=frozenset(_services(sheet, vpc_id)),
            )
    return None


def _attribute(sheet: Sheet, name: str) -> bool:
    found = sheet.first(name)
    return bool(found and found[name[0].upper() + name[1:]]["Value"])


def _services(sheet: Sheet, vpc_id: str) -> Iterator[str]:
    for endpoint in sheet["endpoints"]:
        if endpoint["VpcId"] == vpc_id:
            yield endpoint["ServiceName"].rpartition(".")[2]


def interfaces(sheet: Sheet, plan: AwsPlan) -> Interfaces:
    """Count all interfaces, and those of this stack."""
    every, nodes_subnet = sheet["interfaces"], own_subnet(sheet, plan)
    machines, known = _own_instances(sheet), _own_interfaces(sheet, plan)
    own = [
        found
        for found in every
        if found["NetworkInterfaceId"] in known
        or (found.get("Attachment") or {}).get("InstanceId") in machines
    ]
    inside = [found for found in own if found.get("SubnetId") == nodes_subnet]
    count = sum(len(found.get("PrivateIpAddresses", ())) for found in inside)
    return Interfaces(total=len(every), own=len(own), own_addresses=count)


def _own_instances(sheet: Sheet) -> set[str]:
    launches = sheet["instances"]
    found = (instance for launch in launches for instance in launch["Instances"])
    return {instance["InstanceId"] for instance in found if sheet.is_own(instance)}


def _own_interfaces(sheet: Sheet, plan: AwsPlan) -> set[str]:
    """Interfaces of endpoints and file systems that this stack made."""
    made = [endpoint for endpoint in sheet["endpoints"] if sheet.is_own(endpoint)]
    if any(system.kind.startswith("fsx") for system in plan.file_systems):
        made += [system for system in sheet["fsx"] if sheet.is_own(system)]
    return {name for item in made for name in item.get("NetworkInterfaceIds", ())}


def used(sheet: Sheet, name: str) -> Used:
    """Count the things of an answer."""
    return Used(total=len(sheet[name]), own=sum(sheet.is_own(item) for item in sheet[name]))


def port_rules(sheet: Sheet, groups: set[str]) -> tuple[PortRule, ...]:
    """Return what some security groups let in."""
    every = {group["GroupId"]: group for group in sheet["security_groups"]}
    own = {name for name, group in every.items() if sheet.is_own(group)}
    rules = (rule for name in sorted(groups) for rule in every[name]["IpPermissions"])
    return tuple(made for rule in rules for made in _port_rules(rule, own))


def _port_rules(rule: Mapping[str, Any], own: set[str]) -> Iterator[PortRule]:
    protocol = _protocol(rule["IpProtocol"])
    if protocol is None:
        return
    first, last = rule.get("FromPort", 0), rule.get("ToPort", _LAST_PORT)
    if protocol == "all":
        first, last = 0, _LAST_PORT
    for source in rule.get("IpRanges", ()):
        cidr = source["CidrIp"]
        yield PortRule(protocol=protocol, first=first, last=last, cidr=cidr, group="", own=False)
    for source in rule.get("UserIdGroupPairs", ()):
        group = source["GroupId"]
        yield PortRule(
            protocol=protocol, first=first, last=last, cidr="", group=group, own=group in own
        )


def _protocol(number: str) -> Literal["tcp", "udp", "all"] | None:
    names: dict[str, Literal["tcp", "udp", "all"]] = {
        _ALL: "all",
        "tcp": "tcp",
        "6": "tcp",
        "udp": "udp",
        "17": "udp",
    }
    return names.get(number)


def own_groups(sheet: Sheet) -> tuple[GroupRules, ...]:
    """Return the security groups of this stack, and whether each lets all of itself in and out."""
    return tuple(
        GroupRules(
            id=group["GroupId"],
            name=group["GroupName"],
            self_in=_lets_itself(group, "IpPermissions"),
            self_out=_lets_itself(group, "IpPermissionsEgress"),
        )
        for group in sheet["security_groups"]
        if sheet.is_own(group)
    )


def _lets_itself(group: Mapping[str, Any], way: str) -> bool:
    """Does a rule name the group itself, for all protocols? A range of addresses does not do."""
    return any(
        rule["IpProtocol"] == _ALL
        and any(pair["GroupId"] == group["GroupId"] for pair in rule.get("UserIdGroupPairs", ()))
        for rule in group.get(way, ())
    )
