"""The fabric as shapes with places: spine, leaves, nodes, and a line per node-rail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.fleet import Fleet
from muster.readiness import Readiness, Verdict
from muster.report.links import KINDS, Links, LinkValue, Rail
from muster.report.marks import bad_leaves, bad_rails, node_marks, spine_mark
from muster.report.matrix import SYMBOLS
from muster.report.units import against, readable, scale_for

_WIDTH = 1120.0
_WIDE_LINKS_MAX = 24
_GAP = 14.0
_CELL_MIN, _CELL_MAX = 15.0, 40.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A spine, leaf, node or cell; `state` colours it, `mark` is a symbol or ""."""

    kind: str
    x: float
    y: float
    w: float
    h: float
    label: str = ""
    state: str = ""
    mark: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A link. `bad`: a verdict names it, and it is marked as such."""

    x1: float
    y1: float
    x2: float
    y2: float
    state: str
    label: str
    note: str
    title: str
    bad: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Free text."""

    x: float
    y: float
    text: str
    kind: str = ""
    anchor: str = "start"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """All shapes, in the order in which they are drawn."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    texts: tuple[Text, ...]
    unit: str
    references: str
    compact: bool


@dataclass(frozen=True, slots=True)
class _Facts:
    """What both layouts draw from."""

    leaves: Mapping[str, Sequence[str]]
    rails: tuple[Rail, ...]
    links: Links
    node_marks: Mapping[str, str]
    bad_rails: frozenset[tuple[str, Rail]]
    bad_leaves: frozenset[str]
    bad_uplinks: frozenset[tuple[str, Rail]]
    spine_mark: str
    factor: float


def draw_fabric(fleet: Fleet, readiness: Readiness | None, links: Links) -> Drawing:
    """Draw few nodes with a labelled line per rail, many as one card per leaf."""
    rails = links.rails or tuple(sorted({r.index for n in fleet.nodes for r in n.rails}))
    middle = max(links.references.values(), default=0.0)
    factor, unit = scale_for(middle, "B/s")
    facts = _Facts(
        leaves=fleet.leaves(),
        rails=rails,
        links=links,
        node_marks=node_marks(readiness),
        bad_rails=frozenset(bad_rails(readiness, rails)),
        bad_leaves=frozenset(leaf for leaf, _ in bad_leaves(readiness, rails)),
        bad_uplinks=frozenset(
            (leaf, rail) for leaf, named in bad_leaves(readiness, rails) for rail in named
        ),
        spine_mark=spine_mark(readiness),
        factor=factor,
    )
    wide = len(fleet.nodes) * max(len(rails), 1) <= _WIDE_LINKS_MAX
    boxes, lines, texts, height = _wide(facts) if wide else _compact(facts)
    return Drawing(
        width=_WIDTH,
        height=height,
        boxes=tuple(boxes),
        lines=tuple(lines),
        texts=tuple(texts),
        unit=unit,
        references=_say_references(links),
        compact=not wide,
    )


_Shapes = tuple[list[Box], list[Line], list[Text], float]


def _wide(facts: _Facts) -> _Shapes:
    spine_y, leaf_y, node_y = 8.0, 118.0, 246.0
    bar, node_h = 30.0, 40.0
    leaf_width_sum = _WIDTH - _GAP * (len(facts.leaves) - 1)
    slot = leaf_width_sum / max(sum(len(members) for members in facts.leaves.values()), 1)
    boxes, lines, texts = [], [], list[Text]()
    has_spine = len(facts.leaves) > 1
    if has_spine:
        boxes.append(_spine_box(facts, y=spine_y, h=bar))
    x = 0.0
    for leaf, members in facts.leaves.items():
        width = slot * len(members)
        boxes.append(_leaf_box(facts, leaf, x=x, y=leaf_y, w=width, h=bar))
        if has_spine:
            lines += _uplinks(facts, leaf, x=x, w=width, y1=spine_y + bar, y2=leaf_y)
        for place, node in enumerate(members):
            node_x = x + slot * place + 5
            boxes.append(_node_box(facts, node, x=node_x, y=node_y, w=slot - 10, h=node_h))
            lines += _rails(facts, node, x=node_x, w=slot - 10, y1=leaf_y + bar, y2=node_y)
        x += width + _GAP
    return boxes, lines, texts, node_y + node_h + 4


def _uplinks(facts: _Facts, leaf: str, *, x: float, w: float, y1: float, y2: float) -> list[Line]:
    places = _spread(x, w, len(facts.rails))
    return [
        _line(
            facts.links.uplinks.get((leaf, rail)),
            x=place,
            y1=y1,
            y2=y2,
            name=f"{leaf} {_rail_name(rail)} to spine",
            bad=(leaf, rail) in facts.bad_uplinks,
            factor=facts.factor,
        )
        for place, rail in zip(places, facts.rails, strict=True)
    ]


def _rails(facts: _Facts, node: str, *, x: float, w: float, y1: float, y2: float) -> list[Line]:
    places = _spread(x, w, len(facts.rails))
    return [
        _line(
            facts.links.nodes.get((node, rail)),
            x=place,
            y1=y1,
            y2=y2,
            name=f"{node} {_rail_name(rail)}",
            bad=(node, rail) in facts.bad_rails,
            factor=facts.factor,
        )
        for place, rail in zip(places, facts.rails, strict=True)
    ]


def _line(
    link: LinkValue | None,
    *,
    x: float,
    y1: float,
    y2: float,
    name: str,
    bad: bool,
    factor: float,
) -> Line:
    if link is None or link.relative is None or link.value_bps is None:
        label, note, state = "?", "", "unmeasured"
    else:
        state, label = link.state, f"{link.value_bps / factor:#.3g}"
        note = against(link.relative, 1.0) if state != "good" or bad else ""
    title = f"{name}: {_say_link(link)}"
    return Line(x1=x, y1=y1, x2=x, y2=y2, state=state, label=label, note=note, title=title, bad=bad)


def _compact(facts: _Facts) -> _Shapes:
    """One card per leaf, a row per node, a cell per rail; cards flow in rows below the spine."""
    name_w, head_h, row_h = 92.0, 46.0, 17.0
    rails = max(len(facts.rails), 1)
    columns = max(1, int((_WIDTH + _GAP) // (name_w + _CELL_MIN * rails + 12 + _GAP)))
    card_rows = -(-len(facts.leaves) // columns)
    columns = max(-(-len(facts.leaves) // max(card_rows, 1)), 1)
    card_w = (_WIDTH - _GAP * (columns - 1)) / columns
    cell = min((card_w - name_w - 12) / rails, _CELL_MAX)
    boxes, texts = list[Box](), list[Text]()
    has_spine = len(facts.leaves) > 1
    y = 8.0
    if has_spine:
        boxes.append(_spine_box(facts, y=y, h=26))
        y += 40
    leaves = list(facts.leaves.items())
    for start in range(0, len(leaves), columns):
        row = leaves[start : start + columns]
        height = head_h + row_h * max(len(members) for _, members in row) + 6
        for column, (leaf, members) in enumerate(row):
            x = column * (card_w + _GAP)
            boxes.append(_leaf_box(facts, leaf, x=x, y=y, w=card_w, h=height, kind="card"))
            texts.append(Text(x=x + 8, y=y + 17, text=leaf, kind="leaf"))
            if has_spine:
                texts.append(Text(x=x + 8, y=y + 37, text="to spine", kind="small"))
                boxes += _cells(facts, leaf, x=x + name_w, y=y + 26, size=cell, uplink=True)
            for place, node in enumerate(members):
                row_y = y + head_h + place * row_h
                boxes += _node_row(facts, node, x=x, y=row_y, name_w=name_w)
                boxes += _cells(facts, node, x=x + name_w, y=row_y, size=cell, uplink=False)
        y += height + _GAP
    return boxes, [], texts, y


def _node_row(facts: _Facts, node: str, *, x: float, y: float, name_w: float) -> list[Box]:
    mark = facts.node_marks.get(node, "")
    rails = ", ".join(
        f"{_rail_name(r)} {_say_link(facts.links.nodes.get((node, r)))}" for r in facts.rails
    )
    state = _mark_state(mark)
    return [
        Box(
            kind="name",
            x=x + 4,
            y=y,
            w=name_w - 6,
            h=15,
            label=node,
            state=state,
            mark=SYMBOLS.get(state, ""),
            title=f"{node}: {mark or 'accepted'}; {rails}",
        )
    ]


def _cells(
    facts: _Facts, subject: str, *, x: float, y: float, size: float, uplink: bool
) -> Iterable[Box]:
    values = facts.links.uplinks if uplink else facts.links.nodes
    bad = facts.bad_uplinks if uplink else facts.bad_rails
    for place, rail in enumerate(facts.rails):
        link = values.get((subject, rail))
        state = "unmeasured" if link is None else link.state
        marked = (subject, rail) in bad
        yield Box(
            kind="cell",
            x=x + place * size,
            y=y,
            w=size - 2,
            h=13,
            state=state,
            mark="✕" if marked else {"unmeasured": "?", "bad": "!", "low": "–"}.get(state, ""),  # noqa: RUF001
            title=""
            if state == "good" and not marked
            else f"{subject} {_rail_name(rail)}: {_say_link(link)}",
        )


def _leaf_box(
    facts: _Facts, leaf: str, *, x: float, y: float, w: float, h: float, kind: str = "leaf"
) -> Box:
    bad = leaf in facts.bad_leaves
    return Box(
        kind=kind,
        x=x,
        y=y,
        w=w,
        h=h,
        label=leaf if kind == "leaf" else "",
        state="fail" if bad else "",
        mark=SYMBOLS["fail"] if bad else "",
        title=f"{leaf}: {len(facts.leaves[leaf])} nodes",
    )


def _spine_box(facts: _Facts, *, y: float, h: float) -> Box:
    state = _mark_state(facts.spine_mark)
    mark = SYMBOLS.get(state, "")
    return Box(
        kind="spine", x=0, y=y, w=_WIDTH, h=h, label="spine", state=state, mark=mark, title="spine"
    )


def _node_box(facts: _Facts, node: str, *, x: float, y: float, w: float, h: float) -> Box:
    mark = facts.node_marks.get(node, "")
    state = _mark_state(mark)
    return Box(
        kind="node",
        x=x,
        y=y,
        w=w,
        h=h,
        label=node,
        state=state,
        mark=SYMBOLS.get(state, ""),
        title=f"{node}: {mark or 'accepted'}",
    )


def _mark_state(mark: str) -> str:
    if not mark:
        return ""
    return "fail" if mark == Verdict.QUARANTINED else "unknown"


def _spread(x: float, w: float, count: int) -> list[float]:
    return [round(x + w * (place + 0.5) / count, 1) for place in range(count)]


def _rail_name(rail: Rail) -> str:
    return "all rails" if rail is None else f"rail {rail}"


def _say_link(link: LinkValue | None) -> str:
    if link is None or link.relative is None or link.value_bps is None:
        broken = f", {link.invalid} invalid" if link and link.invalid else ""
        return f"not measured{broken}"
    off = against(link.relative, 1.0)
    parts = [
        readable(link.value_bps, "B/s"),
        f"{off} against the median",
        f"{link.samples} samples",
    ]
    parts += [f"{link.invalid} invalid"] if link.invalid else []
    parts += [f"{link.retransmits} retransmits"] if link.retransmits else []
    return ", ".join(parts)


def _say_references(links: Links) -> str:
    words = {"intra": "inside a leaf", "cross": "over the spine"}
    parts = []
    for kind in KINDS:
        found = [value for (_, k), value in links.references.items() if k == kind]
        if found:
            low, high = readable(min(found), "B/s"), readable(max(found), "B/s")
            parts.append(f"{words[kind]} {low if low == high else f'{low} to {high}'}")
    return ", ".join(parts)
