"""capacity: offers of Capacity Blocks, buying one, and what a stack's reservations hold.

The Pulumi program never buys; only this verb does, and only after a person has said so.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from muster.catalog import load_catalog
from muster.catalog.quotas import load_quotas
from muster.cli.catalog_refresh import RegionName, region_or_fail
from muster.cli.output import AsJson, print_json
from muster.clock import Clock, SystemClock
from muster.cloud.capacity import (
    blocks_of_type,
    offerings,
    purchase,
    purchase_client,
)
from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway, Gateway
from muster.cloud.price_list import zone_ids
from muster.errors import MusterError, UnknownOutcomeError, UsageError
from muster.files import append_line, write_atomic
from muster.findings import Outcome
from muster.lock import stack_lock
from muster.plan.buying import (
    Asked,
    Listing,
    Offer,
    bought_before,
    differences,
    read_offers,
    sent_before,
    snippet,
    still_offered,
    when,
)
from muster.project import store_root
from muster.spec_errors import did_you_mean

capacity_app = typer.Typer(no_args_is_help=True, help="Capacity Blocks and reservations of AWS.")

OfferId = Annotated[str, typer.Argument(metavar="OFFER", help="Id, as `capacity offers` shows it.")]
TypeName = Annotated[str, typer.Option("--type", metavar="TYPE", help="Instance type.")]
Count = Annotated[int, typer.Option("--count", min=1, help="Instances.")]
Days = Annotated[int, typer.Option("--days", min=1, help="How long.")]
Start = Annotated[
    datetime | None,
    typer.Option("--start", formats=["%Y-%m-%d"], help="Not before this day (UTC)."),
]
ZoneId = Annotated[str, typer.Option("--zone-id", metavar="ZONE", help="As use2-az1.")]
MaxUsd = Annotated[
    float, typer.Option("--max-upfront-usd", min=0.01, help="Buy nothing that costs more.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Again = Annotated[
    bool, typer.Option("--again", help="Buy though one just like it was bought within the hour.")
]
_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNKNOWN: 3}
_OFFERS = "offers.json"
_PURCHASES = "purchases.jsonl"


@capacity_app.command("offers")
def offers(
    *,
    type_name: TypeName,
    count: Count,
    days: Days,
    start: Start = None,
    zone_id: ZoneId = "",
    region: RegionName = "",
    as_json: AsJson = False,
) -> None:
    """List the Capacity Blocks that can be bought, the cheapest first."""
    begin = start.replace(tzinfo=UTC) if start else None
    asked = Asked(
        region=region_or_fail(region), type=type_name, count=count, days=days, start=begin
    )
    _check(asked)
    found, left_out = _look(_gateway(asked.region), asked)
    shown = tuple(offer for offer in found if not zone_id or offer.zone_id == zone_id)
    listing = Listing(asked=asked, offers=shown)
    write_atomic(_directory() / _OFFERS, listing.model_dump_json(indent=2))
    if as_json:
        print_json({"offers": [o.as_document() for o in shown], "leftOut": list(left_out)})
    else:
        _print_offers(shown, left_out)
    sys.exit(0 if shown else 1)


@capacity_app.command("buy")
def buy(
    offer_id: OfferId,
    *,
    max_upfront_usd: MaxUsd,
    yes: Yes = False,
    again: Again = False,
    as_json: AsJson = False,
) -> None:
    """Buy a Capacity Block: paid at once, in full, and never given back."""
    clock, listing = SystemClock(), _listing()
    wanted = listing.offer(offer_id)
    if wanted is None:
        hint = did_you_mean(offer_id, [offer.id for offer in listing.offers])
        raise UsageError(f"no offer {offer_id!r} in the last list", hint=hint or _LIST_FIRST)
    gateway = _gateway(listing.asked.region)
    with _alone(clock):
        offer = _still_offered(gateway, listing.asked, wanted, max_upfront_usd)
        if not again:
            _refuse_twice(gateway, offer, clock.now())
        if not yes:
            _confirm(offer, listing.asked.region)
        bought = _buy(offer, listing.asked.region, clock)
    block_id = str(bought["CapacityReservationId"])
    odd = tuple(differences(offer, bought))
    _tell(offer, block_id, bought, odd, as_json=as_json)
    sys.exit(1 if odd else 0)


_LIST_FIRST = "List offers first: `muster capacity offers --type TYPE --count N --days D`."


def _gateway(region: str) -> Gateway:
    return AwsGateway(Clients(region))


def _directory() -> Path:
    return store_root() / "capacity"


@contextmanager
def _alone(clock: Clock) -> Iterator[None]:
    """Let no second purchase of this project run beside."""

    def say(line: str) -> None:
        typer.echo(line, err=True)

    with stack_lock(_directory(), clock=clock, progress=say):
        yield


def _check(asked: Asked) -> None:
    """Refuse what cannot be had, before AWS is asked."""
    catalog, block = load_catalog(), load_quotas().block
    found = catalog.types.get(asked.type)
    if found is None or found.target != "aws":
        hint = did_you_mean(asked.type, catalog.types_of("aws"))
        raise UsageError(f"no instance type {asked.type!r} of AWS", where="--type", hint=hint)
    if found.domain_sizes:
        what = f"{asked.type} is sold as UltraServers, which this verb does not buy"
        raise UsageError(what, where="--type", hint="Buy it in the AWS console.")
    if asked.count > block.instances_max:
        what = f"{asked.count} instances; a block has at most {block.instances_max}"
        raise UsageError(what, where="--count")
    if asked.days > block.days_max:
        raise UsageError(f"{asked.days} days; a block is at most {block.days_max}", where="--days")


def _look(gateway: Gateway, asked: Asked) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    return read_offers(offerings(gateway, asked), zone_ids(gateway))


def _listing() -> Listing:
    path = _directory() / _OFFERS
    try:
        return Listing.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise UsageError("no offers were listed yet", where=str(path), hint=_LIST_FIRST) from error


def _still_offered(gateway: Gateway, asked: Asked, wanted: Offer, max_usd: float) -> Offer:
    """Ask AWS again; the offer as it is now, with the id that it has now."""
    now, _ = _look(gateway, asked)
    found = still_offered(wanted, now, max_usd)
    if isinstance(found, str):
        raise MusterError(found, where=wanted.id, hint="Nothing was bought.")
    return found


def _refuse_twice(gateway: Gateway, offer: Offer, now: datetime) -> None:
    before = bought_before(offer, blocks_of_type(gateway, offer.type), now)
    hint = "Add --again if you want another one."
    if before:
        what = f"{before.get('CapacityReservationId')} is just like it and not an hour old"
        raise MusterError(what, where=offer.id, hint=hint)
    sent = sent_before(offer, _records(), now)
    if sent and sent["state"] == "bought":
        raise MusterError(f"it was bought at {sent['time']}", where=offer.id, hint=hint)
    if sent:
        what = f"a purchase of it was sent at {sent['time']}, and its end is not known"
        raise UnknownOutcomeError(what, where=offer.id, hint=f"Look in the AWS console. {hint}")


def _records() -> list[dict[str, Any]]:
    path = _directory() / _PURCHASES
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except ValueError as error:
        what = "the record of purchases cannot be read, so a second one cannot be ruled out"
        raise UnknownOutcomeError(what, where=str(path), hint="Repair or move it.") from error


def _confirm(offer: Offer, region: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to confirm", hint="Add --yes.")
    sys.stderr.write(
        f"Capacity Block in {region}: {offer.count} x {offer.type} in {offer.zone_id or offer.zone}"
        f" from {when(offer.start)} to {when(offer.end)} ({offer.days:g} days).\n"
        f"It costs {offer.upfront_usd:,.2f} USD, charged now, in full; it cannot be cancelled.\n"
    )
    if not typer.confirm("Buy it?", err=True):
        raise MusterError("not confirmed", where=offer.id, hint="Nothing was bought.")


def _buy(offer: Offer, region: str, clock: Clock) -> Mapping[str, Any]:
    """Buy; the record is written before the call, so that a kill in between is not forgotten."""
    number = str(uuid.uuid4())
    record = {"purchase": number, "region": region, **offer.as_document()}

    def note(state: str, **more: str) -> None:
        line = {"time": clock.now().isoformat(), "state": state, **record, **more}
        append_line(_directory() / _PURCHASES, json.dumps(line))

    note("sent")
    try:
        bought = purchase(purchase_client(region), offer.id, {"muster:purchase": number})
    except UnknownOutcomeError:
        raise
    except MusterError as error:
        note("refused", why=error.what)
        raise
    note("bought", block=str(bought["CapacityReservationId"]))
    return bought


def _tell(
    offer: Offer,
    block_id: str,
    bought: Mapping[str, Any],
    odd: Iterable[str],
    *,
    as_json: bool,
) -> None:
    state = str(bought.get("State", "unknown"))
    if as_json:
        document = {"block": block_id, "state": state, **offer.as_document()}
        print_json(
            {**document, "differs": list(odd), "spec": yaml.safe_load(snippet(offer, block_id))}
        )
        return
    for difference in odd:
        sys.stderr.write(f"muster: {block_id}: {difference}\n")
    sys.stdout.write(f"bought {block_id} ({state}). In the stack's file:\n\n")
    sys.stdout.write(snippet(offer, block_id))


def _print_offers(found: Iterable[Offer], left_out: Iterable[str]) -> None:
    heads = ("offer", "type", "count", "zone", "start", "end", "USD", "USD/instance-hour")
    table = Table(*heads, box=None, header_style="bold")
    for offer in found:
        zone = f"{offer.zone_id} ({offer.zone})" if offer.zone_id else offer.zone
        money = (f"{offer.upfront_usd:,.2f}", f"{offer.usd_per_instance_hour:,.3f}")
        times = (when(offer.start), when(offer.end))
        table.add_row(offer.id, offer.type, str(offer.count), zone, *times, *money)
    console = Console(highlight=False)
    console.print(table if table.rows else "AWS offers none now.", crop=False, soft_wrap=True)
    for why in left_out:
        console.print(f"left out: {why}", markup=False)
