"""Buying a Capacity Block: offerings, and every reason not to buy. Pure.

A block is paid up front and cannot be given back, so whatever is not known speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

ALIKE_WITHIN = timedelta(hours=1)
"""How recent a purchase must be to be taken for the same one, sent twice."""

_HOURS_A_DAY = 24
_DEAD = {"cancelled", "expired", "failed", "payment-failed"}


class Offer(BaseModel):
    """One Capacity Block that can be bought."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str = Field(min_length=1)
    type: str = Field(min_length=1)
    count: Annotated[int, Field(gt=0)]
    zone: str
    zone_id: str
    start: datetime
    end: datetime
    upfront_usd: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.end <= self.start:
            message = "ends before it begins"
            raise ValueError(message)
        return self

    @property
    def usd_per_instance_hour(self) -> float:
        """What an hour of one instance costs."""
        return self.upfront_usd / (self.count * self.days * _HOURS_A_DAY)

    @property
    def days(self) -> float:
        """How long it is."""
        return (self.end - self.start) / timedelta(days=1)

    def is_alike(self, other: Offer) -> bool:
        """Is it the same capacity? The id is another in every answer of AWS."""
        return self._capacity == other._capacity

    @property
    def _capacity(self) -> tuple[str, int, str, datetime, datetime]:
        return self.type, self.count, self.zone, self.start, self.end

    def as_document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "offer": self.id,
            "type": self.type,
            "count": self.count,
            "zone": self.zone,
            "zoneId": self.zone_id,
            "start": when(self.start),
            "end": when(self.end),
            "upfrontUsd": self.upfront_usd,
            "usdPerInstanceHour": round(self.usd_per_instance_hour, 4),
        }


class Asked(BaseModel):
    """What was looked for, so that a purchase can look for it once more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: str
    type: str
    count: Annotated[int, Field(gt=0)]
    days: Annotated[int, Field(gt=0)]
    start: datetime | None = None


class Listing(BaseModel):
    """The offers that were last shown to a person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: Asked
    offers: tuple[Offer, ...]

    def offer(self, offer_id: str) -> Offer | None:
        """Return the offer of an id."""
        return next((offer for offer in self.offers if offer.id == offer_id), None)


def read_offers(
    rows: Iterable[Mapping[str, Any]], zones: Mapping[str, str]
) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """Return the offers, the cheapest first, and why others cannot be bought here."""
    offers, left_out = [], []
    for row in rows:
        try:
            offers.append(_read_offer(row, zones))
        except _UnfitError as error:
            left_out.append(f"{row.get('CapacityBlockOfferingId', 'one')}: {error}")
    return tuple(sorted(offers, key=lambda o: (o.upfront_usd, o.start, o.id))), tuple(left_out)


class _UnfitError(Exception):
    """An offering that is not understood in full."""


def _read_offer(row: Mapping[str, Any], zones: Mapping[str, str]) -> Offer:
    currency = row.get("CurrencyCode")
    if len(row.get("CapacityBlockOfferingSegments") or ()) > 1:
        raise _UnfitError("it has several segments")
    if currency not in (None, "USD"):
        raise _UnfitError(f"its fee is in {currency}")
    zone = str(row.get("AvailabilityZone", ""))
    try:
        return Offer(
            id=row.get("CapacityBlockOfferingId", ""),
            type=row.get("InstanceType", ""),
            count=row.get("InstanceCount", 0),
            zone=zone,
            zone_id=zones.get(zone, ""),
            start=row["StartDate"],
            end=row["EndDate"],
            upfront_usd=row["UpfrontFee"],
        )
    except (KeyError, ValidationError) as error:
        raise _UnfitError("AWS does not state all of it") from error


def still_offered(wanted: Offer, now: Iterable[Offer], max_usd: float) -> Offer | str:
    """Return the offer as AWS makes it now, or why it must not be bought."""
    alike = [offer for offer in now if offer.is_alike(wanted)]
    if not alike:
        return "AWS no longer offers it; look again with `muster capacity offers`"
    same = next((offer for offer in alike if offer.id == wanted.id), alike[0])
    if same.upfront_usd != wanted.upfront_usd:
        changed = f"{wanted.upfront_usd:,.2f} to {same.upfront_usd:,.2f} USD"
        return f"its fee changed from {changed}; look again with `muster capacity offers`"
    if same.upfront_usd > max_usd:
        return f"it costs {same.upfront_usd:,.2f} USD, above --max-upfront-usd {max_usd:,.2f}"
    return same


def bought_before(
    wanted: Offer, reservations: Iterable[Mapping[str, Any]], now: datetime
) -> Mapping[str, Any] | None:
    """Return a block just like it that was bought within the hour, perhaps by the same person."""
    for row in reservations:
        created = row.get("CreateDate")
        same = (
            row.get("InstanceType") == wanted.type
            and row.get("TotalInstanceCount") == wanted.count
            and row.get("AvailabilityZone") == wanted.zone
            and row.get("EndDate") == wanted.end
            and row.get("State") not in _DEAD
        )
        # A block whose age is not known counts as new: to ask once too often costs nothing.
        if same and (not isinstance(created, datetime) or now - created < ALIKE_WITHIN):
            return row
    return None


def sent_before(
    wanted: Offer, records: Iterable[Mapping[str, Any]], now: datetime
) -> Mapping[str, Any] | None:
    """Return the last word on a purchase of it that was sent within the hour and not refused.

    AWS may not show yet what was bought a moment ago; our own record does.
    """
    last: dict[str, Mapping[str, Any]] = {}
    for row in records:
        if _capacity_of(row) == _capacity_of(wanted.as_document()):
            last[str(row.get("purchase"))] = row
    for row in last.values():
        recent = now - datetime.fromisoformat(str(row.get("time"))) < ALIKE_WITHIN
        if recent and row.get("state") != "refused":
            return row
    return None


def _capacity_of(document: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(document.get(key) for key in ("type", "count", "zone", "end"))


def differences(offer: Offer, bought: Mapping[str, Any]) -> Iterator[str]:
    """Yield what AWS says of a block that was bought and the offer did not say."""
    pairs = (
        ("type", offer.type, bought.get("InstanceType")),
        ("count", offer.count, bought.get("TotalInstanceCount")),
        ("zone", offer.zone, bought.get("AvailabilityZone")),
        ("end", offer.end, bought.get("EndDate")),
    )
    for name, wanted, got in pairs:
        if got is not None and got != wanted:
            yield f"{name} is {got}, not {wanted}"


def snippet(offer: Offer, block_id: str) -> str:
    """Return what to write into the stack's file."""
    zone = f"network: {{zoneId: {offer.zone_id}}}\n" if offer.zone_id else ""
    return (
        f"{zone}pools:\n"
        f"  - name: train\n"
        f"    type: {offer.type}\n"
        f"    count: {offer.count}\n"
        f'    capacity: {{block: {block_id}, ends: "{when(offer.end)}"}}\n'
    )


def when(time: datetime) -> str:
    """Write a time as the spec wants it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").replace(":00Z", "Z")
