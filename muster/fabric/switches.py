"""The tree of switches above a fleet's nodes, and its memory domains, for schedulers. Pure.

A node in no switch could not run a job with others, so those without a leaf share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muster.fleet import Node

UNPLACED = "unplaced"
_ABOVE_LEAVES = "spine"
_ABOVE_ALL = "root"


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """A switch with either nodes or other switches below it."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """Nodes with one memory fabric."""

    name: str
    nodes: tuple[str, ...]


def switch_tree(nodes: Sequence[Node]) -> tuple[Switch, ...]:
    """Return all switches, each after those below it; none where no node's leaf is known.

    There is one at the top, so that a job may have any nodes.
    """
    if not any(node.leaf for node in nodes):
        return ()
    below: dict[str, dict[str, None]] = {}
    depth: dict[str, int] = {}
    leaves: dict[str, list[str]] = {}
    tops: dict[str, None] = {}
    for node in nodes:
        path = (*node.switches, node.leaf or UNPLACED)
        leaves.setdefault(path[-1], []).append(node.name)
        tops[path[0]] = None
        for level, (upper, lower) in enumerate(pairwise(path)):
            below.setdefault(upper, {})[lower] = None
            depth[upper] = level
    found = [Switch(name=name, nodes=tuple(members)) for name, members in leaves.items()]
    inner = sorted(below, key=lambda name: (-depth[name], name))
    found += [Switch(name=name, switches=tuple(below[name])) for name in inner]
    if len(tops) > 1:
        name = _ABOVE_ALL if below else _ABOVE_LEAVES
        found.append(Switch(name=name, switches=tuple(tops)))
    return tuple(found)


def domains(nodes: Iterable[Node]) -> tuple[Domain, ...]:
    """Return the memory domains, or none unless every node is in one: there is no half of them."""
    members: dict[str, list[str]] = {}
    for node in nodes:
        members.setdefault(node.domain, []).append(node.name)
    if "" in members:
        return ()
    return tuple(Domain(name=name, nodes=tuple(found)) for name, found in sorted(members.items()))
