"""simulate: an acceptance run of a fleet that does not exist, with faults of one's choice."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from muster.acceptance.locate import LocateVerdict, Policy
from muster.acceptance.policy import load_policy
from muster.acceptance.simulated_campaign import (
    TARGET,
    Simulation,
    fabric_of,
    fleet_of,
)
from muster.acceptance.simulated_campaign import simulate as run_simulation
from muster.acceptance.simulated_faults import describe_faults, parse_fault
from muster.acceptance.simulated_naming import Named, compare
from muster.catalog import load_catalog
from muster.cli.output import AsJson, ProgressLine, print_json
from muster.cli.summary import exit_status, summary_document
from muster.clock import SystemClock
from muster.errors import UsageError
from muster.project import store_root
from muster.report.terminal import summarize
from muster.report.write import write_reports
from muster.runstore import Run, RunStore

_BYTES_PER_GBIT = 1e9 / 8

Nodes = Annotated[int, typer.Option("--nodes", min=1, max=16_384, help="Nodes: n0, n1, ...")]
LeafSize = Annotated[int, typer.Option("--leaf-size", min=1, help="Nodes at each leaf switch.")]
Rails = Annotated[int, typer.Option("--rails", min=1, max=16, help="Rails of each node.")]
Faults = Annotated[
    list[str] | None,
    typer.Option("--fault", metavar="FAULT", help="What is broken; repeatable. See below."),
]
Seed = Annotated[int, typer.Option("--seed", help="Another seed is another fleet and noise.")]
Noise = Annotated[float, typer.Option("--noise", min=0, max=50, help="Noise of a test, percent.")]
Transients = Annotated[
    float, typer.Option("--transients", min=0, max=100, help="Disturbed tests, percent.")
]
Rate = Annotated[float, typer.Option("--rate", min=0.001, help="Speed of a rail, Gbit/s.")]
PolicyName = Annotated[str, typer.Option("--policy", help="quick, training or soak.")]
Wanted = Annotated[int | None, typer.Option("--wanted", min=1, help="Nodes that must be accepted.")]
Out = Annotated[Path | None, typer.Option("--out", help="Where runs are kept; default: the store.")]

EPILOG = "\n\n".join(["Faults, with their usual value:", *describe_faults()])


def simulate(
    *,
    nodes: Nodes = 512,
    leaf_size: LeafSize = 16,
    rails: Rails = 8,
    fault: Faults = None,
    seed: Seed = 0,
    noise: Noise = 1.0,
    transients: Transients = 1.0,
    rate: Rate = 400.0,
    policy: PolicyName = "quick",
    wanted: Wanted = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Prove a fleet that exists as numbers only: who is named for the faults you choose?"""
    fabric = fabric_of(nodes, leaf_size, rails)
    chance = Random(seed)  # noqa: S311 - a simulation, not a secret
    simulation = Simulation(
        fabric=fabric,
        faults=tuple(parse_fault(text, fabric, chance) for text in fault or ()),
        seed=seed,
        rate_bps=rate * _BYTES_PER_GBIT,
        noise=noise / 100,
        transients=transients / 100,
        policy=_policy(policy),
        wanted=nodes if wanted is None else wanted,
    )
    run, verdict = _run(simulation, out)
    named = compare(simulation.faults, verdict)
    if as_json:
        rows = [{"injected": n.injected, "named": n.said, "right": n.right} for n in named]
        print_json({"simulated": True, "faults": rows, **summary_document(run)})
    else:
        _show(run, verdict, named, simulation)
    sys.exit(exit_status(run))


def _policy(name: str) -> Policy:
    pairs = load_policy(name, load_catalog()).pairs
    return Policy(
        intra_rounds=pairs.intra_rounds,
        cross_rounds=pairs.cross_rounds,
        confirm_rounds=pairs.confirm_rounds,
    )


def _run(simulation: Simulation, out: Path | None) -> tuple[Run, LocateVerdict]:
    clock = SystemClock()
    store = RunStore(out.resolve() if out else _store(), TARGET, clock)
    fleet = fleet_of(simulation.fabric)
    store.write_fleet(fleet)
    run = store.new_run()
    with ProgressLine() as progress:
        verdict = run_simulation(simulation, run=run, clock=clock, progress=progress)
        progress("simulate: writing the reports")
        write_reports(run, fleet)
    return run, verdict


def _store() -> Path:
    """Keep runs where others are; outside of a project, in the current directory."""
    try:
        return store_root()
    except UsageError:
        return Path.cwd() / ".muster"


def _show(run: Run, verdict: LocateVerdict, named: list[Named], simulation: Simulation) -> None:
    console = Console(highlight=False)
    readiness = run.readiness()
    if readiness is not None:
        report = run.directory / "report.html"
        console.print(summarize(readiness, report=report, login=""), crop=False)
    table = Table(title="Injected, and what was named", title_justify="left", box=None)
    for column in ("injected", "named", ""):
        table.add_column(column, overflow="fold")
    for row in named:
        table.add_row(row.injected, row.said, row.mark)
    if named:
        console.print(table)
    fabric, tests = simulation.fabric, sum(map(len, verdict.measurements))
    what = f"{len(fabric.nodes())} nodes, {fabric.rails} rails, {verdict.rounds} rounds"
    console.print(
        f"Simulated: {what}, {tests} pair tests. Nothing here was measured on hardware.",
        soft_wrap=True,
    )
