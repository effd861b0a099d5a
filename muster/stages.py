"""Converging and accepting a fleet, wired to their real edges, for the provider and the CLI."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import muster
from muster.acceptance.campaign import accept as run_campaign
from muster.acceptance.policy import AcceptancePolicy, for_shared_machine
from muster.acceptance.request import AcceptRequest, Waiver
from muster.catalog import Catalog
from muster.catalog.software import load_hardware, load_row
from muster.clock import Clock
from muster.converge.converge import ConvergeError
from muster.converge.converge import converge as run_playbooks
from muster.converge.options import ConvergeOptions, lab_options
from muster.converge.record import outcomes, read_outcomes, write_outcomes
from muster.converge.release import systems_of
from muster.fleet import Fleet
from muster.lock import stack_lock
from muster.plan.acceptance import plan_policy
from muster.progress import Progress
from muster.project import software_directory
from muster.remote import SshRemote, control_directory
from muster.report.write import write_reports
from muster.runstore import Run, RunStore
from muster.schedulers.slurm import Slurm
from muster.software.fleet import FleetUses, refuse_unknown, uses_of
from muster.spec import PolicyTable


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
        software = software_of(fleet, edges)
        try:
            done = run_playbooks(
                fleet,
                edges.catalog.types,
                options_of(fleet, edges.catalog),
                store.directory,
                progress,
                check=check,
                clock=edges.clock,
                software=software,
            )
        except ConvergeError as error:
            found = outcomes(fleet, error.failures)
            if not check:
                write_outcomes(store.directory, fleet, found)
            if all(found.values()):
                raise
            failed = {name: why for name, why in found.items() if why}
            return Converged(stamp=stamp, changed=0, failed=failed, log=error.log)
        if not check:
            write_outcomes(store.directory, fleet, outcomes(fleet, ()))
    return Converged(stamp=stamp, changed=done.changed, failed={}, log=done.log)


def software_of(fleet: Fleet, edges: Edges) -> FleetUses | None:
    """Choose the roles of every machine by its hardware and its operating system.

    None where the spec names no row of the matrix.

    Raises:
        UsageError: something that a role installs is not known.

    """
    if not fleet.software:
        return None
    remote = SshRemote(fleet, control_directory(edges.store.directory))
    systems = systems_of(remote, [node.name for node in (fleet.head, *fleet.nodes)])
    row = load_row(fleet.software, overlays=software_directory())
    uses = uses_of(fleet, row, systems, edges.catalog, load_hardware())
    refuse_unknown(uses, row.name)
    return uses


def options_of(fleet: Fleet, catalog: Catalog) -> ConvergeOptions:
    """Choose how to converge by what the nodes share, and by who made them."""
    options = lab_options() if _share_machine(fleet, catalog) else ConvergeOptions()
    return replace(
        options,
        set_hostname=fleet.target != "lab",
        shared_directory=fleet.shared_directory,
    )


def _share_machine(fleet: Fleet, catalog: Catalog) -> bool:
    """Do the nodes share one machine's cores, kernel and clock?"""
    return any(catalog.instance_type(node.type).shared_cpus for node in fleet.nodes)


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptOrder:
    """What the spec says of acceptance; `only` limits the tests to some nodes."""

    wanted: int
    policy: str | PolicyTable = "quick"
    waivers: tuple[Waiver, ...] = ()
    only: frozenset[str] | None = None


def accept(fleet: Fleet, order: AcceptOrder, edges: Edges, progress: Progress) -> Run:
    """Prove the fleet and write the run's reports; the verdict is in the run.

    Raises:
        SchedulerUnavailableError: the scheduler could not be asked, so nothing was tested.
        MusterError: the stack is in use.

    """
    store = edges.store
    with stack_lock(store.directory, clock=edges.clock, progress=progress):
        run = store.new_run()
        remote = SshRemote(fleet, control_directory(store.directory))
        scheduler = Slurm(remote, fleet.head.name, edges.clock)
        request = AcceptRequest(
            fleet=fleet,
            catalog=edges.catalog,
            policy=policy_of(order.policy, edges.catalog, fleet),
            wanted=order.wanted,
            shared_dir=fleet.shared_directory,
            waivers=order.waivers,
            only=order.only,
            converge_failures=read_outcomes(store.directory, fleet),
            version=muster.__version__,
        )
        run_campaign(
            request,
            scheduler=scheduler,
            remote=remote,
            run=run,
            clock=edges.clock,
            progress=progress,
        )
        write_reports(run, fleet)
    return run


def policy_of(wish: str | PolicyTable, catalog: Catalog, fleet: Fleet) -> AcceptancePolicy:
    """Turn the spec's policy into what to run; nodes that share a machine take turns."""
    policy = plan_policy(wish, catalog)
    if not _share_machine(fleet, catalog):
        return policy
    rails = catalog.instance_type(fleet.nodes[0].type).rails
    pair_mbit = float(sum(rail.rate_mbit or 0 for rail in rails))
    return for_shared_machine(policy, cores=os.cpu_count() or 1, pair_mbit=pair_mbit)
