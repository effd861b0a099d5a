"""The blast radius of a change, for a pull request, a terminal and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from muster.findings import Outcome
from muster.plan.blast import Blast, Change
from muster.spec import Acknowledgement

_SIGNS = {Outcome.PASS: "🟢", Outcome.UNKNOWN: "🟡", Outcome.FAIL: "🔴"}
_ROWS_MAX = 100
"""A comment has a longest length; what is blocked is always listed in full."""


def blast_as_markdown(blast: Blast) -> str:
    """Write a pull-request comment: the verdict first, then what is lost."""
    parts = [f"{_SIGNS[blast.outcome]} **{verdict_line(blast)}**"]
    parts += [f"The preview stopped: {_cell(error)}" for error in blast.errors]
    if blast.blocked:
        parts += [_table(blast.blocked), _how_to_acknowledge(blast.blocked)]
    if blast.acknowledged:
        parts += ["Acknowledged:", _table(blast.acknowledged)]
    parts += [f"- {_cell(line)}" for line in _idle(blast)]
    if others := _others(blast):
        summary = f"<details><summary>Other changes: {_counts(others)}</summary>"
        parts += [summary, _table(others[:_ROWS_MAX]), *_left_out(others), "</details>"]
    return "\n\n".join(parts) + "\n"


def blast_as_text(blast: Blast) -> str:
    """Write the same for a terminal, a line a change."""
    lines = [verdict_line(blast)]
    lines += [f"  the preview stopped: {error}" for error in blast.errors]
    lines += [f"  blocked: {_line(change)}" for change in blast.blocked]
    lines += [f"  acknowledged: {_line(change)}" for change in blast.acknowledged]
    lines += [f"  {line}" for line in _idle(blast)]
    lines += [f"  {_line(change)}" for change in _others(blast)]
    return "\n".join(lines) + "\n"


def blast_as_document(blast: Blast) -> dict[str, Any]:
    """Return what a program reads."""
    return {
        "apiVersion": "muster/v1",
        "kind": "Blast",
        "outcome": blast.outcome.value,
        "summary": verdict_line(blast),
        "blocked": [_document(change) for change in blast.blocked],
        "acknowledged": [_document(change) for change in blast.acknowledged],
        "others": [_document(change) for change in _others(blast)],
        "expired": [_written(known) for known in blast.expired],
        "unused": [_written(known) for known in blast.unused],
        "errors": list(blast.errors),
    }


def verdict_line(blast: Blast) -> str:
    """Say in one sentence whether the change may go ahead."""
    total, blocked = len(blast.changes), len(blast.blocked)
    changes = f"{total} change{'' if total == 1 else 's'}"
    if blocked:
        word = "Blocked" if blast.outcome is Outcome.FAIL else "Unknown"
        need = "needs" if blocked == 1 else "need"
        return f"{word}: {blocked} of {changes} {need} an acknowledgement"
    if blast.errors:
        return "Unknown: the preview stopped before its end"
    if not total:
        return "Nothing changes"
    known = len(blast.acknowledged)
    return f"{changes}, {f'{known} acknowledged' if known else 'none of them a loss'}"


def _others(blast: Blast) -> tuple[Change, ...]:
    return tuple(change for change in blast.changes if not change.risky)


def _table(changes: Sequence[Change]) -> str:
    rows = ["| Resource | Effect | What is lost | Why |", "|---|---|---|---|"]
    for change in changes:
        cells = (_code(change.urn), change.effect.value, change.lost, _why(change))
        rows.append(f"| {cells[0]} | {' | '.join(_cell(cell) or '–' for cell in cells[1:])} |")  # noqa: RUF001 - an empty cell
    return "\n".join(rows)


def _why(change: Change) -> str:
    cause = ", ".join(change.changed)
    why = f"{', '.join(change.ops)}: {cause}" if cause else ", ".join(change.ops)
    if change.guarded and not change.effect.is_loss:
        why += " (guarded type)"
    known = change.acknowledgement
    return f"{why}. May happen until {known.until}: {known.reason}" if known else why


def _line(change: Change) -> str:
    lost = f" [{change.lost}]" if change.lost else ""
    return f"{change.effect.value}: {change.urn}{lost} ({_why(change)})"


def _how_to_acknowledge(changes: Sequence[Change]) -> str:
    lines = ["To let it happen, say so in the stack's file:", "", "```yaml"]
    lines += ["preflight:", "  acknowledge:"]
    for change in changes:
        lines += [f"    - urn: {_quoted(change.urn)}", "      reason: <why it may happen>"]
        lines += ["      until: <its last day>"]
    return "\n".join([*lines, "```"])


def _idle(blast: Blast) -> Iterator[str]:
    for known in blast.expired:
        yield f"Acknowledgement expired on {known.until}: {known.urn}"
    for known in blast.unused:
        yield f"Acknowledgement of nothing in this preview, remove it: {known.urn}"


def _counts(changes: Sequence[Change]) -> str:
    counts = Counter(change.effect for change in changes)
    ordered = sorted(counts, key=lambda effect: -effect.severity)
    return ", ".join(f"{counts[effect]} {effect.value}" for effect in ordered)


def _left_out(changes: Sequence[Change]) -> list[str]:
    more = len(changes) - _ROWS_MAX
    return [f"{more} more are not shown."] if more > 0 else []


def _document(change: Change) -> dict[str, Any]:
    known = change.acknowledgement
    return {
        "urn": change.urn,
        "type": change.type,
        "ops": list(change.ops),
        "effect": change.effect.value,
        "lost": change.lost,
        "changed": list(change.changed),
        "acknowledgement": _written(known) if known else None,
    }


def _written(known: Acknowledgement) -> dict[str, Any]:
    return known.model_dump(mode="json", by_alias=True)


def _quoted(text: str) -> str:
    """Write a YAML string; single quotes are doubled, nothing else is special."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"


def _code(text: str) -> str:
    """A code span in a table: no backtick can be in it, and a bar must be escaped."""
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    """Free text in a table or list, with nothing that Markdown would take for its own."""
    plain = " ".join(text.split()).replace("\\", "\\\\")
    for mark, written in (("&", "&amp;"), ("<", "&lt;"), ("`", "'"), ("|", "\\|"), ("@", "&#64;")):
        plain = plain.replace(mark, written)
    return plain
