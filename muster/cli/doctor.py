"""doctor: can this machine do what muster asks of it, and what to do where it cannot."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from muster.cli.output import AsJson, print_json
from muster.findings import Outcome
from muster.lab import doctor as lab_doctor

_STYLE = {Outcome.PASS: "green", Outcome.FAIL: "bold red", Outcome.UNKNOWN: "bold yellow"}
Nodes = Annotated[int, typer.Option(help="Lab nodes to make room for, the head included.")]


def doctor(*, nodes: Nodes = 9, as_json: AsJson = False) -> None:
    """Try everything that a lab needs of this machine; changes nothing."""
    probes = lab_doctor.probe(nodes=nodes)
    if as_json:
        print_json([asdict(probe) for probe in probes])
    else:
        table = Table("probe", "result", "seen", "what to do", box=None, header_style="bold")
        for probe in probes:
            note = "" if probe.required or probe.outcome is Outcome.PASS else " (only a note)"
            result = f"[{_STYLE[probe.outcome]}]{probe.outcome}[/]{note}"
            table.add_row(probe.name, result, probe.summary, probe.hint)
        Console(highlight=False).print(table)
    outcomes = {probe.outcome for probe in probes if probe.required}
    if Outcome.FAIL in outcomes:
        sys.exit(1)
    if Outcome.UNKNOWN in outcomes:
        sys.exit(3)
