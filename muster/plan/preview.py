"""Reading what `pulumi preview --json` says: every step, or an error that says what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from muster.errors import UnknownOutcomeError

_HINT = "Run `pulumi preview --json` again and keep all that it prints."
_QUOTED = re.compile(r'^\["([^"]+)"\]')
_URN = re.compile(r"^urn:pulumi:.+::.+")


class PreviewError(UnknownOutcomeError):
    """The preview cannot be read in full, so nothing can be said about it."""


class Op(StrEnum):
    """What the engine may do in a step; the names are its own."""

    SAME = "same"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"
    CREATE_REPLACEMENT = "create-replacement"
    DELETE_REPLACED = "delete-replaced"
    READ = "read"
    READ_REPLACEMENT = "read-replacement"
    REFRESH = "refresh"
    DISCARD = "discard"
    DISCARD_REPLACED = "discard-replaced"
    REMOVE_PENDING_REPLACE = "remove-pending-replace"
    IMPORT = "import"
    IMPORT_REPLACEMENT = "import-replacement"


_NEW_ONLY = {Op.CREATE, Op.READ, Op.IMPORT}
_OLD_ONLY = {
    Op.DELETE,
    Op.DELETE_REPLACED,
    Op.DISCARD,
    Op.DISCARD_REPLACED,
    Op.REMOVE_PENDING_REPLACE,
    Op.REFRESH,
}
_LISTED = {Op.CREATE, Op.UPDATE, Op.DELETE, Op.REPLACE}
"""Steps that the engine counts as it lists them; it does not list every `same`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One thing that the engine would do to one resource."""

    op: Op
    urn: str
    type: str
    custom: bool
    """Is there a real thing behind it? A component only groups others."""
    id: str
    """Its name in the cloud; empty where it does not exist yet."""
    before: Mapping[str, Any]
    """Inputs as they are."""
    after: Mapping[str, Any]
    """Inputs as they will be."""
    changed: tuple[str, ...]
    """Paths of the properties that differ, as "scalingConfig.desiredSize"."""
    retained: bool
    """Is the real thing left alone when the engine deletes it?"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview:
    """All steps, and why the engine stopped before the end, where it did."""

    steps: tuple[Step, ...]
    errors: tuple[str, ...]


def read_preview(document: object) -> Preview:
    """Read the parsed output of `pulumi preview --json`.

    Raises:
        PreviewError: a step is missing, unknown or incomplete.

    """
    content = _mapping(document, "preview")
    errors = _errors(content)
    listed = content.get("steps")
    if not isinstance(listed, list):
        why = errors[0] if errors else "it lists no steps"
        raise PreviewError(why, where="preview", hint=_HINT)
    steps = tuple(_step(value, f"preview: steps[{n}]") for n, value in enumerate(listed))
    if not errors:  # a preview that failed counts only what it finished
        _refuse_cut_short(steps, _mapping(content.get("changeSummary"), "preview: changeSummary"))
    return Preview(steps=steps, errors=errors)


def _errors(content: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    for value in content.get("diagnostics") or ():
        told = _mapping(value, "preview: diagnostics")
        if told.get("severity") == "error":
            found.append(" ".join(str(told.get("message", "no message")).split()))
    return tuple(found)


def _refuse_cut_short(steps: tuple[Step, ...], summary: Mapping[str, Any]) -> None:
    counts = Counter(step.op for step in steps)
    for op in sorted(_LISTED):
        counted = summary.get(op, 0)
        if counts[op] != counted:
            what = f"its summary counts {counted} of {op.value!r}, it lists {counts[op]}"
            raise PreviewError(what, where="preview", hint=_HINT)


def _step(value: object, where: str) -> Step:
    step = _mapping(value, where)
    op, urn = _op(step, where), step.get("urn")
    if not isinstance(urn, str) or not _URN.match(urn):
        raise PreviewError(f"urn is {urn!r}", where=where, hint=_HINT)
    old = {} if op in _NEW_ONLY else _mapping(step.get("oldState"), f"{where}: oldState")
    new = {} if op in _OLD_ONLY else _mapping(step.get("newState"), f"{where}: newState")
    state = old or new
    kind, custom = state.get("type"), state.get("custom")
    if not isinstance(kind, str) or not kind or not isinstance(custom, bool):
        raise PreviewError("its state lacks type or custom", where=f"{where} {urn}", hint=_HINT)
    before, after = _inputs(old, where), _inputs(new, where)
    return Step(
        op=op,
        urn=urn,
        type=kind,
        custom=custom,
        id=str(old.get("id") or ""),
        before=before,
        after=after,
        changed=_changed(step, where) or _differing(op, before, after),
        retained=old.get("retainOnDelete") is True,
    )


def _op(step: Mapping[str, Any], where: str) -> Op:
    try:
        return Op(str(step.get("op")))
    except ValueError:
        what = f"no such operation as {step.get('op')!r}"
        raise PreviewError(what, where=where, hint="This muster may be too old.") from None


def _inputs(state: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    return _mapping(state.get("inputs") or {}, f"{where}: inputs")


def _changed(step: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Join all that the engine says; the paths of detailedDiff say more than bare names."""
    paths = [_path(key) for key in _mapping(step.get("detailedDiff") or {}, where)]
    for key in ("diffReasons", "replaceReasons"):
        names = step.get(key) or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise PreviewError(f"{key} is not a list of names", where=where, hint=_HINT)
        roots = {root_of(path) for path in paths}
        paths += [_path(name) for name in names if root_of(_path(name)) not in roots]
    return tuple(dict.fromkeys(paths))


def _differing(op: Op, before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    if op is not Op.UPDATE:
        return ()
    both = dict.fromkeys([*before, *after])
    return tuple(key for key in both if before.get(key) != after.get(key) and key != "__defaults")


def root_of(path: str) -> str:
    """Return the property that a path begins with."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _path(key: str) -> str:
    """Write a quoted first part, `["a.b"]`, as the rest are written."""
    return _QUOTED.sub(r"\1", key)


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        what = "is missing" if value is None else f"must be an object, not {type(value).__name__}"
        raise PreviewError(what, where=where, hint=_HINT)
    return cast("Mapping[str, Any]", value)
