"""status, report, catalog, spec: what is known, without changing anything."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from muster.catalog import load_catalog
from muster.catalog.show import type_json, type_rows
from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, StackName, print_json
from muster.cli.summary import exit_status, summary_document
from muster.project import price_directory
from muster.readiness import Readiness
from muster.report.terminal import show_status
from muster.report.write import write_reports
from muster.schedulers.model import NodeStatus, SchedulerUnavailableError
from muster.schedulers.slurm import Slurm
from muster.spec import json_schema

_MINUTE_S = 60
_UNKNOWN = 3

catalog_app = typer.Typer(no_args_is_help=True, help="Facts, each with its source and date.")
spec_app = typer.Typer(no_args_is_help=True, help="The form of a stack's spec.")
TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="Instance type, as p5.48xlarge.")]


def status(stack: StackName, *, as_json: AsJson = False) -> None:
    """Say what the last run found, and what the scheduler says now."""
    context = open_stack(stack)
    fleet = context.store.fleet()
    run = next((run for run in reversed(list(context.store.runs())) if run.readiness()), None)
    readiness = run.readiness() if run else None
    try:
        now = Slurm(context.remote(fleet), fleet.head.name, context.clock).nodes()
        scheduler = ""
    except SchedulerUnavailableError as error:
        now, scheduler = dict[str, NodeStatus](), str(error)
    if as_json:
        print_json(
            {
                "stack": stack,
                "readiness": summary_document(run) if run else None,
                "scheduler": {name: sorted(found.states) for name, found in now.items()},
                "schedulerError": scheduler or None,
            }
        )
    else:
        console = Console(highlight=False)
        console.print(show_status(fleet, readiness, age=_age(context, readiness)), crop=False)
        console.print(_scheduler_line(now, scheduler), markup=False)
    sys.exit(_UNKNOWN if run is None or scheduler else exit_status(run))


def report(stack: StackName, *, as_json: AsJson = False) -> None:
    """Write the last run's report again, and print where it is."""
    context = open_stack(stack)
    paths = write_reports(context.store.latest(), context.store.fleet())
    if as_json:
        print_json({"html": str(paths.html), "junit": str(paths.junit)})
    else:
        sys.stdout.write(f"{paths.html}\n{paths.junit}\n")


@catalog_app.command("show")
def catalog_show(type_name: TypeName, *, as_json: AsJson = False) -> None:
    """Print all that is known about an instance type, and from where."""
    catalog = load_catalog(prices=price_directory())
    if as_json:
        print_json(type_json(catalog, type_name))
        return
    table = Table("field", "value", "source", "as of", box=None, header_style="bold")
    for row in type_rows(catalog, type_name):
        table.add_row(row.field, row.value, row.source, row.as_of)
    Console(highlight=False).print(table)


@spec_app.command("schema")
def spec_schema() -> None:
    """Print the JSON Schema of `muster:cluster`, for editors."""
    print_json(json_schema())


def _age(context: Context, readiness: Readiness | None) -> str:
    if readiness is None:
        return ""
    minutes = (context.clock.now() - readiness.time).total_seconds() / _MINUTE_S
    return f"{minutes:.0f} min ago"


def _scheduler_line(now: Mapping[str, NodeStatus], error: str) -> str:
    if error:
        return f"scheduler: unknown ({error})"
    out = {n: s for n, s in now.items() if not s.usable}
    said = "; ".join(f"{n} {'+'.join(sorted(s.states))} {s.reason}" for n, s in out.items())
    return f"scheduler: {len(now) - len(out)} of {len(now)} nodes in service. {said}".strip()
