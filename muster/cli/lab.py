"""lab break, lab mend, lab faults: faults that really happen, on the lab of a stack."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, StackName, print_json
from muster.errors import UsageError
from muster.lab import faults
from muster.lab.fault_model import NEEDS, Fault, Kind
from muster.plan.lab import plan_lab

app = typer.Typer(no_args_is_help=True, help="Break and mend the embedded lab.")

Subject = Annotated[str, typer.Argument(metavar="NODE|LEAF", help="As gpu-3, or leaf1.")]
Rail = Annotated[int | None, typer.Option(help="Rail, from 0.")]
Gpu = Annotated[int | None, typer.Option(help="GPU, from 0.")]
Percent = Annotated[float | None, typer.Option(help="How much slower, or how much is lost.")]
Mbps = Annotated[float | None, typer.Option(help="Disk rate in MB/s.")]
Seconds = Annotated[float | None, typer.Option(help="How far the clock is off.")]
Unit = Annotated[str, typer.Option(help="systemd unit, as slurmd.")]


@app.command("break")
def break_(  # noqa: PLR0917, typer reads the options from the signature
    stack: StackName,
    kind: Annotated[Kind, typer.Argument(metavar="FAULT", help=f"One of: {', '.join(NEEDS)}.")],
    subject: Subject,
    rail: Rail = None,
    gpu: Gpu = None,
    percent: Percent = None,
    mbps: Mbps = None,
    seconds: Seconds = None,
    unit: Unit = "",
    *,
    as_json: AsJson = False,
) -> None:
    """Make a fault happen; it stays until `muster lab mend`."""
    context = open_stack(stack)
    place = {"leaf" if "leaf" in NEEDS[kind] else "node": subject}
    fault = Fault(
        kind=kind,
        rail=rail,
        gpu=gpu,
        percent=percent,
        mbps=mbps,
        seconds=seconds,
        unit=unit,
        **place,
    )
    done = faults.break_fault(_lab(context), fault)
    context.store.event("fault-made", fault=fault.describe())
    if as_json:
        print_json({"stack": stack, "fault": fault.describe(), "done": done})
    else:
        sys.stdout.write(f"{done}\n")


@app.command()
def mend(stack: StackName, *, as_json: AsJson = False) -> None:
    """Undo every fault; what Slurm drained meanwhile stays drained until it is proved again."""
    context = open_stack(stack)
    mended = faults.mend(_lab(context))
    context.store.event("faults-mended", faults=mended)
    if as_json:
        print_json({"stack": stack, "mended": mended})
        return
    sys.stdout.write("\n".join(mended or ["nothing was broken"]) + "\n")


@app.command("faults")
def list_faults(stack: StackName, *, as_json: AsJson = False) -> None:
    """List what is broken now."""
    context = open_stack(stack)
    active = [fault.describe() for fault in faults.active_faults(_lab(context))]
    if as_json:
        print_json({"stack": stack, "faults": active})
        return
    sys.stdout.write("\n".join(active or ["nothing is broken"]) + "\n")


def _lab(context: Context) -> str:
    spec = context.spec()
    if spec.target != "lab":
        what = f"stack {context.stack} has target {spec.target}"
        raise UsageError(what, hint="Faults can be made in a lab only.")
    return plan_lab(spec, context.catalog, context.stack).lab
