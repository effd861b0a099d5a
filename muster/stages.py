"""Converging and accepting a fleet, wired to their real edges, for the provider and the CLI."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.catalog import Catalog
from muster.clock import Clock
from muster.converge.converge import ConvergeError
from muster.converge.converge import converge as run_playbooks
from muster.converge.options import ConvergeOptions, lab_options
from muster.fleet import Fleet
from muster.lock import stack_lock
from muster.progress import Progress
from muster.runstore import RunStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Edges:
    """What both stages work with: the stack's store, the catalog and the clock."""

    store: RunStore
    catalog: Catalog
    clock: Clock


@dataclass(frozen=True, kw_only=True, slots=True)
class Converged:
    """What a converge left: `stamp` names it, `failed` maps nodes to why they are not right."""

    stamp: str
    changed: int
    failed: Mapping[str, str]
    log: Path


def converge(fleet: Fleet, edges: Edges, progress: Progress, *, check: bool = False) -> Converged:
    """Run the playbooks on the fleet; fleet.json is written first.

    A node that fails does not hold up the others: it is named in `failed`, and not accepted.

    Raises:
        ConvergeError: the head failed, or every node did.
        MusterError: the stack is in use.

    """
    store = edges.store
    with stack_lock(store.directory, clock=edges.clock, progress=progress):
        if not check:
            store.write_fleet(fleet)
        stamp = f"{edges.clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        try:
            done = run_playbooks(
                fleet,
                edges.catalog.types,
                _options(fleet),
                store.directory,
                progress,
                check=check,
                clock=edges.clock,
            )
        except ConvergeError as error:
            failed = _failed_nodes(error, fleet)
            return Converged(stamp=stamp, changed=0, failed=failed, log=error.log)
    return Converged(stamp=stamp, changed=done.changed, failed={}, log=done.log)


def _failed_nodes(error: ConvergeError, fleet: Fleet) -> Mapping[str, str]:
    nodes = {node.name for node in fleet.nodes}
    failed = {failure.host: f"{failure.task}: {failure.message}" for failure in error.failures}
    if not set(failed) <= nodes or set(failed) == nodes:
        raise error
    return failed


def _options(fleet: Fleet) -> ConvergeOptions:
    return lab_options() if fleet.target == "lab" else ConvergeOptions()
