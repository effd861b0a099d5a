"""What a stack costs and draws, for a terminal and for a pull request. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from muster.catalog.show import UNKNOWN
from muster.plan.power import PoolPower, PowerSheet
from muster.plan.price import HOURS_A_MONTH, PoolComparison, PriceLine, PriceSheet
from muster.plan.price_delta import PoolDelta, PriceDelta

_Row = tuple[str, ...]
_PRICE_HEAD = ("what", "quantity", "unit", "USD/h each", "USD/h", "USD/month", "source", "note")
_WAYS_HEAD = (
    "pool",
    "type",
    "instances",
    "bought",
    "on demand/h",
    "block/h",
    "spot/h",
    "on demand/month",
    "block/month",
    "spot/month",
    "cheapest known",
)
_POWER_HEAD = ("pool", "accelerators", "model", "W each", "kW", "source", "note")
_HALF = 0.005
"""Below this, two digits after the point would show nothing."""


def price_as_text(sheet: PriceSheet, power: PowerSheet, delta: PriceDelta | None = None) -> str:
    """Return aligned plain text: costs, ways of buying, power, and the sources."""
    parts = [_aligned(_PRICE_HEAD, map(_price_row, sheet.lines))]
    parts.append("\n".join((*_delta_lines(delta), *_price_sums(sheet))))
    if sheet.pools:
        ways = _aligned(_WAYS_HEAD, map(_ways_row, sheet.pools))
        parts.append(f"USD, bought each way:\n{ways}")
        parts.append(_aligned(_POWER_HEAD, map(_power_row, power.pools)))
        parts.append("\n".join(_power_sums(power)))
    parts += ["\n".join(_source_lines(sheet))] if sheet.sources else []
    return "\n\n".join(parts) + "\n"


def price_as_markdown(sheet: PriceSheet, power: PowerSheet, delta: PriceDelta | None = None) -> str:
    """Return the same for a comment on a pull request; the totals first."""
    parts = [f"### Price\n\n{_listed((*_delta_lines(delta), *_price_sums(sheet)))}"]
    parts.append(_table(_PRICE_HEAD, map(_price_row, sheet.lines)))
    if sheet.pools:
        ways = _table(_WAYS_HEAD, map(_ways_row, sheet.pools))
        parts.append(f"USD, bought each way:\n\n{ways}")
        parts.append(f"### Power\n\n{_listed(_power_sums(power))}")
        parts.append(_table(_POWER_HEAD, map(_power_row, power.pools)))
    if sheet.sources:
        sources = _listed(_source_lines(sheet))
        parts.append(f"<details><summary>Sources</summary>\n\n{sources}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def price_as_document(
    sheet: PriceSheet, power: PowerSheet, delta: PriceDelta | None = None
) -> dict[str, Any]:
    """Return what a program reads; null is unknown, and never nothing."""
    return {
        "hourlyUsd": sheet.hourly_usd,
        "monthlyUsd": sheet.monthly_usd,
        "unknown": list(sheet.unknown),
        "notCounted": list(sheet.not_counted),
        "delta": _delta_document(delta) if delta else None,
        "lines": [
            {
                "what": line.what,
                "quantity": line.quantity,
                "unit": line.unit,
                "unitUsdPerHour": line.unit_usd_per_hour,
                "hourlyUsd": line.hourly_usd,
                "source": line.source,
                "asOf": line.as_of.isoformat() if line.as_of else None,
                "note": line.note,
            }
            for line in sheet.lines
        ],
        "pools": [
            {
                "pool": pool.pool,
                "type": pool.type,
                "instances": pool.instances,
                "buying": pool.buying,
                "onDemandHourlyUsd": pool.on_demand,
                "capacityBlockHourlyUsd": pool.capacity_block,
                "spotHourlyUsd": pool.spot,
                "cheapestKnown": pool.cheapest or None,
                "sources": list(pool.sources),
            }
            for pool in sheet.pools
        ],
        "sources": {key: source.model_dump(mode="json") for key, source in sheet.sources.items()},
        "power": {
            "acceleratorKilowatts": power.kilowatts,
            "unknown": list(power.unknown),
            "note": power.note,
        },
    }


def _price_row(line: PriceLine) -> _Row:
    hourly = line.hourly_usd
    return (
        line.what,
        UNKNOWN if line.quantity is None else f"{line.quantity:,}",
        line.unit,
        _usd(line.unit_usd_per_hour),
        _usd(hourly),
        _usd(None if hourly is None else hourly * HOURS_A_MONTH),
        _source(line),
        line.note,
    )


def _ways_row(pool: PoolComparison) -> _Row:
    prices = (pool.on_demand, pool.capacity_block, pool.spot)
    months = (None if usd is None else usd * HOURS_A_MONTH for usd in prices)
    what = (pool.pool, pool.type, f"{pool.instances:,}", pool.buying)
    return (*what, *map(_usd, prices), *map(_usd, months), pool.cheapest or UNKNOWN)


def _power_row(pool: PoolPower) -> _Row:
    return (
        pool.pool,
        f"{pool.accelerators:,}",
        pool.model,
        "" if not pool.accelerators else UNKNOWN if pool.tdp_w is None else f"{pool.tdp_w:,}",
        UNKNOWN if pool.watts is None else f"{pool.watts / 1000:,.1f}",
        _source(pool),
        pool.note,
    )


def _price_sums(sheet: PriceSheet) -> Iterator[str]:
    if len(sheet.unknown) < len(sheet.lines) or not sheet.lines:
        more = ", and on top what is unknown" if sheet.unknown else ""
        month = f"{_usd(sheet.monthly_usd)} USD a month of {HOURS_A_MONTH} h"
        yield f"{_usd(sheet.hourly_usd)} USD an hour, {month}, at list price{more}"
    if sheet.unknown:
        yield f"price unknown, so not in the sum: {', '.join(sheet.unknown)}"
    yield f"not counted: {', '.join(sheet.not_counted)}"


def _delta_lines(delta: PriceDelta | None) -> Iterator[str]:
    """Say what changes; nothing where nobody looked at what is deployed."""
    if delta is None:
        return
    change = "" if delta.usd is None else f" ({delta.usd:+,.2f})"
    known = "" if delta.deployed_usd is None else f"{delta.deployed_usd:,.2f}"
    more = ", and what is unknown" if delta.unknown else ""
    yield f"deployed {known or UNKNOWN} -> planned {delta.planned_usd:,.2f} USD/h{change}{more}"
    yield from map(_pool_line, delta.pools)


def _pool_line(pool: PoolDelta) -> str:
    if pool.deployed is None:
        return f"pool {pool.pool}: new, {pool.planned:,} instances"
    if pool.planned is None:
        return f"pool {pool.pool}: goes, {pool.deployed:,} instances"
    return f"pool {pool.pool}: {pool.deployed:,} -> {pool.planned:,} instances"


def _delta_document(delta: PriceDelta) -> dict[str, Any]:
    return {
        "deployedHourlyUsd": delta.deployed_usd,
        "plannedHourlyUsd": delta.planned_usd,
        "hourlyUsd": delta.usd,
        "unknown": list(delta.unknown),
        "pools": [
            {"pool": pool.pool, "deployed": pool.deployed, "planned": pool.planned}
            for pool in delta.pools
        ],
    }


def _power_sums(power: PowerSheet) -> Iterator[str]:
    if len(power.unknown) < len(power.pools):
        yield f"{power.kilowatts:,.1f} kW: {power.note}"
    if power.unknown:
        yield f"power unknown, so not in the sum: {', '.join(power.unknown)}"


def _source_lines(sheet: PriceSheet) -> Iterator[str]:
    for key, source in sheet.sources.items():
        yield f"{key}: {source.title} (read {source.read})"


def _source(row: PriceLine | PoolPower) -> str:
    return f"{row.source}, {row.as_of or 'undated'}" if row.source else ""


def _usd(value: float | None) -> str:
    """Write an amount; a small one keeps digits, so that it never reads as nothing."""
    if value is None:
        return UNKNOWN
    return f"{value:.6f}" if 0 < value < _HALF else f"{value:,.2f}"


def _aligned(head: _Row, rows: Iterable[_Row]) -> str:
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    padded = (zip(row, widths, strict=True) for row in table)
    return "\n".join("  ".join(cell.ljust(width) for cell, width in row).rstrip() for row in padded)


def _table(head: _Row, rows: Iterable[_Row]) -> str:
    lines: Sequence[_Row] = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
