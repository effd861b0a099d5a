"""Where nodes sit in a cloud's network, from the rows that the cloud gives. Pure.

A row is one entry of EC2's DescribeInstanceTopology: three or four ids of network nodes from the
top down, the last one nearest to the instance. The ids are opaque and stable within an account.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]")
_MARK_CHARACTERS = 8
_LAYER = "topology.k8s.aws/network-node-layer-{}"
_DOMAIN = "topology.k8s.aws/ultraserver-id"

Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one instance sits."""

    leaf: str
    switches: tuple[str, ...] = ()
    """Above the leaf, the top one first."""
    domain: str = ""
    """UltraServer that it is part of."""

    @property
    def path(self) -> Path:
        """All switches from the top down."""
        return (*self.switches, self.leaf)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """Every instance asked for is in exactly one of the two."""

    places: Mapping[str, Place]
    unplaced: Mapping[str, str]
    """Why it is not known where an instance sits."""


def place_instances(ids: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Placement:
    """Say where each instance sits; rows of other instances are left aside.

    A network node that occurs below two others, or both as a leaf and above leaves, gives one
    switch for each: a job must never be told that nodes are near which are not.
    """
    wanted = sorted(set(ids))
    answers: dict[str, set[tuple[Path, str]]] = {name: set() for name in wanted}
    for row in rows:
        if row.get("InstanceId") in answers:
            answers[row["InstanceId"]].add((_path(row), _known(row.get("CapacityBlockId"))))
    unplaced = {name: why for name in wanted if (why := _problem(answers[name]))}
    settled = {name: next(iter(answers[name])) for name in wanted if name not in unplaced}
    names = _switch_names(path for path, _ in settled.values())
    return Placement(
        places={
            name: Place(
                leaf=names[path, True],
                switches=tuple(names[path[:depth], False] for depth in range(1, len(path))),
                domain=_NOT_IN_A_NAME.sub("_", domain),
            )
            for name, (path, domain) in settled.items()
        },
        unplaced=unplaced,
    )


def node_labels(place: Place, *, zone_id: str = "") -> dict[str, str]:
    """Return the labels by which Kubernetes knows a node's place, as EKS writes them."""
    labels = {_LAYER.format(n): name for n, name in enumerate(place.path, start=1)}
    if place.domain:
        labels[_DOMAIN] = place.domain
    if zone_id:
        labels["topology.k8s.aws/zone-id"] = zone_id
    return labels


def _path(row: Mapping[str, Any]) -> Path:
    """Read the network nodes; with one of them unknown the place is unknown."""
    listed = row.get("NetworkNodes")
    if not isinstance(listed, list | tuple):
        return ()
    path = tuple(_known(entry) for entry in listed)
    return path if all(path) else ()


def _known(value: object) -> str:
    """Read an id; the API's examples write the word null where there is none."""
    return value if isinstance(value, str) and value != "null" else ""


def _problem(answers: set[tuple[Path, str]]) -> str:
    if not answers:
        return "the cloud has not said yet where it sits"
    if len(answers) > 1:
        return "the cloud names more than one place for it"
    if not next(iter(answers))[0]:
        return "the cloud names no network nodes for it"
    return ""


def _switch_names(paths: Iterable[Path]) -> dict[tuple[Path, bool], str]:
    """Name every position of the tree: by its id, and where that is not unique by its path too."""
    positions: set[tuple[Path, bool]] = set()
    for path in paths:
        positions.add((path, True))
        positions |= {(path[:depth], False) for depth in range(1, len(path))}
    plain = {position: _NOT_IN_A_NAME.sub("_", position[0][-1]) for position in positions}
    count = Counter(plain.values())
    return {
        position: name if count[name] == 1 else f"{name}-{_mark(position)}"
        for position, name in plain.items()
    }


def _mark(position: tuple[Path, bool]) -> str:
    return hashlib.sha256(repr(position).encode()).hexdigest()[:_MARK_CHARACTERS]
