"""Reasons why the row of the version matrix would not do on the machines of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from muster.catalog.software import load_hardware, load_row, load_rules
from muster.findings import Outcome
from muster.plan.aws.model import PoolPlan
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown
from muster.software.asking import about_type
from muster.software.model import MatrixRow, Os
from muster.software.needs import storage_uses
from muster.software.rules import Judged, check

_PATH = "software"


def versions_go_together(view: View) -> Iterator[Said]:
    """Some system that the row is for has versions that go together on each pool's machines."""
    if view.spec.software is None:
        return
    row = view.software or load_row(view.spec.software)
    asked = f"`muster software check {row.name} --type"
    for pool in view.plan.pools:
        judged = {os: _judged(view, row, pool, os) for os in row.os}
        good = [os for os, found in judged.items() if not _of(found, Outcome.FAIL, Outcome.UNKNOWN)]
        broken = {os: _of(found, Outcome.FAIL) for os, found in judged.items()}
        what = f"pool {pool.name}: row {row.name} on {pool.type.name}"
        if good:
            yield passed(f"{what}: every rule holds on {', '.join(good)}", _PATH)
        elif all(broken.values()):
            why = "; ".join(dict.fromkeys(_said(b) for found in broken.values() for b in found))
            do = f"Choose another row or type: {asked} {pool.type.name}` shows each rule."
            yield failed(f"{what}: {why}", _PATH, do)
        else:
            open_ones = [_of(judged[os], Outcome.UNKNOWN) for os in row.os if not broken[os]]
            names = ", ".join(dict.fromkeys(each.rule for found in open_ones for each in found))
            do = f"State what is missing, or waive it: {asked} {pool.type.name}` says what."
            yield unknown(f"{what}: not known by any source: {names}", _PATH, do)


def _judged(view: View, row: MatrixRow, pool: PoolPlan, os: Os) -> tuple[Judged, ...]:
    question = about_type(
        row,
        os,
        pool.type,
        view.catalog,
        load_hardware(),
        scheduler=view.plan.scheduler,
        storage=storage_uses(view.spec.storage),
    )
    return check(load_rules(), question)


def _of(judged: tuple[Judged, ...], *outcomes: Outcome) -> list[Judged]:
    return [each for each in judged if each.outcome in outcomes]


def _said(broken: Judged) -> str:
    return f"{broken.rule} ({broken.evidence})"


RULES: tuple[Rule, ...] = (
    Rule(
        id="software-agrees",
        title="The versions of the spec's software row go together on the machines.",
        source="muster/catalog/software/rules.yaml, each with its own source",
        ask=versions_go_together,
    ),
)
