"""A rolling change of a stack, by push or by boot, with its record in the run store."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.clock import Clock
from muster.converge.boot_stage import boots, change_by_boot
from muster.converge.converge import ConvergeError, converge
from muster.converge.options import ConvergeOptions, NodeType
from muster.converge.record import outcomes
from muster.converge.rolling import (
    RollingLimits,
    RollingRecord,
    can_go_on,
    new_record,
    read_record,
    write_record,
)
from muster.converge.rolling_run import Change, Rolling, RollingEdges
from muster.files import write_atomic
from muster.fleet import Fleet
from muster.progress import Progress
from muster.remote import Remote
from muster.schedulers.model import Scheduler
from muster.software.fleet import FleetUses

RECORD = "rolling.json"
PLAYBOOK = "rolling.yml"


def roll(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    limits: RollingLimits,
    remote: Remote,
    scheduler: Scheduler,
    clock: Clock,
    progress: Progress,
    fresh: bool = False,
    software: FleetUses | None = None,
) -> RollingRecord:
    """Change all nodes wave by wave; one that was cut off goes on, unless `fresh`.

    Nodes that converge themselves are given a new bundle; a push would not outlive a reboot there.

    Raises:
        MusterError: the record in the store is damaged.
        SchedulerUnavailableError: the scheduler could not be asked; run it again.

    """
    path = store_dir / RECORD

    def save(record: RollingRecord) -> None:
        write_atomic(path, write_record(record))

    change = (
        change_by_boot(
            fleet,
            types,
            options,
            store_dir,
            remote=remote,
            clock=clock,
            progress=progress,
            software=software,
        )
        if boots(store_dir)
        else change_by_push(
            fleet, types, options, store_dir, clock=clock, progress=progress, software=software
        )
    )
    record = _begun(path, fleet, progress) if not fresh else None
    if record is None:
        identity = f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        record = new_record(identity, fleet.nodes, limits)
    edges = RollingEdges(
        scheduler=scheduler, change=change, save=save, clock=clock, progress=progress
    )
    return Rolling(record, limits, edges).run()


def change_by_push(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    clock: Clock,
    progress: Progress,
    software: FleetUses | None = None,
) -> Change:
    """Return what runs the playbook on some nodes."""

    def change(names: Sequence[str]) -> Mapping[str, str]:
        limit = ",".join(names)
        try:
            converge(
                fleet,
                types,
                options,
                store_dir,
                progress,
                playbook=PLAYBOOK,
                limit=limit,
                clock=clock,
                software=software,
            )
        except ConvergeError as error:
            return outcomes(fleet, error.failures)
        return {}

    return change


def _begun(path: Path, fleet: Fleet, progress: Progress) -> RollingRecord | None:
    """Return a change that was cut off, of these very machines."""
    if not path.is_file():
        return None
    record = read_record(path.read_text(encoding="utf-8"))
    if not can_go_on(record, fleet.nodes):
        return None
    progress(f"going on with the rolling change {record.id}")
    return record
