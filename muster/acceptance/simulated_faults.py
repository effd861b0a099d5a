"""Faults for a simulated fleet, as people write them: `slow-node:17=-8%`. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from random import Random
from types import MappingProxyType
from typing import Any

from muster.errors import UsageError
from muster.fabric.model import Fabric

_FORM = re.compile(r"(?P<name>[a-z-]+)(:(?P<target>[^=]+))?(=(?P<value>.+))?")
_PERCENT = re.compile(r"(?P<number>[+-]?\d+(\.\d+)?)\s*%")
_LOADED_SHARE = 0.75
_WHERE = "--fault"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault: what people wrote, what an answer should name, and what it does to the fleet.

    `component` is as in verdicts: "node", "rail:3", "leaf:leaf2", "fleet"; empty if nobody is to
    be named. `node` is empty where no single node is at fault. `arguments` are `SimulatedFleet`'s.
    """

    text: str
    node: str = ""
    component: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of fault: what its target is, its usual value, and how it is made."""

    target: str
    usual: str
    make: Callable[[_Order], Fault]
    what: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Order:
    """What was written, taken apart."""

    text: str
    target: str
    value: str
    fabric: Fabric
    chance: Random

    def speed(self, text: str | None = None) -> float:
        """Read "-8%" as the speed that is left."""
        share = self.share(self.value if text is None else text)
        if not -1 < share < 0:
            raise self.wrong(f"{share:+.0%} is no loss of speed", "Write as -8%.")
        return 1 + share

    def share(self, text: str) -> float:
        """Read a percentage."""
        found = _PERCENT.fullmatch(text.strip())
        if not found:
            raise self.wrong(f"{text!r} is no percentage", "Write as -8%.")
        return float(found["number"]) / 100

    def chance_of(self, text: str) -> float:
        """Read a percentage that is a probability."""
        share = self.share(text)
        if not 0 < share <= 1:
            raise self.wrong(f"{text} is no probability", "Write as 35%.")
        return share

    def node(self, text: str | None = None) -> str:
        """Find a node by name or by number, from 0 on."""
        names = self.fabric.nodes()
        wanted = (self.target if text is None else text).strip()
        name = f"n{wanted}" if wanted.isdigit() else wanted
        if name not in names:
            raise self.wrong(f"no node {wanted!r}", f"Nodes: {names[0]} to {names[-1]}.")
        return name

    def leaf(self, text: str) -> str:
        """Find a leaf by name or by number, from 0 on."""
        names = tuple(self.fabric.leaves)
        name = f"leaf{text}" if text.isdigit() else text
        if name not in names:
            raise self.wrong(f"no leaf {text!r}", f"Leaves: {names[0]} to {names[-1]}.")
        return name

    def rail(self, text: str) -> int:
        """Read the number of a rail, from 0 on."""
        if not text.isdigit() or int(text) >= self.fabric.rails:
            raise self.wrong(f"no rail {text!r}", f"Rails: 0 to {self.fabric.rails - 1}.")
        return int(text)

    def node_and_rail(self) -> tuple[str, int]:
        """Read "17.3", or "3" for that rail of a node that the seed chooses."""
        node, dot, rail = self.target.rpartition(".")
        if dot:
            return self.node(node), self.rail(rail)
        return self.chance.choice(self.fabric.nodes()), self.rail(rail)

    def component_of_rails(self, rails: Sequence[int]) -> str:
        """Name what is at fault where these rails are."""
        if len(rails) == self.fabric.rails:
            return "node"
        return " ".join(f"rail:{rail}" for rail in rails)

    def wrong(self, what: str, hint: str) -> UsageError:
        """Say what is wrong with this fault."""
        return UsageError(f"{self.text!r}: {what}", where=_WHERE, hint=hint)


def parse_fault(text: str, fabric: Fabric, chance: Random) -> Fault:
    """Read one fault; what is left open (which node has the slow rail) is drawn from `chance`.

    Raises:
        UsageError: there is no such fault, node, leaf or rail, or the value cannot be.

    """
    found = _FORM.fullmatch(text.strip())
    name = found["name"] if found else text.partition(":")[0].partition("=")[0]
    kind = KINDS.get(name)
    if found is None or kind is None:
        near = get_close_matches(name, KINDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Faults: {', '.join(KINDS)}."
        raise UsageError(f"no fault {text!r}", where=_WHERE, hint=hint)
    target, value = found["target"] or "", found["value"] or kind.usual
    order = _Order(text=text, target=target, value=value, fabric=fabric, chance=chance)
    if bool(target) != bool(kind.target):
        expected = f"{name}:{kind.target}" if kind.target else name
        raise order.wrong(
            "a target is missing" if kind.target else "takes no target", f"Write as {expected}."
        )
    if found["value"] and not kind.usual:
        raise order.wrong("takes no value", f"Write as {name}:{kind.target}.")
    return kind.make(order)


def join(faults: Sequence[Fault]) -> dict[str, Any]:
    """Put the faults' arguments for one fleet together.

    Raises:
        UsageError: two faults do the same thing to the same part.

    """
    joined: dict[str, Any] = {}
    for fault in faults:
        for name, value in fault.arguments.items():
            before = joined.get(name)
            if before is None:
                joined[name] = value
            elif isinstance(value, frozenset):
                joined[name] = before | value
            elif set(before) & set(value):
                what = f"{fault.text!r} and a fault before it change the same part"
                raise UsageError(what, where=_WHERE)
            else:
                joined[name] = {**before, **value}
    return joined


def describe_faults() -> list[str]:
    """Return a line of help for each kind of fault."""
    return [
        f"{name}{f':{kind.target}' if kind.target else ''}"
        f"{f'={kind.usual}' if kind.usual else ''}  {kind.what}"
        for name, kind in KINDS.items()
    ]


def _slow_node(order: _Order) -> Fault:
    node = order.node()
    return Fault(
        text=order.text, node=node, component="node", arguments={"nodes": {node: order.speed()}}
    )


def _slow_rail(order: _Order) -> Fault:
    node, rail = order.node_and_rail()
    return Fault(
        text=order.text,
        node=node,
        component=order.component_of_rails([rail]),
        arguments={"rails": {(node, rail): order.speed()}},
    )


def _leaf(order: _Order) -> Fault:
    name, _, rail = order.target.partition(".")
    leaf = order.leaf(name)
    rails = [order.rail(rail)] if rail else list(range(order.fabric.rails))
    part = f" rail:{rails[0]}" if len(rails) < order.fabric.rails else ""
    return Fault(
        text=order.text,
        component=f"leaf:{leaf}{part}",
        arguments={"uplinks": {(leaf, number): order.speed() for number in rails}},
    )


def _intermittent(order: _Order) -> Fault:
    node = order.node()
    drop, _, share = order.value.partition("/")
    chance = order.chance_of(share) if share else 1.0
    return Fault(
        text=order.text,
        node=node,
        component="node",
        arguments={"intermittent": {node: (chance, order.speed(drop))}},
    )


def _loss(order: _Order) -> Fault:
    node, rail = order.node_and_rail()
    if not order.value.isdigit():
        raise order.wrong(f"{order.value!r} is no count", "Write the retransmits per test, as 160.")
    return Fault(
        text=order.text,
        node=node,
        component=order.component_of_rails([rail]),
        arguments={"retransmits": {(node, rail): float(order.value)}},
    )


def _corrupt(order: _Order) -> Fault:
    node = order.node()
    arguments = {"wrong": {node: order.chance_of(order.value)}}
    return Fault(text=order.text, node=node, component="node", arguments=arguments)


def _dead(order: _Order) -> Fault:
    node = order.node()
    return Fault(
        text=order.text, node=node, component="node", arguments={"dead": frozenset({node})}
    )


def _broken_test(order: _Order) -> Fault:
    everyone = frozenset(order.fabric.nodes())
    return Fault(text=order.text, component="fleet", arguments={"dead": everyone})


def _all_slow(order: _Order) -> Fault:
    slow = dict.fromkeys(order.fabric.nodes(), order.speed())
    return Fault(text=order.text, component="fleet", arguments={"nodes": slow})


def _foreign_load(order: _Order) -> Fault:
    if not order.target.isdigit():
        raise order.wrong(f"{order.target!r} is no round", "Write the round, from 0 on.")
    names = order.fabric.nodes()
    loaded = order.chance.sample(names, round(_LOADED_SHARE * len(names)))
    slow = {(name, int(order.target)): order.speed() for name in loaded}
    return Fault(text=order.text, arguments={"slow_rounds": slow})


KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "slow-node": _Kind("NODE", "-8%", _slow_node, "a node is slow on all rails"),
        "slow-rail": _Kind(
            "NODE.RAIL", "-20%", _slow_rail, "one rail of a node is slow (RAIL alone: of any node)"
        ),
        "leaf": _Kind("LEAF[.RAIL]", "-20%", _leaf, "the uplink of a leaf is slow"),
        "intermittent": _Kind(
            "NODE", "-30%/35%", _intermittent, "a node is slow in so many of its tests"
        ),
        "loss": _Kind("NODE.RAIL", "160", _loss, "so many retransmits per test, at full speed"),
        "corrupt": _Kind("NODE", "50%", _corrupt, "so many of a node's results are wrong"),
        "dead": _Kind("NODE", "", _dead, "a node never answers"),
        "foreign-load": _Kind(
            "ROUND", "-25%", _foreign_load, "three quarters of the nodes are slow in one round"
        ),
        "all-slow": _Kind("", "-20%", _all_slow, "the whole fleet is slow"),
        "broken-test": _Kind("", "", _broken_test, "no test ever works"),
    }
)
