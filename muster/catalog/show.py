"""What the catalog says about one instance type, each value with its source and date. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from muster.catalog.limits import Limit
from muster.catalog.model import Catalog, Fact, InstanceType, RailFact
from muster.errors import UsageError
from muster.spec_errors import did_you_mean

UNKNOWN = "unknown"

_NOT_FACTS = {"name", "facts", "note"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `value` is "unknown" where no source states it."""

    field: str
    value: str
    source: str = ""
    as_of: str = ""


def type_rows(catalog: Catalog, name: str) -> tuple[Row, ...]:
    """Return all that is known, and what is not, about a type; limits that it is judged by last.

    Raises:
        UsageError: no such type.

    """
    found = _find(catalog, name)
    facts = (_fact_row(field, found) for field in _fields(found))
    note = [Row("note", found.note)] if found.note else []
    read = _region_rows(catalog, name)
    return (*facts, *read, *note, *(_limit_row(limit) for limit in _limits(catalog, found)))


def type_json(catalog: Catalog, name: str) -> dict[str, Any]:
    """Return the same as a JSON document.

    Raises:
        UsageError: no such type.

    """
    found = _find(catalog, name)
    facts = {field: _fact_json(field, found) for field in _fields(found)}
    limits = [limit.model_dump(mode="json") for limit in _limits(catalog, found)]
    sources = {fact.source for fact in found.facts.values()} | {row["source"] for row in limits}
    read = {region.region: region.instances.get(name) for region in catalog.region_prices}
    rows = [row for prices in read.values() if prices for _, _, row in prices.rows()]
    sources |= {row.source for row in rows}
    return {
        "name": found.name,
        "note": found.note,
        "facts": facts,
        "regionPrices": {
            region: prices.model_dump(mode="json", exclude_defaults=True)
            for region, prices in read.items()
            if prices
        },
        "limits": limits,
        "sources": {key: catalog.sources[key].model_dump(mode="json") for key in sorted(sources)},
    }


def type_text(catalog: Catalog, name: str) -> str:
    """Return the rows as plain aligned text, then the sources that they name."""
    rows = [tuple(asdict(row).values()) for row in type_rows(catalog, name)]
    table = [("field", "value", "source", "as of"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    pairs = (zip(row, widths, strict=True) for row in table)
    lines = ["  ".join(cell.ljust(width) for cell, width in pair).rstrip() for pair in pairs]
    cited = sorted({row[2] for row in rows if row[2]})
    return (
        "\n".join([*lines, "", *(f"{key}: {catalog.sources[key].title}" for key in cited)]) + "\n"
    )


def _region_rows(catalog: Catalog, name: str) -> tuple[Row, ...]:
    """Return what was read from AWS, which comes before the catalog's own prices there."""
    return tuple(
        Row(
            f"{way}_usd_per_hour",
            f"{row.usd:g} in {zone or region.region}",
            row.source,
            str(row.as_of),
        )
        for region in catalog.region_prices
        if name in region.instances
        for way, zone, row in region.instances[name].rows()
    )


def _find(catalog: Catalog, name: str) -> InstanceType:
    if name not in catalog.types:
        hint = did_you_mean(name, tuple(catalog.types))
        raise UsageError(f"no instance type {name!r} in the catalog", hint=hint)
    return catalog.types[name]


def _fields(found: InstanceType) -> list[str]:
    """Return the fields to show: for a cloud all, so that what is unknown is seen."""
    fields = [field for field in InstanceType.model_fields if field not in _NOT_FACTS]
    if found.target != "lab":
        return fields
    return [field for field in fields if getattr(found, field) is not None]


def _limits(catalog: Catalog, found: InstanceType) -> list[Limit]:
    """Return the limits of the narrowest scope that has any, for each quantity."""
    narrowest: dict[str, list[Limit]] = {}
    for scope in found.scopes:
        of_scope = [limit for limit in catalog.limits if limit.scope == scope]
        for quantity in {limit.quantity for limit in of_scope} - set(narrowest):
            narrowest[quantity] = [limit for limit in of_scope if limit.quantity == quantity]
    return [limit for quantity in sorted(narrowest) for limit in narrowest[quantity]]


def _fact_row(field: str, found: InstanceType) -> Row:
    value = getattr(found, field)
    fact = _fact_of(field, found)
    text = _text(field, value)
    return Row(field, text, fact.source, _day(fact)) if fact else Row(field, text)


def _fact_json(field: str, found: InstanceType) -> dict[str, Any]:
    value = found.model_dump(mode="json", include={field})[field]
    fact = _fact_of(field, found)
    cited = fact.model_dump(mode="json", include={"source", "as_of", "read"}) if fact else {}
    return {"value": value, **cited}


def _fact_of(field: str, found: InstanceType) -> Fact | None:
    """Return what the value rests on; rails of a cloud type follow from its EFA interfaces."""
    if field == "rails" and field not in found.facts:
        return found.facts.get("efa_interfaces")
    return found.facts.get(field)


def _text(field: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    if field == "rails":
        rails = [_rail_text(rail) for rail in value]
        alike = len(rails) > 1 and len(set(rails)) == 1
        return f"{len(rails)} x {rails[0]}" if alike else ", ".join(rails) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _rail_text(rail: RailFact) -> str:
    rate = f"{rail.rate_mbit} Mbit/s" if rail.rate_mbit else f"rate {UNKNOWN}"
    return f"{rail.interface} {rate}" if rail.interface else rate


def _day(fact: Fact) -> str:
    return str(fact.as_of) if fact.as_of else f"undated, read {fact.read}"


def _limit_row(limit: Limit) -> Row:
    told = ", ".join(f"{key} {value}" for key, value in limit.conditions.items())
    value = f"{limit.value:g} {limit.unit}{f' ({told})' if told else ''}"
    return Row(f"{limit.quantity} {limit.kind}", value, limit.source, str(limit.as_of or "undated"))
