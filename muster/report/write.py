"""Turn a run's directory into report.html and junit.xml, whether or not the run came to its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.files import write_atomic
from muster.findings import Finding, Outcome
from muster.fleet import Fleet
from muster.report.html import render_html
from muster.report.junit import render_junit
from muster.report.model import PAIRS_FILE, load_events, load_pairs
from muster.runstore import Run

_EVIDENCE_BYTES_MAX = 65_536
_SIMULATED = {"lab", "simulation"}
"""Targets whose GPUs and links are stand-ins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportPaths:
    """Where the reports of a run are."""

    html: Path
    junit: Path


def write_reports(run: Run, fleet: Fleet) -> ReportPaths:
    """Write both reports; a run without readiness.json gets reports that say it was cut short.

    Raises:
        MusterError: a file of the run does not hold what it should (its path and line are named).

    """
    paths = ReportPaths(html=run.directory / "report.html", junit=run.directory / "junit.xml")
    readiness = run.readiness()
    findings = run.findings()
    html = render_html(
        readiness,
        findings,
        fleet,
        load_pairs(run),
        load_events(run),
        run_id=run.id,
        evidence=read_evidence(run, findings),
        simulated=fleet.target in _SIMULATED,
    )
    write_atomic(paths.html, html)
    junit = render_junit(
        readiness, findings, stack=fleet.stack, nodes=[n.name for n in fleet.nodes]
    )
    write_atomic(paths.junit, junit)
    return paths


def read_evidence(run: Run, findings: Sequence[Finding]) -> dict[str, str]:
    """Read the start of every file that a finding other than a pass cites.

    A path that is missing, or that leads out of the run's directory, is left out: the report then
    shows the path alone.
    """
    wanted = {p for f in findings if f.outcome is not Outcome.PASS for p in f.evidence}
    wanted.discard(PAIRS_FILE)  # shown as a table, from load_pairs
    base = run.directory.resolve()
    texts: dict[str, str] = {}
    for relative in sorted(wanted):
        path = (base / relative).resolve()
        if path.is_relative_to(base) and path.is_file():
            with path.open("rb") as stream:
                texts[relative] = stream.read(_EVIDENCE_BYTES_MAX).decode(errors="replace")
    return texts
