"""Converging and accepting a fleet, wired to their real edges; the provider and the CLI call this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muster.acceptance.campaign import AcceptRequest
from muster.acceptance.campaign import accept as run_campaign
from muster.catalog import Catalog
from muster.clock import Clock
from muster.converge.converge import ConvergeResult
from muster.converge.converge import converge as run_playbooks
from muster.fleet import Fleet
from muster.lock import stack_lock
from muster.progress import Progress
from muster.remote import SshRemote, control_directory
from muster.report.write import write_reports
from muster.runstore import Run, RunStore
from muster.schedulers.slurm import Slurm


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
