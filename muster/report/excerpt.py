"""The part of a program's output that a finding is about."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from muster.report.links import Links
from muster.report.model import PairValue
from muster.report.units import against, readable

LINES_MAX = 14
_COLUMNS_MAX = 200
_PAIRS_MAX = 24
_WORD = re.compile(r"[a-z0-9.]{3,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """Some lines, and how many there are that are not shown."""

    text: str
    lines_cut: int


def excerpt_about(text: str, about: str) -> Excerpt:
    """Return the lines that share most words with `about`, in their middle; else the start."""
    lines = _readable_lines(text)
    wanted = set(_WORD.findall(about.lower()))
    scores = [len(wanted & set(_WORD.findall(line.lower()))) for line in lines]
    windows = [sum(scores[s : s + LINES_MAX]) for s in range(max(len(lines) - LINES_MAX + 1, 1))]
    same = [start for start, score in enumerate(windows) if score == max(windows)]
    best = same[len(same) // 2] if max(windows) else 0
    shown = [_cut(line) for line in lines[best : best + LINES_MAX]]
    return Excerpt(text="\n".join(shown), lines_cut=len(lines) - len(shown))


def _readable_lines(text: str) -> list[str]:
    """Lay JSON out, and a program's output kept in one of its strings, too."""
    try:
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text.splitlines()
    return text.replace("\\n", "\n").replace("\\t", "  ").replace('\\"', '"').splitlines()


def _cut(line: str) -> str:
    return line if len(line) <= _COLUMNS_MAX else line[:_COLUMNS_MAX] + " …"


def pair_table(node: str, pairs: Sequence[PairValue], links: Links) -> Excerpt:
    """Return the node's pair tests as aligned text, the slowest first."""
    own = [pair for pair in pairs if node in {pair.a, pair.b}]
    own.sort(key=lambda pair: (_relative(pair, links), pair.round))
    rows: list[tuple[str, ...]] = [
        ("round", "rail", "partner", "path", "value", "against peers", "retransmits")
    ]
    rows += [_pair_row(node, pair, links) for pair in own[:_PAIRS_MAX]]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return Excerpt(text="\n".join(text), lines_cut=max(len(own) - _PAIRS_MAX, 0))


def _relative(pair: PairValue, links: Links) -> float:
    reference = links.references.get((pair.rail, pair.kind), 0.0)
    if not pair.valid or pair.value_bps is None or reference <= 0:
        return -1.0
    return pair.value_bps / reference


def _pair_row(node: str, pair: PairValue, links: Links) -> tuple[str, ...]:
    relative = _relative(pair, links)
    measured = pair.valid and pair.value_bps is not None
    return (
        str(pair.round),
        "all" if pair.rail is None else str(pair.rail),
        pair.b if pair.a == node else pair.a,
        pair.kind,
        readable(pair.value_bps, "B/s") if measured and pair.value_bps is not None else "invalid",
        against(relative, 1.0) if relative >= 0 else "?",
        "?" if pair.retransmits is None else str(pair.retransmits),
    )
