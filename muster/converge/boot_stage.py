"""Converge a fleet by boot: the head is pushed, each node pulls the signed bundle itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.clock import Clock
from muster.converge.boot import BootStatus, enrol, follow, serve, start_over
from muster.converge.boot_bundle import publish_bundle
from muster.converge.boot_files import BootSettings
from muster.converge.converge import ConvergeError, converge
from muster.converge.options import ConvergeOptions, NodeType
from muster.converge.record import write_outcomes
from muster.converge.rolling_run import Change
from muster.files import write_atomic
from muster.fleet import Fleet
from muster.progress import Progress
from muster.remote import Remote
from muster.software.fleet import FleetUses

DEPOT_PORT = 8421
_RECORD = "boot.json"
"""Says that the stack's nodes converge themselves, and from where."""
_NOT_YET = "not registered with slurmctld"
"""What role slurmctld says at the end of a head's converge (a test holds the two together)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Booted:
    """Which bundle it was, what each node said last, and why, for each that is not in service."""

    bundle: str
    nodes: Mapping[str, BootStatus]
    failed: Mapping[str, str]


def boot_fleet(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    remote: Remote,
    clock: Clock,
    progress: Progress,
    source: str = "",
    timeout_s: float = 1800.0,
    software: FleetUses | None = None,
) -> Booted:
    """Publish, serve, enrol, and wait for all nodes; `source` is where nodes pull instead.

    Raises:
        ConvergeError: the head failed.
        RemoteError: the head could not be reached.

    """
    progress("making the bundle")
    bundle, directory = publish_bundle(fleet, types, options, store_dir, software=software)
    address = source or serve(fleet, remote, directory, DEPOT_PORT)
    write_atomic(store_dir / _RECORD, json.dumps({"source": source}) + "\n")
    names = [node.name for node in fleet.nodes]
    progress(f"enrolling {len(names)} nodes")
    settings = BootSettings(stack=fleet.stack, source=address)
    lost = enrol(fleet, names, settings, remote, store_dir)
    # The nodes work meanwhile; what they need of the head they get at a later attempt.
    try:
        converge(
            fleet,
            types,
            options,
            store_dir,
            progress,
            limit=fleet.head.name,
            clock=clock,
            software=software,
        )
    except ConvergeError as error:
        if not _only_waits_for_nodes(error):
            raise
    enrolled = [name for name in names if name not in lost]
    found = follow(remote, enrolled, bundle.sha256, clock, progress, timeout_s=timeout_s)
    failed = lost | _failures(found, bundle.sha256)
    write_outcomes(store_dir, fleet, {name: failed.get(name, "") for name in names})
    return Booted(bundle=bundle.sha256, nodes=found, failed=failed)


def boots(store_dir: Path) -> bool:
    """Do the stack's nodes converge themselves?"""
    return (store_dir / _RECORD).is_file()


def change_by_boot(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    *,
    remote: Remote,
    clock: Clock,
    progress: Progress,
    software: FleetUses | None = None,
) -> Change:
    """Publish the bundle of now; returns what has drained nodes apply it, and reboot if need be."""
    bundle, directory = publish_bundle(fleet, types, options, store_dir, software=software)
    if not json.loads((store_dir / _RECORD).read_text(encoding="utf-8"))["source"]:
        serve(fleet, remote, directory, DEPOT_PORT)

    def change(names: Sequence[str]) -> Mapping[str, str]:
        for name in names:
            start_over(remote, name)
        found = follow(remote, names, bundle.sha256, clock, progress, timeout_s=options.timeout_s)
        return _failures(found, bundle.sha256)

    return change


def _failures(found: Mapping[str, BootStatus], bundle: str) -> dict[str, str]:
    return {
        name: f"boot {status.state}: {status.message or 'it did not come to an end'}"
        for name, status in found.items()
        if not status.converged_with(bundle)
    }


def _only_waits_for_nodes(error: ConvergeError) -> bool:
    """Is the head itself right, and only some node not there yet? Those are waited for here."""
    return bool(error.failures) and all(_NOT_YET in f.message for f in error.failures)
