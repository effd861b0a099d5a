"""Which faults a lab can have, and what each does to links. Pure, and the record of active ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from muster.errors import UsageError
from muster.files import write_atomic
from muster.lab.links import Change, node_rail_link, ordinal_of, uplink_links
from muster.lab.model import NetworkWish
from muster.lab.paths import LabPaths

_KBIT_PER_MBIT = 1000
_WHOLE = 100
_LOSS_SCALE = 10_000


class Kind(StrEnum):
    """What breaks."""

    SLOW_RAIL = "slow-rail"
    RAIL_DOWN = "rail-down"
    SLOW_UPLINK = "slow-uplink"
    PACKET_LOSS = "packet-loss"
    MISSING_GPU = "missing-gpu"
    ECC_ERROR = "ecc-error"
    DAEMON_DEAD = "daemon-dead"
    SLOW_DISK = "slow-disk"
    CPU_THROTTLED = "cpu-throttled"
    WRONG_CLOCK = "wrong-clock"
    HUNG_NODE = "hung-node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault; which fields it needs depends on its kind (`NEEDS`)."""

    kind: Kind
    node: str = ""
    leaf: str = ""
    rail: int | None = None
    gpu: int | None = None
    percent: float | None = None
    mbps: float | None = None
    """Megabytes per second."""
    seconds: float | None = None
    unit: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """What is broken: a second fault at the same place takes the first one's."""
        return (self.kind, self.node, self.leaf, str(self.rail), str(self.gpu), self.unit)

    def describe(self) -> str:
        """Return one phrase, as "slow-rail gpu-3 rail=1 percent=20"."""
        names = ("rail", "gpu", "percent", "mbps", "seconds", "unit")
        values = {name: getattr(self, name) for name in names}
        options = [f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}"
                   for k, v in values.items() if v not in (None, "")]  # fmt: skip
        return " ".join([self.kind, self.node or self.leaf, *options])


NEEDS: dict[Kind, tuple[str, ...]] = {
    Kind.SLOW_RAIL: ("node", "rail", "percent"),
    Kind.RAIL_DOWN: ("node", "rail"),
    Kind.SLOW_UPLINK: ("leaf", "rail", "percent"),
    Kind.PACKET_LOSS: ("node", "rail", "percent"),
    Kind.MISSING_GPU: ("node", "gpu"),
    Kind.ECC_ERROR: ("node", "gpu"),
    Kind.DAEMON_DEAD: ("node", "unit"),
    Kind.SLOW_DISK: ("node", "mbps"),
    Kind.CPU_THROTTLED: ("node", "percent"),
    Kind.WRONG_CLOCK: ("node", "seconds"),
    Kind.HUNG_NODE: ("node",),
}
"""The fields that each kind needs; all others must be left out."""

_FIELDS = ("node", "leaf", "rail", "gpu", "percent", "mbps", "seconds", "unit")


def check(fault: Fault, wish: NetworkWish, gpu_count: int) -> None:
    """Refuse a fault that this lab cannot have.

    Raises:
        UsageError: a field is missing, superfluous or out of range; no such node, leaf, rail, GPU.

    """
    needed = NEEDS[fault.kind]
    given = {name for name in _FIELDS if getattr(fault, name) not in (None, "")}
    if given != set(needed):
        hint = f"It needs {', '.join(needed)} and nothing else."
        raise UsageError(
            f"got {', '.join(sorted(given)) or 'nothing'}", where=fault.kind, hint=hint
        )
    _one_of(fault, "node", fault.node, ("head", *wish.node_names()))
    _one_of(fault, "leaf", fault.leaf, tuple(wish.leaves))
    _in_range(fault, "rail", fault.rail, 0, wish.rails - 1)
    _in_range(fault, "gpu", fault.gpu, 0, gpu_count - 1)
    _in_range(fault, "percent", fault.percent, 0.1, 99)
    _in_range(fault, "mbps", fault.mbps, 0.1, 100_000)
    if fault.rail is not None and fault.node == "head":
        raise UsageError("the head has no rails", where=fault.kind)


def _one_of(fault: Fault, what: str, value: str, known: Sequence[str]) -> None:
    if value and value not in known:
        raise UsageError(
            f"no {what} {value!r}", where=fault.kind, hint=f"Known: {', '.join(known)}."
        )


def _in_range(fault: Fault, what: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        raise UsageError(f"{what} {value:g}", where=fault.kind, hint=f"Use {low:g} to {high:g}.")


def with_fault(active: Sequence[Fault], fault: Fault) -> tuple[Fault, ...]:
    """Return the active faults with one more; it takes the place of one of the same place."""
    return (*(f for f in active if f.place != fault.place), fault)


def link_changes(
    paths: LabPaths, wish: NetworkWish, active: Sequence[Fault]
) -> dict[tuple[str, str], Change]:
    """Return what the active faults do to links, by (namespace, link)."""
    changes: dict[tuple[str, str], Change] = {}
    fabric, names = paths.fabric_netns, wish.node_names()
    for fault in active:
        rail = fault.rail or 0
        slower = 1 - (fault.percent or 0) / _WHOLE
        outside = node_rail_link(ordinal_of(wish, fault.node), rail)
        if fault.kind is Kind.SLOW_RAIL and fault.node in names:
            change = Change(rate_kbit=round(wish.rail_rate_mbit * _KBIT_PER_MBIT * slower))
            changes[fabric, outside] = change
            changes[paths.machine(fault.node), f"rail{rail}"] = change
        elif fault.kind is Kind.SLOW_UPLINK and fault.leaf in wish.leaves:
            change = Change(rate_kbit=round(wish.uplink_rate_mbit * _KBIT_PER_MBIT * slower))
            for end in uplink_links(list(wish.leaves).index(fault.leaf), rail):
                changes[fabric, end] = change
    for fault in active:
        if fault.kind is Kind.RAIL_DOWN and fault.node in names:
            key = (fabric, node_rail_link(ordinal_of(wish, fault.node), fault.rail or 0))
            changes[key] = Change(changes.get(key, Change()).rate_kbit, up=False)
    return changes


def loss_rules(wish: NetworkWish, active: Sequence[Fault], present: Collection[str]) -> str:
    """Return the nft table of the fabric for packet loss, both directions; empty if there is none.

    Only links that are `present` are named: nft refuses the whole table for one it does not find.
    A closing brace on the same line as `drop` is a syntax error in nft 1.0.6.
    """
    chains: list[str] = []
    for fault in active:
        device = node_rail_link(ordinal_of(wish, fault.node), fault.rail or 0)
        if fault.kind is not Kind.PACKET_LOSS or device not in present:
            continue
        limit = round((fault.percent or 0) * _LOSS_SCALE / _WHOLE)
        chains += [
            f"  chain {device}_{hook} {{\n"
            f'    type filter hook {hook} device "{device}" priority 0\n'
            f"    numgen random mod {_LOSS_SCALE} < {limit} counter drop\n"
            "  }\n"
            for hook in ("ingress", "egress")
        ]
    return "table netdev loss {\n" + "".join(chains) + "}\n" if chains else ""


def load(path: Path) -> tuple[Fault, ...]:
    """Read the active faults."""
    if not path.is_file():
        return ()
    rows = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Fault(**{**row, "kind": Kind(row["kind"])}) for row in rows)


def save(path: Path, active: Sequence[Fault]) -> None:
    """Write the active faults; the file goes with the last of them."""
    if active:
        write_atomic(path, json.dumps([asdict(fault) for fault in active], indent=2) + "\n")
    else:
        path.unlink(missing_ok=True)
