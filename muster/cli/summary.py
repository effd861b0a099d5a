"""What a run ends with on the terminal: the verdict, what is wrong, and where to look."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from muster.cli.context import Context
from muster.cli.output import print_json
from muster.errors import UnknownOutcomeError
from muster.readiness import Readiness, Verdict
from muster.report.terminal import summarize
from muster.runstore import Run

_PASS, _FAIL, _UNKNOWN = 0, 1, 3


def print_summary(context: Context, run: Run, *, as_json: bool = False) -> None:
    """Print the run's verdict, as a table or as one JSON document."""
    readiness = verdict_of(run)
    if as_json:
        print_json(summary_document(run))
        return
    report = run.directory / "report.html"
    login = f"muster ssh {context.stack} {context.store.fleet().head.name}"
    Console(highlight=False).print(summarize(readiness, report=report, login=login), crop=False)


def summary_document(run: Run) -> dict[str, Any]:
    """Return readiness.json with the path of the report."""
    document: dict[str, Any] = verdict_of(run).model_dump(mode="json", by_alias=True)
    return {**document, "report": str(run.directory / "report.html")}


def exit_status(run: Run) -> int:
    """0 ready; 3 where only untested nodes stand in the way; 1 otherwise."""
    readiness = verdict_of(run)
    if readiness.ready:
        return _PASS
    verdicts = {node.verdict for node in readiness.nodes} | {p.verdict for p in readiness.fleet}
    bad = verdicts & {Verdict.QUARANTINED, Verdict.SUSPECT}
    return _FAIL if bad else _UNKNOWN


def verdict_of(run: Run) -> Readiness:
    """Read the run's verdict.

    Raises:
        UnknownOutcomeError: the run was cut short before it had one.

    """
    readiness = run.readiness()
    if readiness is None:
        what = "the run was cut short before it reached a verdict"
        raise UnknownOutcomeError(what, where=run.id, hint="Run `muster accept` again.")
    return readiness
