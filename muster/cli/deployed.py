"""What a stack costs now: its state, as the engine has it or as it was exported to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.context import Context
from muster.errors import MusterError, UsageError
from muster.plan.price_delta import NOT_READ, NOTHING, Deployed, deployed_in

StateFile = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="What `pulumi stack export` printed."),
]


def deployed_of(context: Context, state: Path | None, *, offline: bool) -> Deployed | None:
    """Return what stands; None where nobody may look. An engine that does not answer is unknown.

    Raises:
        UsageError: the file is no exported state.

    """
    if state:
        return _in_file(state)
    if offline:
        return None
    try:
        if not context.engine.stack_exists(context.stack):
            return NOTHING
        return deployed_in(context.engine.export(context.stack))
    except MusterError:
        return NOT_READ


def _in_file(path: Path) -> Deployed:
    hint = "Write it with `pulumi stack export > FILE`."
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path), hint=hint) from error
    if not isinstance(document, dict) or not isinstance(document.get("deployment"), dict):
        raise UsageError("is no exported state", where=str(path), hint=hint)
    return deployed_in(document)
