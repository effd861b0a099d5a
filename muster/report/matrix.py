"""The node x check matrix: one symbol per node and check, worst outcome first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from muster.findings import Finding, Outcome
from muster.fleet import Fleet
from muster.readiness import Readiness
from muster.report.model import waiver_of

COLLAPSE_ABOVE_NODES = 16
_STAGES = ("static", "local", "pairs", "groups")
_RANK = {"fail": 0, "unknown": 1, "waived": 2, "pass": 3}
SYMBOLS = {"pass": "✓", "fail": "✕", "unknown": "?", "waived": "w", "absent": "·"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """State is pass, fail, unknown, waived, or absent (the check left no finding)."""

    state: str
    title: str

    @property
    def symbol(self) -> str:
        """The state without colour."""
        return SYMBOLS[self.state]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One node; `verdict` is "" where the run gave none. `clean`: there is nothing to look at."""

    name: str
    verdict: str
    component: str
    cells: tuple[Cell, ...]
    clean: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """`stages` are (name, number of checks), for the head of the table above `checks`."""

    stages: tuple[tuple[str, int], ...]
    checks: tuple[str, ...]
    rows: tuple[Row, ...]
    clean_rows: tuple[Row, ...]
    """Rows folded away in a large fleet, since all of their checks passed."""
    together: tuple[tuple[Cell, str, str], ...]
    """(cell, check, summary) of what was checked on the fleet as a whole."""


def node_names(
    fleet: Fleet, readiness: Readiness | None, findings: Sequence[Finding]
) -> tuple[str, ...]:
    """Return all nodes that exist or that something was said about, in fleet order."""
    judged = () if readiness is None else readiness.nodes
    names = [n.name for n in fleet.nodes] + [n.node for n in judged]
    return tuple(dict.fromkeys([*names, *(f.node for f in findings if f.node)]))


def state_of(finding: Finding) -> str:
    """Return the outcome, or "waived" for one that a waiver lets through."""
    if finding.outcome is not Outcome.PASS and waiver_of(finding):
        return "waived"
    return finding.outcome.value


def worst_state(findings: Sequence[Finding]) -> str:
    """Return the worst state of a check that said several things; "absent" for none."""
    return min((state_of(f) for f in findings), key=_RANK.__getitem__, default="absent")


def build_matrix(fleet: Fleet, readiness: Readiness | None, findings: Sequence[Finding]) -> Matrix:
    """Arrange the findings; checks in the order in which their stages run."""
    checks = _checks_by_stage([f for f in findings if f.node])
    by_cell: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_cell[finding.node, finding.check].append(finding)
    verdicts = {} if readiness is None else {n.node: n for n in readiness.nodes}
    rows = []
    for name in node_names(fleet, readiness, findings):
        cells = tuple(
            _cell(c, by_cell.get((name, c), [])) for group in checks.values() for c in group
        )
        judged = verdicts.get(name)
        verdict, component = (judged.verdict.value, judged.component) if judged else ("", "")
        rows.append(Row(name=name, verdict=verdict, component=component, cells=cells))
    rows = _mark_clean(rows)
    fold = len(rows) > COLLAPSE_ABOVE_NODES
    return Matrix(
        stages=tuple((stage, len(group)) for stage, group in checks.items()),
        checks=tuple(check for group in checks.values() for check in group),
        rows=tuple(row for row in rows if not (fold and row.clean)),
        together=tuple((_cell(f.check, [f]), f.check, f.summary) for f in findings if not f.node),
        clean_rows=tuple(_without_titles(row) for row in rows if fold and row.clean),
    )


def _mark_clean(rows: Sequence[Row]) -> list[Row]:
    """Mark accepted nodes that passed all; a check that most nodes lack is not theirs to pass."""
    absent = [sum(cell.state == "absent" for cell in column) for column in _columns(rows)]
    fine = [{"pass", "absent"} if 2 * n > len(rows) else {"pass"} for n in absent]
    return [
        replace(
            row,
            clean=row.verdict == "accepted"
            and all(cell.state in ok for cell, ok in zip(row.cells, fine, strict=True)),
        )
        for row in rows
    ]


def _columns(rows: Sequence[Row]) -> list[tuple[Cell, ...]]:
    return list(zip(*(row.cells for row in rows), strict=True))


def _without_titles(row: Row) -> Row:
    """Nobody asks many passes for their words one by one; the file stays small."""
    return replace(row, cells=tuple(replace(cell, title="") for cell in row.cells))


def _checks_by_stage(findings: Sequence[Finding]) -> Mapping[str, list[str]]:
    stage_of: dict[str, str] = {}
    for finding in findings:
        stage_of.setdefault(finding.check, finding.stage or "other")
    names = dict.fromkeys([*_STAGES, *stage_of.values()])
    grouped = {name: [c for c, stage in stage_of.items() if stage == name] for name in names}
    return {name: group for name, group in grouped.items() if group}


def _cell(check: str, findings: Sequence[Finding]) -> Cell:
    state = worst_state(findings)
    if not findings:
        return Cell(state=state, title=f"{check}: no finding; the check did not get to this node")
    ordered = sorted(findings, key=lambda f: _RANK[state_of(f)])
    return Cell(state=state, title="\n".join(f"{check}: {_say(f)}" for f in ordered))


def _say(finding: Finding) -> str:
    waiver = waiver_of(finding)
    waived = f", waived: {waiver}" if waiver else ""
    return f"{finding.outcome.value}{waived}: {finding.summary}"
