"""Converging and accepting a fleet, wired to their real edges, for the provider and the CLI."""

from __future__ import annotations

from muster.catalog import Catalog
from muster.clock import Clock
from muster.converge.converge import ConvergeResult
from muster.converge.converge import converge as run_playbooks
from muster.fleet import Fleet
from muster.lock import stack_lock
from muster.progress import Progress
from muster.runstore import RunStore


def converge(
    fleet: Fleet, store: RunStore, catalog: Catalog, clock: Clock, progress: Progress
) -> ConvergeResult:
    """Run the playbooks on the fleet, and write fleet.json first.

    Raises:
        MusterError: the head failed, or all nodes did; or the stack is in use.

    """
    with stack_lock(store.directory, clock=clock, progress=progress):
        store.write_fleet(fleet)
        return run_playbooks(fleet, catalog, store.directory, progress)
