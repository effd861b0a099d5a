"""Raw spec data as rules read it, and what a rule is.

The rules read the raw data, not the parsed models, so that they speak up even where other keys are
wrong; a key of the wrong type is passed over here, since parsing already complains about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from muster.catalog import Catalog, InstanceType
from muster.spec_errors import Mistake, Path

STAGES = ("infra", "converge", "accept")
TARGETS = ("aws", "hosts", "lab")
_NUMBER_MAX = 1e12


@dataclass(frozen=True, slots=True)
class View:
    """A section of raw data and where it stands; a missing or mistyped part reads as empty."""

    data: Mapping[Any, Any]
    path: Path = ()

    def get(self, key: str) -> Any:
        """Return what stands there, whatever it is."""
        return self.data.get(key)

    def text(self, key: str) -> str:
        """Return a text; empty where there is none."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> float:
        """Return a number that can be reckoned with, or 0."""
        value = self.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return 0
        return value if -_NUMBER_MAX < value < _NUMBER_MAX else 0

    def section(self, key: str) -> View:
        """Return a mapping."""
        value = self.get(key)
        return View(value if isinstance(value, Mapping) else {}, (*self.path, key))

    def items(self, key: str) -> list[View]:
        """Return the mappings in a list; others are left out."""
        value = self.get(key)
        if not isinstance(value, list | tuple):
            return []
        places = enumerate(value)
        return [View(v, (*self.path, key, n)) for n, v in places if isinstance(v, Mapping)]

    def mistake(self, key: str, what: str, hint: str = "") -> Mistake:
        """Name a mistake at a key, or at the section itself."""
        return Mistake((*self.path, key) if key else self.path, what, hint)


@dataclass(frozen=True, slots=True)
class Facts:
    """What rules may ask besides the spec."""

    catalog: Catalog
    today: date
    types: Mapping[str, InstanceType] = field(default_factory=dict)


Rule = Callable[[View, Facts], Iterator[Mistake]]


def stages_of(spec: View) -> tuple[str, ...]:
    """Return the stages that the spec asks for; all where it does not say."""
    stages = spec.get("stages")
    return tuple(stages) if isinstance(stages, list | tuple) else STAGES
