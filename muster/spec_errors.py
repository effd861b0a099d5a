"""Mistakes in a spec: where each one is, what was found, what was expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from muster.errors import UsageError
from muster.spec_forms import WORDS

ROOT = "muster:cluster"
"""The key of stack config that holds a spec."""

_UNION_TAGS = {"preset", "table"}
_SHOWN_MAX = 60
_SHOWN_BITS_MAX = 128
_LISTED_MAX = 12

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake, at one place in the spec: one line of text."""

    path: Path
    what: str
    hint: str = ""

    def line(self, where: str) -> str:
        """`<where>: <path>: <what>. <hint>`, on one line."""
        place = f"{where}: {ROOT}{path_text(self.path)}" if where else ROOT + path_text(self.path)
        return str(UsageError(self.what, where=place, hint=self.hint))


class SpecError(UsageError):
    """A spec with mistakes; its text has one line for each."""

    def __init__(self, mistakes: Iterable[Mistake], *, where: str) -> None:
        self.mistakes = tuple(dict.fromkeys(mistakes))
        self._lines = tuple(mistake.line(where) for mistake in self.mistakes)
        count = len(self.mistakes)
        super().__init__(f"{count} mistake{'' if count == 1 else 's'} in the spec", where=where)

    def __str__(self) -> str:
        """Every mistake on a line of its own."""
        return "\n".join(self._lines)

    def lines(self) -> tuple[str, ...]:
        """One line for each mistake."""
        return self._lines


def path_text(path: Path) -> str:
    """`.pools[0].count`."""
    texts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(text[:_SHOWN_MAX] for text in texts)


def shown(value: object) -> str:
    """Write a value as it stands in YAML, cut short."""
    words = {True: "true", False: "false", None: "nothing"}
    if value is None or isinstance(value, bool):
        return words[value]
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple) and not value:
        return "an empty list"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS_MAX:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def did_you_mean(wrong: object, names: Sequence[str]) -> str:
    """Suggest the nearest name, or list them all where none is near."""
    near = difflib.get_close_matches(str(wrong)[:_SHOWN_MAX], names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]}?"
    listed = sorted(names)
    more = f" and {len(listed) - _LISTED_MAX} more" if len(listed) > _LISTED_MAX else ""
    return f"Known: {', '.join(listed[:_LISTED_MAX])}{more}." if listed else ""


def gather(
    data: object, parsing: Iterable[Mistake], rules: Iterable[Mistake]
) -> tuple[Mistake, ...]:
    """Join both kinds in the order of the file; parsing has the say about a key that it refuses."""
    found = list(parsing)
    refused = {mistake.path for mistake in found}
    found += [mistake for mistake in rules if mistake.path not in refused]
    return tuple(sorted(found, key=lambda mistake: _position(data, mistake.path)))


def _position(data: object, path: Path) -> list[int]:
    """Where a path stands in the file; a missing key stands behind its neighbours."""
    places: list[int] = []
    for part in path:
        keys = list(data) if isinstance(data, dict) else []
        if isinstance(part, int):
            places.append(part)
            in_list = isinstance(data, list | tuple) and part < len(data)
            data = data[part] if in_list and isinstance(data, list | tuple) else None
        else:
            places.append(keys.index(part) if part in keys else len(keys))
            data = data.get(part) if isinstance(data, dict) else None
    return places


def mistakes_of(error: ValidationError, model: type[BaseModel]) -> Iterator[Mistake]:
    """Say what pydantic found, in our words."""
    for detail in error.errors(include_url=False):
        if _counts_good_entries_only(detail):
            continue
        path = tuple(part for part in detail["loc"] if part not in _UNION_TAGS)
        if detail["type"] == "extra_forbidden":
            names = keys_at(model, path[:-1])
            yield Mistake(path, "unknown key", did_you_mean(path[-1], names))
        else:
            yield _mistake(path, detail)


def _counts_good_entries_only(detail: ErrorDetails) -> bool:
    """Is a list called too short only because its entries, reported already, are bad?"""
    found = detail["input"]
    return (
        detail["type"] == "too_short"
        and isinstance(found, list | tuple)
        and len(found) >= detail["ctx"]["min_length"]
    )


def _mistake(path: Path, detail: ErrorDetails) -> Mistake:
    context: dict[str, Any] = detail.get("ctx", {})
    found = shown(detail["input"])
    kind = detail["type"]
    if kind == "invalid_key":
        return Mistake(path, "unknown key; keys are text")
    if kind == "missing":
        return Mistake(path, "missing; this key is required")
    if kind == "literal_error":
        allowed = [part.strip("' ") for part in _literal_names(str(context["expected"]))]
        return Mistake(
            path, f"{found}; must be {_one_of(allowed)}", _near(detail["input"], allowed)
        )
    if kind == "string_pattern_mismatch":
        return Mistake(path, f"{found}; must be {WORDS[context['pattern']]}")
    expected = _EXPECTED.get(kind)
    if expected is None:
        return Mistake(path, f"{found}; {detail['msg']}")
    hint = "Put it in quotes." if kind == "string_type" and _is_number(detail["input"]) else ""
    return Mistake(path, f"{found}; must be {expected.format(**context)}", hint)


_EXPECTED = {
    "bool_type": "true or false",
    "date_from_datetime_inexact": "a day, as 2026-12-31",
    "date_from_datetime_parsing": "a day, as 2026-12-31",
    "date_parsing": "a day, as 2026-12-31",
    "date_type": "a day, as 2026-12-31",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge} or more",
    "int_type": "a whole number",
    "less_than_equal": "{le} or less",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_too_short": "at least {min_length} characters long",
    "string_type": "text",
    "too_short": "a list of {min_length} or more",
    "tuple_type": "a list",
}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _literal_names(expected: str) -> list[str]:
    return expected.replace(" or ", ", ").split(",")


def _one_of(names: Sequence[str]) -> str:
    names = ["true" if name == "True" else name for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _near(wrong: object, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(str(wrong), names, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else ""


def keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """Return the keys that the section at `path` may have."""
    section: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int) or section is None:
            continue
        section = _section_of(_by_key(section).get(part))
    return list(_by_key(section)) if section else []


def _by_key(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """Find the model inside `tuple[Model, ...]`, `Model | None` or an annotated union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in {Annotated, Union, UnionType, tuple}:
        found = (_section_of(part) for part in get_args(annotation))
        return next((section for section in found if section), None)
    return None
