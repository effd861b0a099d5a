"""What a change of each resource type means, as facts: muster/catalog/blast.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from muster.catalog.citing import load_cited
from muster.catalog.model import CatalogError, Entry

_HERE = Path(__file__).parent
_FILE = "blast.yaml"


class Effect(StrEnum):
    """What a step does to what runs and to what is kept, the mildest first."""

    NO_OP = "no-op"
    CREATE = "create"
    IN_PLACE = "in place"
    ROLLING = "rolling"
    DRAIN_FIRST = "drain first"
    UNKNOWN = "unknown"
    DESTROYS = "destroys"
    LOSES_RESERVATION = "loses reservation"
    LOSES_DATA = "loses data"

    @property
    def severity(self) -> int:
        """Place in the order above."""
        return list(Effect).index(self)

    @property
    def is_loss(self) -> bool:
        """Does it take away what cannot be had back by running `up` again?"""
        return self.severity >= Effect.DESTROYS.severity


def worst(effects: Iterator[Effect]) -> Effect:
    """Return the gravest; no-op where there is none."""
    return max(effects, key=lambda effect: effect.severity, default=Effect.NO_OP)


Guard = Literal["none", "gone", "any", "always"]
"""What needs an acknowledgement besides every loss: nothing, deletion and replacement, any change
of what exists, or its creation too."""
Result = Effect | Literal["replaces"]
"""`replaces`: it cannot be changed in place, so the resource is deleted and made anew."""


class Amount(Entry):
    """How much is lost, read from the resource's inputs."""

    property: str = Field(min_length=1)
    unit: Literal["GiB", "instances"]
    of: str = ""
    """Property that names the kind, as instanceType."""


class ChangeRule(Entry):
    """What a change of some properties does: one result, or one for less and one for more."""

    properties: tuple[str, ...] = Field(min_length=1)
    does: Result | None = None
    less: Result | None = None
    more: Result | None = None
    source: str

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        both = self.less is not None and self.more is not None
        neither = self.less is None and self.more is None
        if not (both or neither) or both == (self.does is not None):
            message = "give `does`, or both `less` and `more`"
            raise ValueError(message)
        return self


class TypeEffects(Entry):
    """One resource type, or all types that a pattern names."""

    what: str = Field(min_length=1)
    """The thing in words, as "placement group"."""
    gone: Effect
    """What its deletion or replacement does."""
    guard: Guard = "none"
    holds: str = ""
    """What goes with it, in words."""
    amount: Amount | None = None
    changes: tuple[ChangeRule, ...] = ()
    source: str
    note: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.gone in {Effect.NO_OP, Effect.CREATE}:
            message = f"gone: a deletion is never {self.gone}"
            raise ValueError(message)
        if self.gone.is_loss and self.guard == "none":
            message = f"gone: {self.gone} needs a guard"
            raise ValueError(message)
        listed = [name for rule in self.changes for name in rule.properties]
        twice = {name for name in listed if listed.count(name) > 1}
        if twice:
            message = f"changes: {', '.join(sorted(twice))} stands in two rules"
            raise ValueError(message)
        return self

    @property
    def stateful(self) -> bool:
        """Does it hold what running `up` again does not bring back?"""
        return self.guard != "none"


class Effects(Entry):
    """All of blast.yaml."""

    any_type: tuple[ChangeRule, ...] = Field(alias="any type")
    """Rules that hold for each type, where it has none of its own."""
    types: Mapping[str, TypeEffects] = Field(min_length=1)

    def of(self, type_name: str) -> TypeEffects | None:
        """Return what is known of a type: its own entry first, then the narrowest pattern."""
        if type_name in self.types:
            return self.types[type_name]
        patterns = [name for name in self.types if fnmatchcase(type_name, name)]
        return self.types[max(patterns, key=len)] if patterns else None

    def rule(self, type_name: str, path: str) -> ChangeRule | None:
        """Return the rule for a changed property, the one that names the longest part of it."""
        known = self.of(type_name)
        for rules in (known.changes if known else (), self.any_type):
            fitting = [(n, rule) for rule in rules for n in rule.properties if _within(path, n)]
            if fitting:
                return max(fitting, key=lambda pair: len(pair[0]))[1]
        return None

    def cited(self) -> Iterator[tuple[str, str]]:
        """Yield every source with the place that cites it."""
        yield from ((rule.source, "any type") for rule in self.any_type)
        for name, entry in self.types.items():
            yield entry.source, name
            yield from ((rule.source, name) for rule in entry.changes)


def _within(path: str, name: str) -> bool:
    return path == name or path.startswith((f"{name}.", f"{name}["))


@cache
def load_effects(directory: Path = _HERE) -> Effects:
    """Read and check what changes mean.

    Raises:
        CatalogError: an effect of no listed source, a rule that contradicts itself, a wrong type.

    """
    effects = load_cited(Effects, directory / _FILE, Effects.cited)
    for name in effects.types:
        if name.count(":") != 2:  # noqa: PLR2004 - package:module:Type
            raise CatalogError("must be package:module:Type", where=f"{_FILE}: {name}")
    return effects
