"""plan: what a stack would be, what it costs, and every reason why it would fail."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from muster.catalog.blast import load_effects
from muster.catalog.software import load_row
from muster.cli.cloud_reading import cloud_of, engine_blast
from muster.cli.context import Context, open_stack
from muster.cli.deployed import StateFile, deployed_of
from muster.cli.output import AsJson, StackName, print_json
from muster.errors import UsageError
from muster.findings import Outcome
from muster.plan.aws.plan import plan_aws
from muster.plan.blast import Blast, judge
from muster.plan.cloud_view import NOTHING_ASKED
from muster.plan.lab import plan_lab
from muster.plan.power import power_of
from muster.plan.preview import read_preview
from muster.plan.price import price_of
from muster.plan.price_delta import delta_of
from muster.plan.rules.model import View
from muster.plan.rules.run import Preflight, preflight
from muster.project import software_directory
from muster.report.blast import blast_as_document, blast_as_markdown, blast_as_text
from muster.report.preflight import as_document, as_junit, as_markdown, as_sarif, as_text
from muster.report.price import price_as_document, price_as_markdown, price_as_text
from muster.spec import ClusterSpec


class Form(StrEnum):
    """How a plan is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    SARIF = "sarif"


Offline = Annotated[bool, typer.Option("--offline", help="Ask no cloud and no engine.")]
WhichForm = Annotated[Form, typer.Option("--format", help="markdown suits a pull request.")]
PreviewFile = Annotated[
    Path | None,
    typer.Option("--preview", metavar="FILE", help="What `pulumi preview --json` printed."),
]
NoPreview = Annotated[
    bool, typer.Option("--no-preview", help="Do not ask the engine what `up` would change.")
]
_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNKNOWN: 3}


def plan(
    stack: StackName,
    *,
    offline: Offline = False,
    preview: PreviewFile = None,
    no_preview: NoPreview = False,
    state: StateFile = None,
    form: WhichForm = Form.TEXT,
    as_json: AsJson = False,
) -> None:
    """Check the spec, price it, say why it would fail; then what `up` would change."""
    context = open_stack(stack)
    spec = context.spec()
    blast = _blast(context, spec, preview) if preview else None
    form = Form.JSON if as_json else form
    if spec.target == "aws":
        if blast is None and not offline and not no_preview:
            blast = engine_blast(context, spec)
        sys.exit(_plan_aws(context, spec, blast, form, offline=offline, state=state))
    document = _lab_document(context, spec)
    _print_lab(document, blast, form)
    if offline or blast or no_preview:
        sys.exit(_EXIT[blast.outcome] if blast else 0)
    context.engine.ensure_stack(stack)
    sys.exit(min(context.engine.preview(stack), 1))


def _blast(context: Context, spec: ClusterSpec, path: Path) -> Blast:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "Write it with `pulumi preview --json > FILE`."
        raise UsageError(f"cannot be read: {error}", where=str(path), hint=hint) from error
    today = context.clock.now().date()
    known = spec.preflight.acknowledge
    return judge(read_preview(document), known, today, effects=load_effects())


def _plan_aws(
    context: Context,
    spec: ClusterSpec,
    blast: Blast | None,
    form: Form,
    *,
    offline: bool,
    state: Path | None = None,
) -> int:
    """Write the plan of an AWS stack; returns the exit status."""
    found = plan_aws(spec, context.catalog, context.stack)
    cloud = NOTHING_ASKED if offline else cloud_of(context, found)
    now = context.clock.now()
    row = load_row(spec.software, overlays=software_directory()) if spec.software else None
    view = View(spec=spec, plan=found, catalog=context.catalog, now=now, cloud=cloud, software=row)
    checked = preflight(view)
    sheet, power = price_of(found, context.catalog), power_of(found)
    deployed = deployed_of(context, state, offline=offline)
    delta = delta_of(deployed, found, sheet) if deployed else None
    if form is Form.JSON:
        document = {
            **as_document(checked),
            "price": price_as_document(sheet, power, delta),
            "blast": blast_as_document(blast) if blast else None,
        }
        print_json(document)
    elif form is Form.MARKDOWN:
        parts = [as_markdown(checked), price_as_markdown(sheet, power, delta)]
        _write([*([blast_as_markdown(blast)] if blast else []), *parts])
    elif form is Form.TEXT:
        parts = [price_as_text(sheet, power, delta), as_text(checked)]
        _write([*parts, *([blast_as_text(blast)] if blast else [])])
    else:
        _write([_for_machines(context, checked, form)])
    return _exit_status(checked, blast)


def _for_machines(context: Context, checked: Preflight, form: Form) -> str:
    if form is Form.JUNIT:
        return as_junit(checked)
    return as_sarif(checked, file=str(context.stack_file.relative_to(context.project)))


def _exit_status(checked: Preflight, blast: Blast | None) -> int:
    """The worse of both: what fails, then what could not be told."""
    outcomes = {checked.outcome, *([blast.outcome] if blast else [])}
    order = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS)
    return _EXIT[next(outcome for outcome in order if outcome in outcomes)]


def _write(parts: list[str]) -> None:
    sys.stdout.write("\n".join(parts))


def _lab_document(context: Context, spec: ClusterSpec) -> dict[str, Any]:
    pools = [pool.model_dump(mode="json", by_alias=True) for pool in spec.pools]
    document: dict[str, Any] = {"stack": context.stack, "target": spec.target, "pools": pools}
    if spec.target == "lab":
        lab = plan_lab(spec, context.catalog, context.stack)
        document["lab"] = lab.lab
        document["leaves"] = {leaf: list(names) for leaf, names in lab.network.leaves.items()}
        document["hourlyUsd"] = 0
    return document


def _print_lab(document: dict[str, Any], blast: Blast | None, form: Form) -> None:
    if form is Form.JSON:
        print_json({**document, **({"blast": blast_as_document(blast)} if blast else {})})
    elif form is Form.MARKDOWN and blast:
        _write([blast_as_markdown(blast)])
    elif form is Form.TEXT:
        _write([_lab_text(document), *([blast_as_text(blast)] if blast else [])])
    else:
        what = f"a plan of target {document['target']} cannot be written as {form.value}"
        raise UsageError(what, where="--format", hint="Use text or json.")


def _lab_text(document: dict[str, Any]) -> str:
    lines = [f"stack {document['stack']}: target {document['target']}"]
    lines += [
        f"  pool {pool['name']}: {pool['count']} x {pool['type']}" for pool in document["pools"]
    ]
    lines += [f"  {leaf}: {' '.join(names)}" for leaf, names in document.get("leaves", {}).items()]
    return "\n".join(lines) + "\n"
