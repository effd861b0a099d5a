"""software: the version matrix, judged, compared, explained and pinned."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer
from rich.console import Console

from muster.catalog import Catalog, InstanceType, load_catalog
from muster.catalog.software import load_hardware, load_row, load_rules, row_names
from muster.cli.output import AsJson, ProgressLine, print_json
from muster.clock import SystemClock
from muster.errors import UsageError
from muster.findings import Outcome
from muster.project import software_directory
from muster.software.asking import about_row, about_type
from muster.software.download import Downloads
from muster.software.explain import differences, explain
from muster.software.model import MatrixRow, Os, RoleUse, Scheduler, StorageKind, StorageUse
from muster.software.needs import hardware_of
from muster.software.overlay import load_overlay, write_overlay
from muster.software.pin import Pins, pin
from muster.software.rules import Judged, Question, check
from muster.software.selection import select
from muster.spec_errors import did_you_mean

app = typer.Typer(no_args_is_help=True, help="Versions of node software that belong together.")

RowName = Annotated[str, typer.Argument(metavar="ROW", help="A row, as 2026.11.")]
TypeOption = Annotated[
    str, typer.Option("--type", metavar="TYPE", help="Instance type, as p5.48xlarge.")
]
OsOption = Annotated[str, typer.Option("--os", metavar="OS", help="As ubuntu-24.04; default: all.")]
SchedulerOption = Annotated[str, typer.Option("--scheduler", help="slurm or kubernetes.")]
StorageOption = Annotated[
    list[str] | None,
    typer.Option("--storage", metavar="KIND", help="As lustre or lustre-efa; may be repeated."),
]
RowOption = Annotated[str, typer.Option("--row", metavar="ROW", help="Default: the newest row.")]

_STATUS = {Outcome.FAIL: 1, Outcome.UNKNOWN: 3, Outcome.PASS: 0}
_STYLE = {Outcome.FAIL: "red", Outcome.UNKNOWN: "yellow", Outcome.PASS: "green"}
_WORST = list(_STATUS).index
_OVER_EFA = "lustre-efa"

_Name = TypeVar("_Name", bound=str)


@app.command("check")
def software_check(
    row: RowName,
    *,
    type_name: TypeOption = "",
    os: OsOption = "",
    scheduler: SchedulerOption = "slurm",
    storage: StorageOption = None,
    as_json: AsJson = False,
) -> None:
    """Judge a row by every rule; with --type also for that machine."""
    found = _row(row)
    uses, manager = _storage(storage or ()), _one_of(scheduler, get_args(Scheduler), "--scheduler")
    systems = [_one_of(os, found.os, "--os")] if os else list(found.os)
    judged = [
        one
        for system in systems
        for one in check(load_rules(), _question(found, system, type_name, manager, uses))
    ]
    if as_json:
        print_json(
            {"row": row, "type": type_name or None, "rules": [asdict(one) for one in judged]}
        )
    else:
        _show_judged(judged, asked_of_a_type=bool(type_name))
    outcomes = {one.outcome for one in judged}
    sys.exit(next((_STATUS[outcome] for outcome in _STATUS if outcome in outcomes), 0))


@app.command("diff")
def software_diff(before: RowName, after: RowName, *, as_json: AsJson = False) -> None:
    """Say what changes from one row to another; exit status 1 where anything does."""
    changes = differences(_row(before), _row(after))
    if as_json:
        print_json({"before": before, "after": after, "changes": [asdict(c) for c in changes]})
    else:
        for change in changes:
            what = f"{change.component}: {change.field}: {change.before} -> {change.after}"
            sys.stdout.write(f"{what}\n")
        sys.stdout.write(f"{len(changes)} differences\n")
    sys.exit(1 if changes else 0)


@app.command("explain")
def software_explain(
    name: Annotated[str, typer.Argument(metavar="ROLE|COMPONENT", help="As efa or nvml.")],
    *,
    row: RowOption = "",
    type_name: TypeOption = "",
    os: OsOption = "ubuntu-24.04",
    scheduler: SchedulerOption = "slurm",
    storage: StorageOption = None,
    as_json: AsJson = False,
) -> None:
    """Say which versions, from where, by which rules; with --type also whether it is needed."""
    found, catalog = _row(row or row_names()[-1]), load_catalog()
    system = _one_of(os, found.os, "--os")
    uses, manager = _storage(storage or ()), _one_of(scheduler, get_args(Scheduler), "--scheduler")
    chosen: dict[str, RoleUse] = {}
    if type_name:
        hardware = hardware_of(_type(catalog, type_name), catalog, load_hardware())
        selected = select(found, hardware, scheduler=manager, storage=uses, os=system)
        chosen = {use.role: use for use in selected}
    part = found.components.get(name)
    use = chosen.get(part.role if part else name)
    document = explain(name, found, load_rules(), catalog.sources, use)
    if type_name:
        document |= {"type": type_name, "os": system, "needed": use is not None}
    if as_json:
        print_json(document)
    else:
        _show_explained(document)


@app.command("pin")
def software_pin(row: RowName, *, as_json: AsJson = False) -> None:
    """Download each file without a checksum, and keep its checksum beside the stacks."""
    directory = software_directory()
    if directory is None:
        raise UsageError("this is no project", hint="Run muster where Pulumi.yaml is.")
    clock, found = SystemClock(), _row(row)
    before = load_overlay(directory, row)
    with ProgressLine() as progress:
        pins = pin(found, before, Downloads(clock), clock.now().date(), progress)
    path = write_overlay(directory, pins.overlay) if pins.pinned else None
    if as_json:
        print_json(_pins_document(pins, path))
    else:
        for wanted, why in pins.unknown:
            sys.stdout.write(f"unknown  {wanted.component}: {wanted.url}: {why}\n")
        kept = f": {path}" if path else ""
        counted = f"{len(pins.pinned)} checksums pinned, {len(pins.unknown)} unknown"
        sys.stdout.write(f"{counted}{kept}\n")
    sys.exit(3 if pins.unknown else 0)


def _row(name: str) -> MatrixRow:
    return load_row(name, overlays=software_directory())


def _type(catalog: Catalog, name: str) -> InstanceType:
    if name not in catalog.types:
        what = f"no instance type {name!r} in the catalog"
        raise UsageError(what, where="--type", hint=did_you_mean(name, tuple(catalog.types)))
    return catalog.types[name]


def _one_of(value: str, known: Sequence[_Name], option: str) -> _Name:
    found = next((name for name in known if name == value), None)
    if found is None:
        raise UsageError(f"unknown {value!r}", where=option, hint=did_you_mean(value, known))
    return found


def _storage(values: Sequence[str]) -> tuple[StorageUse, ...]:
    kinds: tuple[StorageKind, ...] = get_args(StorageKind)
    return tuple(
        StorageUse(kind="lustre", efa=True)
        if value == _OVER_EFA
        else StorageUse(kind=_one_of(value, kinds, "--storage"))
        for value in values
    )


def _question(
    row: MatrixRow, os: Os, type_name: str, scheduler: Scheduler, storage: tuple[StorageUse, ...]
) -> Question:
    facts = load_hardware()
    if not type_name:
        return about_row(row, os, facts)
    catalog = load_catalog()
    kind = _type(catalog, type_name)
    return about_type(row, os, kind, catalog, facts, scheduler=scheduler, storage=storage)


def _show_judged(judged: Sequence[Judged], *, asked_of_a_type: bool) -> None:
    """Print one line for each finding, the worst first; systems that have the same share it."""
    shared: dict[tuple[Outcome, str, str], list[str]] = {}
    for one in judged:
        shared.setdefault((one.outcome, one.rule, one.evidence), []).append(one.os)
    systems = len({one.os for one in judged})
    console = Console(highlight=False)
    for (outcome, rule, evidence), on in sorted(
        shared.items(), key=lambda item: _WORST(item[0][0])
    ):
        where = "" if len(on) == systems else f" on {', '.join(on)}"
        colour = _STYLE[outcome]
        line = f"{rule}{where}: {evidence}".replace("[", r"\[")
        console.print(f"[{colour}]{outcome:<7}[/{colour}]  {line}", soft_wrap=True)
    counts = Counter(one.outcome for one in judged)
    counted = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _STATUS)
    more = "" if asked_of_a_type else "; rules about GPUs and boot: give --type"
    console.print(f"{counted}{more}", markup=False)


def _show_explained(document: dict[str, Any]) -> None:
    write = sys.stdout.write
    for role, why in document["neededBy"].items():
        write(f"role {role}: for {why}\n")
    if "needed" in document:
        word = "needed" if document["needed"] else "not needed"
        write(f"{word} on {document['type']} ({document['os']})\n")
    for name, part in document["components"].items():
        source = part["source"]
        write(f"{name} {part['version']}  ({source['key']}: {source.get('title', '')})\n")
        for os, version in part.get("versions", {}).items():
            write(f"  on {os}: {version}\n")
        for os, lacks in part["missing"].items():
            write(f"  cannot be installed on {os}: {'; '.join(lacks)}\n")
        if part.get("note"):
            write(f"  {part['note']}\n")
    for rule, told in document["rules"].items():
        write(f"rule {rule}: {told['why']}  ({told['source']['key']})\n")
    for name, value in (document["arguments"] or {}).items():
        write(f"argument {name}: {value}\n")


def _pins_document(pins: Pins, path: Path | None) -> dict[str, Any]:
    return {
        "file": str(path) if path else None,
        "pinned": [{**asdict(p), **_sum(pins, p.url)} for p in pins.pinned],
        "unknown": [{**asdict(wanted), "why": why} for wanted, why in pins.unknown],
    }


def _sum(pins: Pins, url: str) -> dict[str, str]:
    return {"sha256": pins.overlay.sha256[url].sha256}
