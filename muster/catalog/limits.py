"""Limits for acceptance, and the rules that keep impossible ones out.

Published limits were found up to 3.8 times above what the same vendor measured, and 1000 times too
low by a lost digit. So a floor must lie below the line rate and below what was measured under the
same conditions, above a tenth of the line rate, and say its unit, scope and conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_LOST_DIGIT = 0.1
"""A floor below this share of the line rate has lost a digit or has the wrong unit."""

Scalar = bool | int | float | str


class Quantity(BaseModel):
    """Something that is measured, in the one unit that all its limits must have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: str = Field(min_length=1)
    better: Literal["higher", "lower"]
    line: bool
    """Must each scope with a floor also state the line rate (kind `spec`)?"""
    conditions: tuple[str, ...] = ()
    """What every limit must state besides, as nodes_min and algorithm."""
    pinned: Mapping[str, Scalar] = Field(default_factory=dict)
    """Conditions that an enforced limit must have; only under them the line rate bounds it."""
    about: str = Field(min_length=1)


class Limit(BaseModel):
    """A value that a measurement is judged by, or compared with.

    `spec` is the line rate, `measured` what healthy hardware gave, `vendor-floor` what somebody
    publishes, `ours` what muster enforces: a floor, or a ceiling where lower is better.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: str
    scope: str = Field(pattern=r"^(any|(target|gpu|type):.+)$")
    kind: Literal["spec", "measured", "vendor-floor", "ours"]
    value: float = Field(ge=0, allow_inf_nan=False)
    unit: str
    conditions: Mapping[str, Scalar] = Field(default_factory=dict)
    source: str
    as_of: date | None = None
    note: str = ""

    @property
    def enforced(self) -> bool:
        """Does muster judge by it?"""
        return self.kind == "ours"

    @property
    def where(self) -> str:
        """Name of the row, for messages."""
        told = ", ".join(f"{key} {value}" for key, value in sorted(self.conditions.items()))
        return f"{self.quantity} {self.kind} {self.scope}{f' ({told})' if told else ''}"

    def applies(self, quantity: str, scope: str, given: Mapping[str, Any]) -> bool:
        """Is it about this quantity and scope, and do all its conditions hold?"""
        if (quantity, scope) != (self.quantity, self.scope):
            return False
        return all(_holds(key, value, given) for key, value in self.conditions.items())


def _holds(key: str, value: Scalar, given: Mapping[str, Any]) -> bool:
    if not key.endswith("_min"):
        return bool(given.get(key) == value)
    found = given.get(key.removesuffix("_min"))
    return isinstance(found, int | float) and isinstance(value, int | float) and found >= value


def check_limits(
    quantities: Mapping[str, Quantity], limits: Sequence[Limit], scopes: Iterable[str]
) -> Iterator[str]:
    """Say what is wrong with each row: "<row>: <reason>"; nothing where all is well."""
    known = {"any", *scopes}
    for limit in limits:
        reasons = [*_form(limit, quantities.get(limit.quantity), known)]
        if not reasons and limit.kind in {"ours", "vendor-floor"}:
            reasons = [*_bounds(limit, quantities[limit.quantity], limits)]
        yield from (f"{limit.where}: {reason}" for reason in reasons)


def _form(limit: Limit, quantity: Quantity | None, scopes: set[str]) -> Iterator[str]:
    if quantity is None:
        yield "no such quantity"
        return
    if limit.unit != quantity.unit:
        yield f"unit is {limit.unit}, must be {quantity.unit}"
    if limit.scope not in scopes:
        yield f"no such scope as {limit.scope}"
    if limit.kind != "spec":
        for name in quantity.conditions:
            if name not in limit.conditions:
                yield f"does not state {name}"
    for name, value in quantity.pinned.items() if limit.enforced else ():
        if limit.conditions.get(name) != value:
            yield f"{name} must be {value}"


def _bounds(limit: Limit, quantity: Quantity, limits: Sequence[Limit]) -> Iterator[str]:
    """Compare a floor or ceiling with the line rate and with what was measured."""
    same = [row for row in limits if (row.quantity, row.scope) == (limit.quantity, limit.scope)]
    lines = [row.value for row in same if row.kind == "spec"]
    if quantity.line and not lines:
        yield "no line rate (kind spec) to compare it with"
    for line in lines if quantity.better == "higher" else ():
        if limit.value > line:
            yield f"{limit.value:g} {limit.unit} is above the line rate of {line:g}"
        if limit.value < _LOST_DIGIT * line:
            yield f"{limit.value:g} {limit.unit} is under a tenth of the line rate of {line:g}"
    for row in same:
        if row.kind == "measured" and row.conditions == limit.conditions:
            beaten = (
                limit.value > row.value if quantity.better == "higher" else limit.value < row.value
            )
            if beaten:
                yield f"healthy hardware, measured at {row.value:g}, would fail {limit.value:g}"
