"""What differs between two rows, and what is known about a role or a component. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from muster.catalog.model import Source
from muster.errors import UsageError
from muster.software.model import Component, MatrixRow, RoleUse
from muster.software.rules import RuleBook
from muster.software.selection import ROLE_ORDER, why_chosen
from muster.spec_errors import did_you_mean

UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One field of one component that two rows have differently."""

    component: str
    field: str
    before: str
    after: str


def differences(before: MatrixRow, after: MatrixRow) -> tuple[Change, ...]:
    """Return what changes between two rows, by component."""
    names = dict.fromkeys((*before.components, *after.components))
    return tuple(change for name in names for change in _changes(name, before, after))


def _changes(name: str, before: MatrixRow, after: MatrixRow) -> Iterator[Change]:
    old, new = (_flat(row.components.get(name)) for row in (before, after))
    for field in dict.fromkeys((*old, *new)):
        if old.get(field, "") != new.get(field, ""):
            yield Change(
                component=name,
                field=field,
                before=old.get(field, "") or UNKNOWN,
                after=new.get(field, "") or UNKNOWN,
            )


def _flat(component: Component | None) -> dict[str, str]:
    """Write out what is installed; where it is from is no difference."""
    if component is None:
        return {"in the row": "no"}
    flat = {"in the row": "yes", "version": component.version, "built for": component.built_for}
    flat |= {f"version on {os}": version for os, version in component.versions.items()}
    for os, packages in component.packages.items():
        flat |= {f"package {p.name} on {os}": p.version for p in packages}
    for file in component.artefacts:
        filled = file.filled(component.version)
        flat[f"file {file.name}"] = f"{filled.url} {filled.sha256 or UNKNOWN}"
    flat |= {f"kernels on {os}": ", ".join(known) for os, known in component.kernels.items()}
    return flat


def explain(
    name: str, row: MatrixRow, book: RuleBook, sources: Mapping[str, Source], use: RoleUse | None
) -> dict[str, Any]:
    """Return all that is known about a role or a component, as a document.

    `use` is what a machine that was asked about makes of the role; None where it does not need it,
    or none was asked about.

    Raises:
        UsageError: there is no such role or component.

    """
    parts = row.of_role(name) or {n: c for n, c in row.components.items() if n == name}
    if not parts and name not in ROLE_ORDER:
        hint = did_you_mean(name, (*ROLE_ORDER, *row.components))
        raise UsageError(f"no role or component {name!r} in row {row.name}", hint=hint)
    roles = {part.role for part in parts.values()} or {name}
    return {
        "name": name,
        "row": row.name,
        "neededBy": {r: why_chosen(r) for r in sorted(roles) if r in ROLE_ORDER},
        "components": {n: _component(c, row, sources) for n, c in parts.items()},
        "rules": {
            rule.name: {"why": rule.why, "source": _source(rule.source, sources)}
            for rule in book.rules
            if {name, *parts} & set(_mentioned(rule))
        },
        "arguments": dict(use.variables) if use else None,
        "missing": list(use.missing) if use else None,
    }


def _component(found: Component, row: MatrixRow, sources: Mapping[str, Source]) -> dict[str, Any]:
    document = found.model_dump(mode="json", exclude_defaults=True)
    return {
        **document,
        "version": found.version or UNKNOWN,
        "source": _source(found.source, sources),
        "missing": {os: list(lacks) for os in row.os if (lacks := found.missing(os, "x86_64"))},
    }


def _source(key: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    found = sources.get(key)
    return {"key": key, **(found.model_dump(mode="json") if found else {})}


def _mentioned(rule: object) -> Iterator[str]:
    """Give the components and roles that a rule is about."""
    for field in ("component", "for_", "kernel", "role", "first", "then"):
        value = getattr(rule, field, "")
        if value:
            yield str(value)
    yield from getattr(rule, "components", ())
