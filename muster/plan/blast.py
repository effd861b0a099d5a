"""Blast radius of a change: what it disturbs, what it loses, and who said that it may."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from muster.catalog.blast import Amount, Effect, Effects, Guard, Result, TypeEffects, worst
from muster.findings import Outcome
from muster.plan.preview import Op, Preview, PreviewError, Step, read_preview
from muster.spec import Acknowledgement

__all__ = [
    "Blast",
    "Change",
    "Effect",
    "Preview",
    "PreviewError",
    "Step",
    "classify",
    "judge",
    "read_preview",
]

_GONE = {
    Op.DELETE,
    Op.REPLACE,
    Op.CREATE_REPLACEMENT,
    Op.DELETE_REPLACED,
    Op.READ_REPLACEMENT,
    Op.IMPORT_REPLACEMENT,
}
_GIB_PER_TIB = 1024
_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What happens to one resource, over all its steps."""

    urn: str
    type: str
    ops: tuple[str, ...]
    effect: Effect
    lost: str
    """What goes with it, in words; empty where nothing does."""
    changed: tuple[str, ...]
    guarded: bool
    """Does the type ask for an acknowledgement of this, whatever the effect?"""
    acknowledgement: Acknowledgement | None = None

    @property
    def risky(self) -> bool:
        """Does it need somebody who said that it may happen?"""
        return self.guarded or self.effect.is_loss or self.effect is Effect.UNKNOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class Blast:
    """The verdict on a preview."""

    changes: tuple[Change, ...]
    """All that is not a no-op, the gravest first."""
    expired: tuple[Acknowledgement, ...]
    """Acknowledgements that hold no more."""
    unused: tuple[Acknowledgement, ...]
    """Acknowledgements of nothing that this preview would do."""
    errors: tuple[str, ...]
    """Why the engine stopped before the end."""

    @property
    def blocked(self) -> tuple[Change, ...]:
        """What must not happen before somebody says that it may."""
        return tuple(c for c in self.changes if c.risky and not c.acknowledgement)

    @property
    def acknowledged(self) -> tuple[Change, ...]:
        """What may happen because somebody said so."""
        return tuple(c for c in self.changes if c.acknowledgement)

    @property
    def outcome(self) -> Outcome:
        """FAIL for a loss or a guarded change, UNKNOWN for what cannot be told, else PASS."""
        if any(change.guarded or change.effect.is_loss for change in self.blocked):
            return Outcome.FAIL
        return Outcome.UNKNOWN if self.blocked or self.errors else Outcome.PASS


def judge(
    preview: Preview,
    acknowledgements: Sequence[Acknowledgement],
    today: date,
    *,
    effects: Effects,
) -> Blast:
    """Say what a preview would do, and whether each loss in it was acknowledged."""
    steps: dict[str, list[Step]] = {}
    for step in preview.steps:
        steps.setdefault(step.urn, []).append(step)
    valid = {known.urn: known for known in acknowledgements if known.until >= today}
    found = [_change(of_one, effects, valid) for of_one in steps.values()]
    changes = sorted(
        (change for change in found if change.effect is not Effect.NO_OP),
        key=lambda change: (-change.effect.severity, change.urn),
    )
    risky = {change.urn for change in changes if change.risky}
    return Blast(
        changes=tuple(changes),
        expired=tuple(a for a in acknowledgements if a.until < today),
        unused=tuple(a for a in acknowledgements if a.until >= today and a.urn not in risky),
        errors=preview.errors,
    )


def classify(step: Step, effects: Effects) -> Effect:
    """Say what a step does to what runs and to what is kept."""
    return _result(step, effects)[0]


def _change(
    steps: Sequence[Step], effects: Effects, valid: Mapping[str, Acknowledgement]
) -> Change:
    results = [(step, *_result(step, effects)) for step in steps]
    gravest, effect, gone = max(results, key=lambda found: (found[1].severity, found[2]))
    known = effects.of(gravest.type)
    change = Change(
        urn=gravest.urn,
        type=gravest.type,
        ops=tuple(dict.fromkeys(step.op.value for step in steps)),
        effect=effect,
        lost=_lost(gravest, known, effect, gone=gone),
        changed=tuple(dict.fromkeys(path for step in steps for path in step.changed)),
        guarded=_guarded(
            known.guard if known else "none", effect, gone=any(found[2] for found in results)
        ),
    )
    return replace(change, acknowledgement=valid.get(change.urn)) if change.risky else change


def _guarded(guard: Guard, effect: Effect, *, gone: bool) -> bool:
    if effect is Effect.NO_OP:
        return False
    exists = effect is not Effect.CREATE
    return guard == "always" or (guard == "any" and exists) or (guard == "gone" and gone)


def _result(step: Step, effects: Effects) -> tuple[Effect, bool]:
    """Return the effect, and whether the resource as it is goes away."""
    if not step.custom:
        return Effect.NO_OP, False
    if step.op in _GONE:
        return _gone(step, effects), True
    if step.op is Op.CREATE:
        return Effect.CREATE, False
    if step.op is not Op.UPDATE:
        return Effect.NO_OP, False
    results = list(_results_of_update(step, effects))
    gone = "replaces" in results
    return worst(_gone(step, effects) if r == "replaces" else Effect(r) for r in results), gone


def _gone(step: Step, effects: Effects) -> Effect:
    known = effects.of(step.type)
    return known.gone if known else Effect.DESTROYS


def _results_of_update(step: Step, effects: Effects) -> Iterator[Result]:
    known = effects.of(step.type)
    unlisted = Effect.UNKNOWN if known is None or known.stateful else Effect.IN_PLACE
    if not step.changed:
        yield unlisted
    for path in step.changed:
        rule = effects.rule(step.type, path)
        if rule is None:
            yield unlisted
        elif rule.does is not None:
            yield rule.does
        elif rule.less is not None and rule.more is not None:
            grown = _grown(_value(step.before, path), _value(step.after, path))
            yield from [rule.more] if grown else [rule.less]


def _grown(before: object, after: object) -> bool:
    """Is it more than it was? What cannot be compared counts as less, the graver of the two."""
    old, new = _number(before), _number(after)
    return old is not None and new is not None and type(old) is type(new) and _above(new, old)


def _above(new: Any, old: Any) -> bool:
    return bool(new >= old)


def _number(value: object) -> float | tuple[int, ...] | None:
    """Read a number, or a version such as "2.15"."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and _VERSION.fullmatch(value):
        return tuple(int(part) for part in value.split("."))
    return None


def _value(inputs: Mapping[str, Any], path: str) -> object:
    value: object = inputs
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _lost(step: Step, known: TypeEffects | None, effect: Effect, *, gone: bool) -> str:
    shrunk = effect.is_loss and not gone
    if not gone and not shrunk:
        buys = known is not None and known.guard == "always" and effect is Effect.CREATE
        return known.note if known is not None and buys else ""
    named = " ".join(part for part in (known.what if known else step.type, step.id) if part)
    kept = "; the thing itself stays, outside the stack" if gone and step.retained else ""
    return f"{named}{_held(step, known, shrunk=shrunk)}{kept}"


def _held(step: Step, known: TypeEffects | None, *, shrunk: bool) -> str:
    if known is None:
        return ": what it holds is not known"
    if known.amount is not None:
        return f": {_amount(step, known.amount, shrunk=shrunk)}"
    return f": {known.holds}" if known.holds else ""


def _amount(step: Step, amount: Amount, *, shrunk: bool) -> str:
    before, after = (_value(of, amount.property) for of in (step.before, step.after))
    if not isinstance(before, int | float) or isinstance(before, bool):
        return "its size is not in the preview"
    kind = f" of {step.before.get(amount.of)}" if amount.of else ""
    if amount.unit == "GiB":
        return f"{before / _GIB_PER_TIB:.1f} TiB ({before:,.0f} GiB)"
    left = after if isinstance(after, int | float) and not isinstance(after, bool) else 0
    some = f"{before - left:,.0f} of " if shrunk else ""
    return f"{some}{before:,.0f} instances{kind}"
