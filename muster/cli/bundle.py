"""bundle and boot: nodes that converge themselves from a signed archive."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from muster import stages
from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, ProgressLine, StackName, print_json
from muster.converge.boot_bundle import publish_bundle
from muster.converge.boot_stage import boot_fleet
from muster.errors import MusterError
from muster.fleet import Fleet
from muster.lock import stack_lock
from muster.software.fleet import FleetUses

Source = Annotated[
    str, typer.Option(help="Where nodes pull from (http(s)://, or a path on the node); the head.")
]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for the nodes.", min=1)]


def bundle(stack: StackName, *, as_json: AsJson = False) -> None:
    """Write the signed bundle of the stack's nodes; the folder may be served as it is."""
    context = open_stack(stack)
    fleet, store = context.store.fleet(), context.store.directory
    with ProgressLine() as progress, stack_lock(store, clock=context.clock, progress=progress):
        options = stages.options_of(fleet, context.catalog)
        made, directory = publish_bundle(
            fleet, context.catalog.types, options, store, software=_software(context, fleet)
        )
    if as_json:
        print_json({"stack": stack, "bundle": made.sha256, "directory": str(directory)})
    else:
        sys.stdout.write(f"{directory / made.name}\n")


def boot(
    stack: StackName, *, source: Source = "", timeout_s: Timeout = 1800.0, as_json: AsJson = False
) -> None:
    """Converge by boot: every node pulls the signed bundle and applies it to itself."""
    context = open_stack(stack)
    fleet, store = context.store.fleet(), context.store.directory
    with ProgressLine() as progress, stack_lock(store, clock=context.clock, progress=progress):
        done = boot_fleet(
            fleet,
            context.catalog.types,
            stages.options_of(fleet, context.catalog),
            store,
            remote=context.remote(fleet),
            clock=context.clock,
            progress=progress,
            source=source,
            timeout_s=timeout_s,
            software=_software(context, fleet),
        )
    if as_json:
        nodes = [asdict(status) for _, status in sorted(done.nodes.items())]
        print_json(
            {"stack": stack, "bundle": done.bundle, "nodes": nodes, "failed": dict(done.failed)}
        )
    else:
        right = len(fleet.nodes) - len(done.failed)
        sys.stdout.write(f"{right} of {len(fleet.nodes)} nodes are at {done.bundle[:12]}\n")
    if done.failed:
        what = "; ".join(f"{node}: {why}" for node, why in sorted(done.failed.items()))
        raise MusterError(what, hint="They go on trying; ask again with `muster boot`.")


def _software(context: Context, fleet: Fleet) -> FleetUses | None:
    edges = stages.Edges(store=context.store, catalog=context.catalog, clock=context.clock)
    return stages.software_of(fleet, edges)
