"""The verdict on a terminal, and as plain text where there is none.

Print what these functions return with `console.print(…, crop=False)`: a path that is wider than the
window is then left whole, to be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from muster.fleet import Fleet
from muster.readiness import ComponentVerdict, NodeReadiness, Readiness, Verdict
from muster.report.reason import lead_of

_COLLAPSE_ABOVE_NODES = 32
_WIDTH_MIN = 72
_STYLE = {
    Verdict.ACCEPTED: "green",
    Verdict.QUARANTINED: "bold red",
    Verdict.SUSPECT: "bold yellow",
    Verdict.UNTESTED: "bold yellow",
}


def summarize(
    readiness: Readiness, *, report: Path | None = None, login: str = ""
) -> RenderableType:
    """Return the end of a run: nodes, `ready: …`, what else is wrong, where to look.

    A large fleet shows only the nodes that are not accepted, and says how many it leaves out.
    """
    shown, left_out = _shown(readiness.nodes)
    rows = [
        (
            Text(node.node),
            Text(node.verdict.value, style=_STYLE[node.verdict]),
            Text(node.component),
            Text(_slowest(node)),
            Text("; ".join(node.reasons)),
        )
        for node in shown
    ]
    columns = ("node", "verdict", "component", "slowest check", "why")
    parts: list[RenderableType] = [_Table(columns, rows)] if rows else []
    parts += [Text(f"{left_out} more nodes are accepted.")] if left_out else []
    parts.append(_ready_line(readiness))
    parts += [_component_line(part) for part in readiness.fleet if _is_bad(part.verdict)]
    parts += [] if report is None else [_whole(f"report: {report}")]
    parts += [_whole(f"log in: {login}")] if login else []
    return Group(*parts)


def show_status(fleet: Fleet, readiness: Readiness | None, *, age: str = "") -> RenderableType:
    """Return all nodes that exist, with what the last run said of each.

    `age` says how old that verdict is ("3 min ago"); a node without one is untested.
    """
    judged = {} if readiness is None else {n.node: n for n in readiness.nodes}
    rows = []
    for node in fleet.nodes:
        known = judged.get(node.name)
        # A name may be reused: a verdict on other hardware says nothing about this one.
        same = known is not None and known.serial == node.serial
        verdict = known.verdict if known is not None and same else Verdict.UNTESTED
        component = known.component if known is not None and same else ""
        row = (component, node.leaf, node.address, node.serial)
        style = _STYLE[verdict]
        rows.append((Text(node.name), Text(verdict.value, style=style), *map(Text, row)))
    columns = ("node", "verdict", "component", "leaf", "address", "serial")
    parts: list[RenderableType] = [_Table(columns, rows)] if rows else []
    if readiness is None:
        return Group(*parts, Text("ready: unknown (no run has reached a verdict)"))
    when = f" ({age})" if age else ""
    return Group(*parts, _ready_line(readiness), _whole(f"run: {readiness.run}{when}"))


def _shown(nodes: Sequence[NodeReadiness]) -> tuple[Sequence[NodeReadiness], int]:
    if len(nodes) <= _COLLAPSE_ABOVE_NODES:
        return nodes, 0
    bad = [node for node in nodes if _is_bad(node.verdict)]
    return bad, len(nodes) - len(bad)


def _is_bad(verdict: Verdict) -> bool:
    return verdict is not Verdict.ACCEPTED


class _Table:
    """The columns that say something; a long text goes on below, nothing is cut off."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
        self._table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        filled = [place for place in range(len(columns)) if any(row[place].plain for row in rows)]
        for place in filled:
            whole = columns[place] in {"node", "verdict", "component", "slowest check"}
            self._table.add_column(columns[place], overflow="fold", no_wrap=whole)
        for row in rows:
            self._table.add_row(*(row[place] for place in filled))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # Below this width columns would vanish; the terminal's own wrapping is better than that.
        width = max(options.max_width, _WIDTH_MIN)
        yield from console.render(self._table, options.update(width=width, max_width=width))


def _slowest(node: NodeReadiness) -> str:
    return f"{node.slowest_check} {node.slowest_check_s:.1f} s" if node.slowest_check else ""


def _ready_line(readiness: Readiness) -> Text:
    style = "bold green" if readiness.ready else "bold red"
    word = "true" if readiness.ready else "false"
    # What follows the lead is in the table above and the components below.
    return Text.assemble("ready: ", (word, style), f" ({lead_of(readiness.reason)})")


def _component_line(part: ComponentVerdict) -> Text:
    words = "; ".join(part.evidence)
    verdict = (part.verdict.value, _STYLE[part.verdict])
    return Text.assemble(f"{part.component}: ", verdict, f": {words}" if words else "")


def _whole(line: str) -> Text:
    """Keep a path or a command in one piece, so that it can be copied."""
    return Text(line, no_wrap=True, overflow="ignore")
