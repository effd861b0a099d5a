"""rolling: change a cluster that works, a few nodes at a time."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Annotated

import typer

from muster import stages
from muster.cli.context import open_stack
from muster.cli.output import AsJson, ProgressLine, StackName, print_json
from muster.converge.rolling import RollingLimits, RollingRecord
from muster.converge.rolling_stage import roll
from muster.errors import MusterError
from muster.lock import stack_lock
from muster.schedulers.slurm import Slurm

Canary = Annotated[int, typer.Option(help="Nodes of the first wave; a failure there ends it.")]
Wave = Annotated[int, typer.Option(help="Nodes that are out of service at a time.")]
MaxFailures = Annotated[int, typer.Option(help="Nodes that may fail before it ends.")]
DrainTimeout = Annotated[float, typer.Option(help="Seconds to wait for the jobs of a wave.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Begin anew; forget one that was cut off.")]


def rolling(
    stack: StackName,
    *,
    canary: Canary = 1,
    wave: Wave = 8,
    max_failures: MaxFailures = 0,
    drain_timeout_s: DrainTimeout = 3600.0,
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Converge nodes in waves: drain, change, reboot where needed, validate, resume."""
    limits = RollingLimits(
        canary=canary, wave=wave, max_failures=max_failures, drain_timeout_s=drain_timeout_s
    )
    context = open_stack(stack)
    fleet, store = context.store.fleet(), context.store.directory
    remote = context.remote(fleet)
    edges = stages.Edges(store=context.store, catalog=context.catalog, clock=context.clock)
    with ProgressLine() as progress, stack_lock(store, clock=context.clock, progress=progress):
        record = roll(
            fleet,
            context.catalog.types,
            stages.options_of(fleet, context.catalog),
            store,
            limits=limits,
            remote=remote,
            scheduler=Slurm(remote, fleet.head.name, context.clock),
            clock=context.clock,
            progress=progress,
            fresh=fresh,
            software=stages.software_of(fleet, edges),
        )
    _show(record, stack, as_json=as_json)
    if not record.ok:
        wrong = [f"{n}: {r.phase}: {r.why}" for n, r in record.nodes.items() if r.why]
        what = "; ".join([record.stopped, *wrong] if record.stopped else wrong)
        raise MusterError(what, hint="Mend what failed, then run it again.")


def _show(record: RollingRecord, stack: str, *, as_json: bool) -> None:
    counts = Counter(node.phase for node in record.nodes.values())
    if as_json:
        nodes = {n: {"phase": r.phase, "why": r.why} for n, r in record.nodes.items()}
        print_json({"stack": stack, "id": record.id, "stopped": record.stopped, "nodes": nodes})
    else:
        said = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items()))
        sys.stdout.write(f"rolling change {record.id}: {said}\n")
