"""Which roles every machine of a fleet needs, and what keeps them from running. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from muster.catalog.model import Catalog
from muster.errors import UsageError
from muster.fleet import Fleet, Node
from muster.software.model import MatrixRow, Os, RoleUse, Scheduler, StorageKind, StorageUse
from muster.software.needs import HardwareFacts, hardware_of
from muster.software.selection import select

FleetUses = Mapping[str, tuple[RoleUse, ...]]
"""Roles of each machine, by its name, in the order in which they run."""

_MOUNTED: Mapping[str, StorageKind] = {"lustre": "lustre", "nfs4": "nfs"}
_OF_A_HEAD = frozenset({"packages", "kernel_hold", "tuning", "lustre_client", "nfs", "reboot"})
"""The head runs no jobs: it needs the file systems, and to stay as it is."""


def uses_of(
    fleet: Fleet,
    row: MatrixRow,
    systems: Mapping[str, Os],
    catalog: Catalog,
    facts: HardwareFacts,
    *,
    scheduler: Scheduler = "slurm",
) -> FleetUses:
    """Return the roles of the head and of every node; `systems` has the system of each by name.

    Raises:
        UsageError: the row is not for a machine's operating system.

    """
    storage = tuple({StorageUse(kind=_MOUNTED[mount.kind], efa=False) for mount in fleet.mounts})

    def of(node: Node) -> tuple[RoleUse, ...]:
        hardware = hardware_of(catalog.instance_type(node.type), catalog, facts)
        os = systems[node.name]
        return select(row, hardware, scheduler=scheduler, storage=storage, os=os)

    head = tuple(use for use in of(fleet.head) if use.role in _OF_A_HEAD)
    return {fleet.head.name: head, **{node.name: of(node) for node in fleet.nodes}}


def refuse_unknown(uses: FleetUses, row: str) -> None:
    """Stop before anything is installed where a role's arguments are not all known.

    Raises:
        UsageError: it names each thing that is not known, once.

    """
    missing = dict.fromkeys(_missing(use for roles in uses.values() for use in roles))
    if missing:
        hint = f"State it in stacks/software/{row}.yaml: docs/howto/software.md says how."
        raise UsageError(f"not known: {'; '.join(missing)}", where=f"software {row}", hint=hint)


def _missing(uses: Iterable[RoleUse]) -> Iterable[str]:
    return (f"{use.role}: {what}" for use in uses for what in use.missing)
