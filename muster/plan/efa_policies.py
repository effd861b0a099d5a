"""Policies on what EFA needs of launch templates and security groups. Pure.

Where one is broken nothing fails at launch: the nodes come up, and are slow or cannot talk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from muster.catalog import Catalog
from muster.plan.policy_model import UNKNOWN, Resource

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_RULES = (
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
)
_EFA = {"efa", "efa-only"}
_EVERYTHING = "-1"


def efa_layout(resource: Resource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """A launch template has every EFA interface of its type, each where EC2 takes it."""
    kind = catalog.types.get(str(resource.at("instanceType")))
    if resource.type != LAUNCH_TEMPLATE or kind is None or kind.efa_interfaces is None:
        return
    interfaces = resource.each("networkInterfaces")
    efa = [one for one in interfaces if one.get("interfaceType") in _EFA]
    do = "Use the interfaces of the plan."
    if len(efa) != kind.efa_interfaces:
        yield f"{len(efa)} EFA interfaces; {kind.name} has {kind.efa_interfaces}", do
    cards = Counter(one.get("networkCardIndex") for one in efa)
    for card in sorted(card for card, count in cards.items() if count > 1):
        yield f"{cards[card]} EFA interfaces on card {card}, which takes one", do
    first = [one.get("interfaceType") for one in interfaces if _is_primary(one)]
    if efa and (len(first) != 1 or first[0] == "efa-only"):
        yield "its primary interface is not one with an address", do


def _is_primary(interface: dict[str, Any]) -> bool:
    return interface.get("networkCardIndex") == 0 and interface.get("deviceIndex") == 0


def groups_without_efa(resources: Sequence[Resource]) -> Iterator[tuple[Resource, str, str]]:
    """Interfaces with EFA are in a group that lets everything flow among its members, both ways.

    A rule for all addresses does not count: EFA traffic has none. In a preview the ids of new
    groups are not known, and nothing is judged.
    """
    open_groups = set.intersection(*(_open_to_themselves(resources, rule) for rule in _RULES))
    if UNKNOWN in open_groups:
        return
    for one in resources:
        for groups in _efa_groups(one):
            if UNKNOWN not in groups and not open_groups.intersection(groups):
                what = "no security group of its EFA interfaces lets them talk to each other"
                yield one, what, "Let all protocols in from the group itself, and out to it."
                break


def _open_to_themselves(resources: Sequence[Resource], rule: str) -> set[Any]:
    """Return the groups that a kind of rule opens to their own members."""
    found = set()
    for one in resources:
        group, other = one.at("securityGroupId"), one.at("referencedSecurityGroupId")
        if one.type == rule and one.at("ipProtocol") == _EVERYTHING and group is other is UNKNOWN:
            found.add(UNKNOWN)
        elif one.type == rule and one.at("ipProtocol") == _EVERYTHING and group == other:
            found.add(group)
    return found


def _efa_groups(resource: Resource) -> Iterator[list[Any]]:
    if resource.type != LAUNCH_TEMPLATE:
        return
    for one in resource.each("networkInterfaces"):
        if one.get("interfaceType") in _EFA:
            groups = one.get("securityGroups")
            yield list(groups) if isinstance(groups, list | tuple) else [UNKNOWN]
