"""What `plan` asks beyond the spec: the cloud, and the engine's own preview."""

from __future__ import annotations

import sys

from muster.catalog.blast import load_effects
from muster.cli.context import Context
from muster.cloud.asking import Bounds
from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway
from muster.cloud.reading import nothing_read, read_cloud
from muster.errors import MusterError
from muster.plan.aws.model import AwsPlan
from muster.plan.blast import Blast, judge
from muster.plan.cloud_view import CloudView, Unread
from muster.plan.preview import Preview, read_preview
from muster.spec import ClusterSpec
from muster.spec_file import stack_setting

_LIMIT_S = 60.0
"""How long each round of questions may take; what is late is unknown."""


def cloud_of(context: Context, plan: AwsPlan) -> CloudView:
    """Read the cloud of the stack's region; without credentials every part says so."""
    region = stack_setting(context.stack_file, "aws:region")
    if region is None:
        do = f"Set aws:region in {context.stack_file.name}."
        return nothing_read(plan, "", Unread("the stack names no region", do))
    bounds = Bounds(clock=context.clock, limit_s=_LIMIT_S, progress=tell)
    return read_cloud(plan, AwsGateway(Clients(region)), bounds)


def engine_blast(context: Context, spec: ClusterSpec) -> Blast | None:
    """Judge what the engine would do; None without an engine."""
    if not context.engine.is_present():
        tell("there is no pulumi here: what `up` would change is not shown")
        return None
    tell("asking the engine what `up` would change")
    try:
        context.engine.ensure_stack(context.stack)
        preview = read_preview(context.engine.preview_document(context.stack))
    except MusterError as error:
        preview = Preview(steps=(), errors=(str(error),))
    today = context.clock.now().date()
    return judge(preview, spec.preflight.acknowledge, today, effects=load_effects())


def tell(line: str) -> None:
    """Say on the terminal where it is; the plan itself goes to the other stream."""
    sys.stderr.write(f"{line}\n")
