"""ssh, quarantine, release, replace: what an operator does to one node."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from muster import shell
from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, StackName, print_json
from muster.cloud.calls import aws_gateway
from muster.cloud.instances import end_instance
from muster.errors import MusterError
from muster.fleet import Fleet
from muster.schedulers.slurm import Slurm
from muster.service import put_in_service, take_out_of_service

NodeName = Annotated[str, typer.Argument(metavar="NODE", help="Node, as gpu-3 or head.")]
Command = Annotated[list[str] | None, typer.Argument(help="Command to run instead of a login.")]
Why = Annotated[str, typer.Option("--why", help="Reason, kept in the scheduler and the events.")]


def ssh(stack: StackName, node: NodeName, command: Command = None) -> None:
    """Log in to a node, its host key verified; or run one command there."""
    context = open_stack(stack)
    argv = context.remote(context.store.fleet()).argv(node)
    sys.exit(shell.pass_through([*argv, *(["--", *command] if command else [])]))


def quarantine(
    stack: StackName, node: NodeName, *, why: Why = "by hand", as_json: AsJson = False
) -> None:
    """Take a node out of the users' reach until it is released or proved."""
    context, fleet, scheduler = _open(stack)
    name = fleet.node(node).name
    done = take_out_of_service(scheduler, name, why)
    _tell(context, "quarantined", name, done, as_json=as_json)


def release(stack: StackName, node: NodeName, *, as_json: AsJson = False) -> None:
    """Put a node back that muster took out; what a person drained stays as it is."""
    context, fleet, scheduler = _open(stack)
    name = fleet.node(node).name
    done = put_in_service(scheduler, name)
    _tell(context, "released", name, done, as_json=as_json)
    if not as_json:
        sys.stdout.write(f"It was not proved by this: run `muster accept {stack}`.\n")


def replace(stack: StackName, node: NodeName) -> None:
    """Make the node anew (a new serial), converge it and prove it."""
    context = open_stack(stack)
    fleet = context.store.fleet()
    name = fleet.node(node).name
    if fleet.target == "aws" and name != fleet.head.name:
        end_instance(aws_gateway(fleet.ssh.region), fleet.node(node).serial)
        context.store.event("instance-ended", node=name, detail=fleet.node(node).serial)
        sys.exit(min(context.engine.up(stack, yes=True), 1))
    resources = context.engine.export(stack)["deployment"].get("resources", [])
    serial = fleet.node(node).serial
    urns = [
        r["urn"] for r in resources if r["urn"].endswith(f"Node::{name}") or r.get("id") == serial
    ]
    if not urns:
        what = f"no resource for node {name} in the state of stack {stack}"
        raise MusterError(what, hint=f"Run `muster up {stack}`.")
    sys.exit(min(context.engine.replace(stack, urns[0]), 1))


def _open(stack: str) -> tuple[Context, Fleet, Slurm]:
    context = open_stack(stack)
    fleet = context.store.fleet()
    return context, fleet, Slurm(context.remote(fleet), fleet.head.name, context.clock)


def _tell(context: Context, verb: str, node: str, what: str, *, as_json: bool) -> None:
    context.store.event(verb, node=node, detail=what)
    if as_json:
        print_json({"stack": context.stack, "node": node, "done": verb, "detail": what})
    else:
        sys.stdout.write(f"{node}: {what}\n")
