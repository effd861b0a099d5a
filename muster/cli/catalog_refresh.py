"""catalog refresh: reads prices from AWS into a dated file beside the stacks."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from muster.catalog import Catalog, InstanceType, load_catalog
from muster.catalog.prices_file import RegionPrices, write_region_prices
from muster.catalog.prices_merge import Merged, Region, merge, shipped_price
from muster.catalog.prices_queries import load_price_queries
from muster.cli.output import AsJson, ProgressLine, print_json
from muster.clock import SystemClock
from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway
from muster.cloud.price_list import PriceEdges, read_prices, zone_ids
from muster.errors import UnknownOutcomeError, UsageError
from muster.progress import Progress
from muster.project import price_directory
from muster.spec_errors import did_you_mean

RegionName = Annotated[
    str, typer.Option("--region", metavar="REGION", help="As us-east-2; default: AWS_REGION.")
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="Instance type; all of AWS by default."),
]
AcceptJumps = Annotated[
    bool, typer.Option("--accept-jumps", help="Take prices that moved by more than a factor of 5.")
]


def region_or_fail(region: str) -> str:
    """Return the region that was named, or that of the environment.

    Raises:
        UsageError: neither names one.

    """
    found = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not found:
        raise UsageError("no region is named", hint="Give --region, as --region us-east-2.")
    return found


def catalog_refresh(
    *,
    region: RegionName = "",
    types: Types = None,
    accept_jumps: AcceptJumps = False,
    as_json: AsJson = False,
) -> None:
    """Read prices from AWS into stacks/prices/REGION.yaml; the shipped catalog stays as it is."""
    directory = _directory()
    catalog = load_catalog(prices=directory)
    kinds = _kinds(catalog, types or ())
    with ProgressLine() as progress:
        merged = _refresh(catalog, kinds, region_or_fail(region), progress, take_all=accept_jumps)
    path = write_region_prices(directory, merged.prices)
    if as_json:
        print_json(_document(merged, path))
    else:
        sys.stdout.write("\n".join(_lines(merged, path)) + "\n")
    sys.exit(1 if merged.jumped else 0)


def _refresh(
    catalog: Catalog,
    kinds: Sequence[InstanceType],
    name: str,
    progress: Progress,
    *,
    take_all: bool,
) -> Merged:
    queries, clock = load_price_queries(), SystemClock()
    edges = PriceEdges(
        region=AwsGateway(Clients(name)),
        price_list=AwsGateway(Clients(queries.endpoint_region)),
        clock=clock,
        progress=progress,
    )
    zones = zone_ids(edges.region)
    prefixes = {zone.rpartition("-az")[0] for zone in zones.values()}
    if len(prefixes) != 1:
        raise UnknownOutcomeError(f"its zones are {', '.join(sorted(zones.values()))}", where=name)
    reading = read_prices(edges, kinds, queries, zones)
    before = next((prices for prices in catalog.region_prices if prices.region == name), None)
    merged = merge(
        Region(name=name, zones=prefixes.pop(), read=clock.now().date()),
        reading,
        before,
        lambda place: shipped_price(catalog.types, place),
        jump=math.inf if take_all else queries.jump.factor,
    )
    if not merged.taken and not merged.jumped:
        why = merged.unknown[0][1] if merged.unknown else "nothing was asked"
        raise UnknownOutcomeError(f"no price could be read: {why}", where=name)
    return merged


def _directory() -> Path:
    found = price_directory()
    if found is None:
        raise UsageError("this is no project", hint="Run muster where Pulumi.yaml is.")
    return found


def _kinds(catalog: Catalog, names: Sequence[str]) -> list[InstanceType]:
    sold = catalog.types_of("aws")
    for name in names:
        if name not in sold:
            what = f"no instance type {name!r} of AWS in the catalog"
            raise UsageError(what, where="--type", hint=did_you_mean(name, sold))
    return [catalog.types[name] for name in dict.fromkeys(names or sold)]


def _lines(merged: Merged, path: Path) -> list[str]:
    lines = [f"unknown  {place}: {why}" for place, why in merged.unknown]
    lines += [
        f"NOT TAKEN  {found.place}: {found.before:g} -> {found.after:g} USD; look at it, then add"
        " --accept-jumps"
        for found in merged.jumped
    ]
    counted = f"{len(merged.taken)} prices read, {len(merged.unknown)} unknown"
    return [*lines, f"{counted}, {len(merged.jumped)} not taken: {path}"]


def _document(merged: Merged, path: Path) -> dict[str, Any]:
    prices: RegionPrices = merged.prices
    return {
        "file": str(path),
        "region": prices.region,
        "taken": [str(place) for place in merged.taken],
        "unknown": [{"what": str(place), "why": why} for place, why in merged.unknown],
        "notTaken": [
            {"what": str(found.place), "before": found.before, "after": found.after}
            for found in merged.jumped
        ],
    }
