"""Which nodes change together, and what is kept about a rolling change; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from muster.errors import MusterError, UsageError
from muster.fleet import Node

Phase = Literal["waiting", "draining", "applying", "done", "failed", "left"]
"""`left`: not touched, as it is busy, another's, or unknown to the scheduler."""

_OVER: frozenset[Phase] = frozenset({"done", "failed", "left"})


@dataclass(frozen=True, kw_only=True, slots=True)
class RollingLimits:
    """How careful a rolling change is."""

    canary: int = 1
    """Nodes of the first wave; one failure there ends the change. 0: no canary."""
    wave: int = 8
    """Nodes that are out of service at a time."""
    max_failures: int = 0
    """How many nodes may fail before no further wave begins."""
    drain_timeout_s: float = 3600.0
    """How long to wait for the jobs of a wave; who is busy then is left as it is."""
    register_timeout_s: float = 120.0
    """How long a node may take to be usable again."""

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        if self.canary < 0 or self.wave < 1 or self.max_failures < 0:
            what = f"canary {self.canary}, wave {self.wave}, max failures {self.max_failures}"
            raise UsageError(what, hint="A wave has 1 node or more; nothing is negative.")


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRecord:
    """How far one node is."""

    serial: str
    phase: Phase = "waiting"
    why: str = ""
    held: bool = False
    """It was out of service before, by us: it is changed, and stays out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RollingRecord:
    """A rolling change, from its plan to its end."""

    id: str
    canary: bool
    waves: tuple[tuple[str, ...], ...]
    nodes: Mapping[str, NodeRecord] = field(default_factory=dict)
    stopped: str = ""
    finished: bool = False

    @property
    def reason(self) -> str:
        """What the scheduler is told of a node that is being changed."""
        return f"muster:rolling:{self.id}"

    @property
    def failed(self) -> tuple[str, ...]:
        """Nodes that failed."""
        return tuple(name for name, node in self.nodes.items() if node.phase == "failed")

    @property
    def ok(self) -> bool:
        """Did every node change?"""
        return all(node.phase == "done" for node in self.nodes.values())

    def open_in(self, wave: Sequence[str]) -> tuple[str, ...]:
        """Return the nodes of a wave that are still to be changed."""
        return tuple(name for name in wave if self.nodes[name].phase not in _OVER)

    def noted(self, name: str, phase: Phase, why: str = "") -> RollingRecord:
        """Return the record with a node's new phase."""
        changed = replace(self.nodes[name], phase=phase, why=why)
        return replace(self, nodes={**self.nodes, name: changed})

    def stop_reason(self, wave: int, limits: RollingLimits) -> str:
        """Why no wave may begin after this one; empty where one may."""
        failed = len(self.failed)
        if self.canary and wave == 0 and set(self.waves[0]) & set(self.failed):
            return "the canary failed"
        if failed > limits.max_failures:
            return f"{failed} nodes failed, {limits.max_failures} may"
        return ""


def plan_waves(nodes: Sequence[Node], *, canary: int, wave: int) -> tuple[tuple[str, ...], ...]:
    """Return who changes together: each node once, the canary first, leaves taken in turn.

    In turn, so that a wave takes a little of each leaf rather than all of one.
    """
    leaves: dict[str, list[str]] = {}
    for node in nodes:
        leaves.setdefault(node.leaf, []).append(node.name)
    order = [name for row in zip_longest(*leaves.values()) for name in row if name is not None]
    first, rest = order[:canary], order[canary:]
    cuts = [tuple(rest[at : at + wave]) for at in range(0, len(rest), wave)]
    return ((tuple(first),) if first else ()) + tuple(cuts)


def new_record(identity: str, nodes: Sequence[Node], limits: RollingLimits) -> RollingRecord:
    """Return the record of a change that has not begun."""
    return RollingRecord(
        id=identity,
        canary=limits.canary > 0,
        waves=plan_waves(nodes, canary=limits.canary, wave=limits.wave),
        nodes={node.name: NodeRecord(serial=node.serial) for node in nodes},
    )


def write_record(record: RollingRecord) -> str:
    """Write a record as JSON."""
    return json.dumps(asdict(record), indent=1) + "\n"


def read_record(text: str) -> RollingRecord:
    """Read one back.

    Raises:
        MusterError: it is none.

    """
    try:
        data = json.loads(text)
        nodes = {name: NodeRecord(**entry) for name, entry in data.pop("nodes").items()}
        waves = tuple(tuple(wave) for wave in data.pop("waves"))
        record = RollingRecord(**data, waves=waves, nodes=nodes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"not the record of a rolling change ({error!r})"
        raise MusterError(what, hint="Begin anew with --fresh.") from error
    if sorted(name for wave in waves for name in wave) != sorted(nodes):
        what = "the record of a rolling change has waves of other nodes"
        raise MusterError(what, hint="Begin anew with --fresh.")
    return record


def can_go_on(record: RollingRecord, nodes: Sequence[Node]) -> bool:
    """Is it a change that was cut off, of the same machines?"""
    same = {node.name: node.serial for node in nodes}
    return not record.finished and same == {n: r.serial for n, r in record.nodes.items()}
