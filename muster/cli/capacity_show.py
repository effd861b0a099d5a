"""capacity show: what the reservations and Capacity Blocks of a stack hold, and what lies idle."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Never

import yaml
from rich.console import Console
from rich.table import Table

from muster.cli.catalog_refresh import RegionName, region_or_fail
from muster.cli.context import Context, open_stack
from muster.cli.output import AsJson, StackName, print_json
from muster.cloud.capacity import members, reservation
from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway, Gateway
from muster.errors import UsageError
from muster.findings import Outcome
from muster.plan.buying import when
from muster.plan.cloud_view import Unread
from muster.plan.holdings import Holding, Named, holding, named_in, not_read, not_there

_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNKNOWN: 3}


def show(stack: StackName, *, region: RegionName = "", as_json: AsJson = False) -> None:
    """Say what the reservations and blocks that a stack names hold, and what lies idle."""
    context = open_stack(stack)
    named = tuple(named_in(context.spec()))
    gateway = AwsGateway(Clients(region or _region_of(context))) if named else None
    found = [row for one in named if gateway for row in _holdings(gateway, one, context)]
    if as_json:
        print_json({"stack": stack, "capacity": [_holding_document(row) for row in found]})
    else:
        _print_holdings(stack, found)
    outcomes = {row.outcome for row in found}
    order = (Outcome.FAIL, Outcome.UNKNOWN)
    sys.exit(next((_EXIT[outcome] for outcome in order if outcome in outcomes), 0))


def _region_of(context: Context) -> str:
    """Return the region that the stack's own file names, else that of the environment."""
    try:
        content = yaml.safe_load(context.stack_file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        _unreadable(context, error)
    return region_or_fail(str(content.get("config", {}).get("aws:region") or ""))


def _unreadable(context: Context, error: Exception) -> Never:
    raise UsageError(f"cannot be read: {error}", where=context.stack_file.name) from error


def _holdings(gateway: Gateway, named: Named, context: Context) -> Iterator[Holding]:
    ids = members(gateway, named.id) if named.kind == "resourceGroup" else [named.id]
    if isinstance(ids, Unread):
        yield not_read(named, ids.why)
        return
    for one in ids:
        row = reservation(gateway, one)
        if isinstance(row, Unread):
            yield not_read(named, row.why)
        elif row is None:
            yield not_there(named)
        else:
            yield holding(named, row, context.catalog)


def _print_holdings(stack: str, found: Iterable[Holding]) -> None:
    heads = ("pool", "id", "state", "type", "zone", "used", "free", "end", "idle USD/h", "note")
    table = Table(*heads, box=None, header_style="bold")
    for row in found:
        idle = row.idle_usd_per_hour
        table.add_row(
            row.pool,
            row.id,
            row.state,
            row.type,
            row.zone_id,
            _number(row.used),
            _number(row.free),
            when(row.end) if row.end else "",
            "unknown" if idle is None else f"{idle:,.2f}",
            row.note,
        )
    console = Console(highlight=False)
    nothing = f"stack {stack} names no reservation and no block"
    console.print(table if table.rows else nothing, crop=False, soft_wrap=True)


def _number(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _holding_document(row: Holding) -> dict[str, Any]:
    return {
        "pool": row.pool,
        "id": row.id,
        "state": row.state,
        "outcome": row.outcome.value,
        "type": row.type,
        "zoneId": row.zone_id,
        "block": row.block,
        "total": row.total,
        "used": row.used,
        "free": row.free,
        "start": when(row.start) if row.start else None,
        "end": when(row.end) if row.end else None,
        "idleUsdPerHour": row.idle_usd_per_hour,
        "note": row.note,
    }
