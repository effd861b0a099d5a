"""From a row and an instance type to what its rules are asked. Pure."""

from __future__ import annotations

from muster.catalog.model import Catalog, InstanceType
from muster.software.model import MatrixRow, Os, Scheduler, StorageUse
from muster.software.needs import HardwareFacts, hardware_of
from muster.software.rules import Question
from muster.software.selection import ROLE_ORDER, select

_VENDORS = frozenset({"nvidia", "amd", "muster"})
"""Makers of accelerators that roles are for, or that need none, as the lab's."""


def about_row(row: MatrixRow, os: Os, facts: HardwareFacts) -> Question:
    """Ask about a row alone."""
    return Question(row=row, os=os, roles=frozenset(ROLE_ORDER), facts=facts)


def about_type(
    row: MatrixRow,
    os: Os,
    kind: InstanceType,
    catalog: Catalog,
    facts: HardwareFacts,
    *,
    scheduler: Scheduler,
    storage: tuple[StorageUse, ...],
) -> Question:
    """Ask about a row on a type of machine.

    Raises:
        UsageError: the row is not for this operating system.

    """
    hardware = hardware_of(kind, catalog, facts)
    uses = select(row, hardware, scheduler=scheduler, storage=storage, os=os)
    gpu = catalog.gpus.get(kind.gpu_model) if kind.gpu_count else None
    return Question(
        row=row,
        os=os,
        roles=frozenset(use.role for use in uses),
        hardware=hardware,
        facts=facts,
        boot_modes=kind.boot_modes,
        lustre_efa=hardware.fabric == "efa" and any(use.efa for use in storage),
        unserved=gpu.model if gpu and gpu.vendor not in _VENDORS else "",
    )
