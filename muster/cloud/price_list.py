"""Reading prices from AWS: price list, spot history, Capacity Block offerings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muster.catalog import InstanceType
from muster.catalog.prices_merge import Place
from muster.catalog.prices_products import (
    Found,
    NoPrice,
    block_prices,
    listed_price,
    spot_prices,
)
from muster.catalog.prices_queries import PriceQueries, Query
from muster.clock import Clock
from muster.cloud.asking import Answers, Question, ask, ask_all
from muster.cloud.gateway import Gateway
from muster.errors import UnknownOutcomeError
from muster.plan.cloud_view import Unread
from muster.progress import Progress

_LINUX = "Linux/UNIX"
_LIMIT_S = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class PriceEdges:
    """Who is asked: the region itself, and the region where the Price List API answers."""

    region: Gateway
    price_list: Gateway
    clock: Clock
    progress: Progress


def zone_ids(gateway: Gateway) -> dict[str, str]:
    """Return the id of each of the account's zones by its name.

    Raises:
        UnknownOutcomeError: AWS did not say.

    """
    filters = [{"Name": "zone-type", "Values": ["availability-zone"]}]
    parameters = {"Filters": filters}
    found = ask(
        gateway,
        Question(
            service="ec2",
            operation="describe_availability_zones",
            parameters=parameters,
            of="AvailabilityZones",
        ),
    )
    if isinstance(found, Unread):
        raise UnknownOutcomeError(found.why, where=gateway.region, hint=found.do)
    zones = {str(zone["ZoneName"]): str(zone["ZoneId"]) for zone in found if "ZoneId" in zone}
    if not zones:
        raise UnknownOutcomeError("AWS names no zone", where=gateway.region)
    return zones


def read_prices(
    edges: PriceEdges,
    kinds: Sequence[InstanceType],
    queries: PriceQueries,
    zones: Mapping[str, str],
) -> dict[Place, Found]:
    """Ask for the price of each type bought each way, and of all that is no instance."""
    region = edges.region.region
    listed = {Place("on_demand", kind.name): queries.instance.of_type(kind.name) for kind in kinds}
    listed |= {Place("item", name): query for name, query in queries.items.items()}
    asked = {place: query.in_region(region) for place, query in listed.items()}
    answers = _ask(
        edges, edges.price_list, {str(p): _products_of(query) for p, query in asked.items()}
    )
    reading = {place: _listed(answers[str(place)], query) for place, query in asked.items()}
    return reading | _by_zone(edges, kinds, queries, zones)


def _by_zone(
    edges: PriceEdges,
    kinds: Sequence[InstanceType],
    queries: PriceQueries,
    zones: Mapping[str, str],
) -> dict[Place, Found]:
    now = edges.clock.now()
    asked = {f"spot {kind.name}": _spot_of(kind.name, now) for kind in kinds}
    asked |= {
        f"block {kind.name}": _offerings_of(kind.name, queries)
        for kind in kinds
        if not kind.domain_sizes
    }
    answers = _ask(edges, edges.region, asked)
    reading: dict[Place, Found] = {}
    for kind in kinds:
        spot = answers[f"spot {kind.name}"]
        found = spot if isinstance(spot, Unread) else spot_prices(spot, kind.name, zones)
        reading |= _places(Place("spot", kind.name), found)
        if kind.domain_sizes:
            why = "sold as UltraServers, whose offerings are not asked for"
            reading[Place("capacity_block", kind.name)] = NoPrice(why)
            continue
        offers = answers[f"block {kind.name}"]
        blocks = offers if isinstance(offers, Unread) else block_prices(offers, zones, now.date())
        reading |= _places(Place("capacity_block", kind.name), blocks)
    return reading


def _places(place: Place, found: Mapping[str, Found] | Unread) -> dict[Place, Found]:
    if isinstance(found, Unread):
        return {place: NoPrice(found.why)}
    if not found:
        return {place: NoPrice("AWS offers none now")}
    return {place._replace(zone=zone): price for zone, price in found.items()}


def _ask(edges: PriceEdges, gateway: Gateway, asked: Mapping[str, Question]) -> Answers:
    return ask_all(gateway, asked, limit_s=_LIMIT_S, clock=edges.clock, progress=edges.progress)


def _products_of(query: Query) -> Question:
    filters = [
        {"Type": "TERM_MATCH", "Field": field, "Value": value}
        for field, value in query.attributes.items()
    ]
    parameters = {"ServiceCode": query.service, "Filters": filters, "FormatVersion": "aws_v1"}
    return Question(
        service="pricing", operation="get_products", parameters=parameters, of="PriceList"
    )


def _spot_of(type_name: str, now: datetime) -> Question:
    parameters = {
        "InstanceTypes": [type_name],
        "ProductDescriptions": [_LINUX],
        "StartTime": now,
        "EndTime": now,
    }
    return Question(
        service="ec2",
        operation="describe_spot_price_history",
        parameters=parameters,
        of="SpotPriceHistory",
    )


def _offerings_of(type_name: str, queries: PriceQueries) -> Question:
    parameters = {
        "InstanceType": type_name,
        "InstanceCount": queries.block.instances,
        "CapacityDurationHours": queries.block.hours,
    }
    return Question(
        service="ec2",
        operation="describe_capacity_block_offerings",
        parameters=parameters,
        of="CapacityBlockOfferings",
    )


def _listed(found: Sequence[Any] | Unread, query: Query) -> Found:
    if isinstance(found, Unread):
        return NoPrice(found.why)
    return listed_price(map(str, found), query)
