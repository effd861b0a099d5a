"""Prices out of the answers of AWS: price list, spot history, Capacity Block offerings. Pure.

What is missing, doubled or of another form is unknown and says why; nothing is chosen by chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from muster.catalog.prices_queries import Query, Unit

_UNITS: dict[Unit, frozenset[str]] = {
    "hour": frozenset({"hrs", "hour", "hours"}),
    "gbMonth": frozenset({"gb-mo", "gb-month"}),
}
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Price:
    """A price in USD, and the day it was true."""

    usd: float
    as_of: date
    note: str = ""


@dataclass(frozen=True, slots=True)
class NoPrice:
    """Why there is none."""

    why: str


Found = Price | NoPrice


class _FormError(Exception):
    """The answer is not of the documented form."""


def listed_price(products: Iterable[str], query: Query) -> Found:
    """Return the on-demand price of the one product that a query means.

    `products` are the texts of GetProducts' PriceList.
    """
    try:
        read = [_Product.read(text) for text in products]
        fitting = {product.sku: product for product in read if query.fits(product.attributes)}
        if len(fitting) != 1:
            return NoPrice(_which(sorted(fitting)))
        copies = [product for product in read if product.sku in fitting]
        prices = {_price_in(product, query) for product in copies}
    except _FormError as error:
        return NoPrice(f"the price list's answer is not of the documented form: {error}")
    if len(prices) != 1:
        return NoPrice(f"the price list states {len(prices)} prices for one product")
    return prices.pop()


def spot_prices(
    history: Iterable[Mapping[str, Any]], type_name: str, zones: Mapping[str, str]
) -> dict[str, Found]:
    """Return the newest spot price of Linux in each zone, by the zone's id.

    `zones` gives the id for each name; a zone that it lacks is passed over.
    """
    newest: dict[str, tuple[datetime, set[Decimal]]] = {}
    for row in history:
        zone = row.get("AvailabilityZoneId") or zones.get(str(row.get("AvailabilityZone")))
        when, usd = row.get("Timestamp"), _amount(row.get("SpotPrice"))
        linux = str(row.get("ProductDescription", "")).startswith("Linux/UNIX")
        if not zone or row.get("InstanceType") != type_name or not linux:
            continue
        if usd is None or not isinstance(when, datetime):
            continue
        last, prices = newest.get(zone, (when, set()))
        if when >= last:
            newest[zone] = (when, {usd} if when > last else {*prices, usd})
    return {
        zone: _only(prices, when.date(), "spot prices of one moment")
        for zone, (when, prices) in sorted(newest.items())
    }


def block_prices(
    offerings: Iterable[Mapping[str, Any]], zones: Mapping[str, str], today: date
) -> dict[str, Found]:
    """Return what an instance-hour of a Capacity Block costs in each zone, by the zone's id.

    Offerings whose fees, rounded to the cent, do not come from one hourly price leave it unknown.
    """
    rates: dict[str, list[tuple[Decimal, Decimal]]] = {}
    for offer in offerings:
        zone = zones.get(str(offer.get("AvailabilityZone")))
        fee, hours = _amount(offer.get("UpfrontFee")), _instance_hours(offer)
        if zone and fee is not None and hours and offer.get("CurrencyCode", "USD") == "USD":
            rates.setdefault(zone, []).append((fee / hours, _CENT / hours))
    return {zone: _one_rate(found, today) for zone, found in sorted(rates.items())}


def _instance_hours(offer: Mapping[str, Any]) -> Decimal | None:
    """Return the instances of an offering times the hours that its fee is for.

    AWS's model says that the minutes come on top of the hours, other texts that they are the whole
    once more; begin and end decide. An offering that begins between two full days fits neither.
    """
    count, hours = offer.get("InstanceCount"), offer.get("CapacityBlockDurationHours")
    minutes = offer.get("CapacityBlockDurationMinutes") or 0
    begin, end = offer.get("StartDate"), offer.get("EndDate")
    if not isinstance(count, int) or not isinstance(hours, int) or not isinstance(minutes, int):
        return None
    if not isinstance(begin, datetime) or not isinstance(end, datetime) or count <= 0:
        return None
    span = end - begin
    stated = {timedelta(hours=hours), timedelta(hours=hours, minutes=minutes)}
    if span <= timedelta(0) or span not in stated:
        return None
    return Decimal(count) * Decimal(span.total_seconds()) / 3600


def _one_rate(rates: list[tuple[Decimal, Decimal]], today: date) -> Found:
    least = max(rate - slack for rate, slack in rates)
    most = min(rate + slack for rate, slack in rates)
    if least > most:
        low, high = min(rates)[0], max(rates)[0]
        return NoPrice(f"offerings of {low:.2f} to {high:.2f} USD an instance-hour")
    return Price(float(round(min(rates, key=lambda pair: pair[1])[0], 6)), today)


def _only(prices: set[Decimal], day: date, what: str) -> Found:
    if len(prices) != 1:
        return NoPrice(f"{len(prices)} {what}")
    return Price(float(prices.pop()), day)


def _which(skus: list[str]) -> str:
    if not skus:
        return "the price list has no such product"
    return f"{len(skus)} products fit: {', '.join(skus[:3])}{' …' if len(skus) > 3 else ''}"  # noqa: PLR2004 - enough to look one up


@dataclass(frozen=True, slots=True)
class _Product:
    sku: str
    attributes: Mapping[str, str]
    published: date
    terms: Mapping[str, Any]

    @classmethod
    def read(cls, text: str) -> _Product:
        try:
            document = json.loads(text)
        except ValueError as error:
            message = "not JSON"
            raise _FormError(message) from error
        product = _mapping(_mapping(document, "product").get("product"), "product")
        try:
            published = datetime.fromisoformat(str(document.get("publicationDate"))).date()
        except ValueError as error:
            message = "no publicationDate"
            raise _FormError(message) from error
        attributes = _mapping(product.get("attributes"), "attributes")
        return cls(
            sku=str(product.get("sku")),
            attributes={"productFamily": str(product.get("productFamily", "")), **attributes},
            published=published,
            terms=_mapping(
                _mapping(document.get("terms", {}), "terms").get("OnDemand", {}), "terms"
            ),
        )


def _price_in(product: _Product, query: Query) -> Found:
    if len(product.terms) != 1:
        return NoPrice(f"the product has {len(product.terms)} on-demand terms")
    (term,) = product.terms.values()
    rates = _mapping(_mapping(term, "term").get("priceDimensions"), "priceDimensions")
    found = [_mapping(rate, "rate") for rate in rates.values()]
    if query.first_tier:
        found = [rate for rate in found if str(rate.get("beginRange", "0")) == "0"]
    if len(found) != 1:
        return NoPrice(f"the product has {len(found)} prices")
    unit = str(found[0].get("unit", ""))
    if unit.lower() not in _UNITS[query.unit]:
        return NoPrice(f"its price is per {unit!r}, not per {query.unit}")
    usd = _amount(_mapping(found[0].get("pricePerUnit"), "pricePerUnit").get("USD"))
    if usd is None:
        return NoPrice("it has no price above 0 USD")
    return Price(float(usd), product.published, "up to the first tier" if query.first_tier else "")


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        message = f"{what} is no mapping"
        raise _FormError(message)
    return value


def _amount(value: Any) -> Decimal | None:
    """Return an amount above 0; None for anything else."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None
