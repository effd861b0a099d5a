"""converge and accept: the two stages after infrastructure, without Pulumi."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from muster import stages
from muster.acceptance.request import Waiver
from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, ProgressLine, StackName, print_json
from muster.cli.summary import exit_status, print_summary
from muster.errors import MusterError

Check = Annotated[bool, typer.Option("--check", help="Say what would change; change nothing.")]
Only = Annotated[list[str] | None, typer.Option("--node", help="Test this node only; repeatable.")]


def converge(stack: StackName, *, check: Check = False, as_json: AsJson = False) -> None:
    """Run the playbooks on the fleet that is there."""
    context = open_stack(stack)
    fleet = context.store.fleet()
    with ProgressLine() as progress:
        done = stages.converge(fleet, _edges(context), progress, check=check)
    verb = "would change" if check else "changed"
    if as_json:
        print_json({"stack": stack, "changed": done.changed, "failed": dict(done.failed)})
    else:
        sys.stdout.write(f"{done.changed} {verb}, {len(done.failed)} nodes failed; {done.log}\n")
    if done.failed:
        what = "; ".join(f"{node}: {why}" for node, why in sorted(done.failed.items()))
        raise MusterError(what, hint=f"Log: {done.log}.")


def accept(stack: StackName, *, node: Only = None, as_json: AsJson = False) -> None:
    """Prove the fleet: every node and link; drains what is bad, opens what is good."""
    context = open_stack(stack)
    spec, fleet = context.spec(), context.store.fleet()
    for name in node or ():
        fleet.node(name)
    order = stages.AcceptOrder(
        wanted=spec.wanted,
        policy=spec.acceptance.policy,
        waivers=tuple(
            Waiver(check=w.check, reason=w.reason, until=w.until) for w in spec.acceptance.waivers
        ),
        only=frozenset(node) if node else None,
    )
    with ProgressLine() as progress:
        run = stages.accept(fleet, order, _edges(context), progress)
    print_summary(context, run, as_json=as_json)
    sys.exit(exit_status(run))


def _edges(context: Context) -> stages.Edges:
    return stages.Edges(store=context.store, catalog=context.catalog, clock=context.clock)
