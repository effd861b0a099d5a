"""up, down: the whole life of a stack."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, StackName, print_json
from muster.cli.summary import print_summary
from muster.errors import MusterError, UsageError
from muster.lab import doctor, teardown
from muster.plan.lab import plan_lab
from muster.remote import close_connections, control_directory

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not preview and ask first.")]


def up(stack: StackName, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Bring the stack up, converge it, prove it; ends with the verdict."""
    context = open_stack(stack)
    spec = context.spec()
    if spec.target == "lab":
        doctor.require(nodes=sum(pool.count + pool.spares for pool in spec.pools) + 1)
    context.engine.ensure_stack(stack)
    cleared = context.engine.clear_dead_lock(stack)
    if cleared:
        sys.stderr.write(f"muster: {cleared}\n")
    before = _latest_run_id(context)
    status = context.engine.up(stack, yes=yes)
    if status == 0 or _latest_run_id(context) != before:
        _show_verdict(context, as_json=as_json)
    if status != 0:
        sys.exit(1)


def down(stack: StackName, *, yes: Yes = True, as_json: AsJson = False) -> None:
    """Destroy the stack; what its runs found stays in the run store."""
    context = open_stack(stack)
    spec = context.spec()
    status = 0
    if context.engine.stack_exists(stack):
        context.engine.clear_dead_lock(stack)
        _refuse_what_is_protected(context)
        status = context.engine.destroy(stack, yes=yes)
    close_connections(control_directory(context.store.directory))
    left: list[str] = []
    if spec.target == "lab" and status == 0:
        # Also what a killed `up` made before it could be written to the state.
        lab = plan_lab(spec, context.catalog, stack).lab
        teardown.remove_lab(lab)
        left = teardown.leftovers(lab)
        context.store.fleet_path.unlink(missing_ok=True)
    if left:
        what = f"still there after the destroy: {', '.join(left)}"
        raise MusterError(what, where=stack, hint="Run `muster down` again.")
    if as_json:
        print_json({"stack": stack, "down": status == 0})
    sys.exit(min(status, 1))


def _refuse_what_is_protected(context: Context) -> None:
    """Stop before anything is deleted; the engine would stop at it when the rest is gone."""
    resources = context.engine.export(context.stack)["deployment"].get("resources", [])
    held = [entry["urn"] for entry in resources if entry.get("protect")]
    if held:
        what = f"protected, since they hold data: {', '.join(held)}; nothing was deleted"
        hint = "See docs/howto/plan.md, `Deleting what holds data`."
        raise UsageError(what, where=context.stack, hint=hint)


def _latest_run_id(context: Context) -> str:
    ids = [run.id for run in context.store.runs()]
    return ids[-1] if ids else ""


def _show_verdict(context: Context, *, as_json: bool) -> None:
    spec = context.spec()
    if "accept" not in spec.stages:
        return
    run = context.store.latest()
    print_summary(context, run, as_json=as_json)
