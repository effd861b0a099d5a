"""Distributions: one strip of dots per check that measured something, outliers named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from muster.findings import Finding
from muster.report.links import LOW_RELATIVE, Links
from muster.report.matrix import state_of
from muster.report.model import PairValue
from muster.report.units import against, is_ratio, number, readable, scale_for

WIDTH = 520.0
HEIGHT = 102.0
AXIS_Y = 66.0
_LEFT, _RIGHT = 14.0, 506.0
_MIDDLE_Y = 42.0
_DOT_STEP = 7.0
_DOT_ROWS = 3
_SPAN_MIN = 0.1
"""An axis spans at least this part of the median, so that noise looks like noise."""
_OUTLIER_RELATIVE = 0.03
_OUTLIER_MADS = 6.0
_LABELS_MAX = 4
_VALUES_MIN = 2
_FAR_SPANS = 2.0
"""A floor further off than this many widths of the data is only named, at the edge."""
_LABEL_GAP = 92.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One measured value and whose it is; state as in the matrix, or "low" for a slow pair."""

    name: str
    value: float
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    """A point with its place."""

    x: float
    y: float
    state: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """A name above its dot, or a number below the axis."""

    x: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, kw_only=True, slots=True)
class Strip:
    """One plot, ready to draw."""

    title: str
    caption: str
    dots: tuple[Dot, ...]
    names: tuple[Label, ...]
    ticks: tuple[Label, ...]
    median_x: float
    limit: Label | None
    """The floor, or for values where less is better the ceiling; at an edge if it is far off."""
    limit_seen: bool


def check_strips(findings: Sequence[Finding]) -> tuple[Strip, ...]:
    """One strip per check, unit, instance type and rail; same value everywhere makes none."""
    series: dict[tuple[str, str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.value is not None and finding.node:
            rail = finding.params.get("rail")
            on_rail = "" if rail is None else f"rail {rail}"
            series[finding.check, on_rail, finding.shape, finding.unit].append(finding)
    shapes = {shape for _, _, shape, _ in series if shape}
    strips = []
    for (check, rail, shape, unit), found in series.items():
        title = " · ".join(p for p in (check, rail, shape if len(shapes) > 1 else "") if p)
        points = [
            Point(name=f.node, value=f.value, state=state_of(f))
            for f in found
            if f.value is not None
        ]
        floors = {f.floor for f in found if f.floor is not None}
        floor = floors.pop() if len(floors) == 1 else None
        strips.append(_strip(title, points, unit, floor=floor, what="values"))
    return tuple(strip for strip in strips if strip)


def pair_strips(pairs: Sequence[PairValue], links: Links) -> tuple[Strip, ...]:
    """One strip per rail and kind of path, a dot per valid measurement."""
    strips = []
    for rail in links.rails:
        for kind, path in (("intra", "inside a leaf"), ("cross", "over the spine")):
            found = [pair for pair in pairs if (pair.rail, pair.kind) == (rail, kind)]
            points = _pair_points(found, links)
            invalid = len(found) - len(points)
            what = "measurements" + (f", {invalid} more invalid" if invalid else "")
            title = f"pairs · {'all rails' if rail is None else f'rail {rail}'} · {path}"
            strips.append(_strip(title, points, "B/s", floor=None, what=what))
    return tuple(strip for strip in strips if strip)


def _pair_points(pairs: Iterable[PairValue], links: Links) -> list[Point]:
    points = []
    for pair in pairs:
        if pair.valid and pair.value_bps is not None:
            slow = pair.value_bps < LOW_RELATIVE * links.references[pair.rail, pair.kind]
            state = "low" if slow else "pass"
            points.append(Point(name=f"{pair.a} to {pair.b}", value=pair.value_bps, state=state))
    return points


def _strip(
    title: str, points: Sequence[Point], unit: str, *, floor: float | None, what: str
) -> Strip | None:
    values = [point.value for point in points]
    if len(values) < _VALUES_MIN or len(set(values)) == 1:
        return None
    middle = median(values)
    spread = median(abs(v - middle) for v in values)
    whole = 1.0 if is_ratio(unit) else abs(middle)
    low, high = _domain(values, whole, floor)

    def place(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT), 1)

    parts = [f"{len(values)} {what}", f"median {readable(middle, unit)}"]
    parts.append(f"spread (MAD) {readable(spread, unit).removeprefix('+')}")
    return Strip(
        title=title,
        caption=" · ".join(parts),
        dots=tuple(_dots([(place(p.value), p, _say(p, unit, middle)) for p in points])),
        names=tuple(
            _names(
                [
                    (place(p.value), p.name)
                    for p in _outliers(points, middle, spread=spread, whole=whole)
                ]
            )
        ),
        ticks=_ticks(low, high, unit),
        median_x=place(middle),
        limit=None if floor is None else _limit(floor, middle, unit, place(floor)),
        limit_seen=floor is not None and low <= floor <= high,
    )


def _domain(values: Sequence[float], whole: float, floor: float | None) -> tuple[float, float]:
    low, high = min(values), max(values)
    lacking = max(whole * _SPAN_MIN - (high - low), 0.0)
    low, high = low - lacking / 2, high + lacking / 2
    reach = (high - low) * _FAR_SPANS
    if floor is not None and low - reach <= floor <= high + reach:
        low, high = min(low, floor), max(high, floor)
    margin = (high - low) * 0.04 or 0.5
    # Nothing below zero is drawn where nothing is measured there.
    return max(low - margin, 0.0) if min(values) >= 0 else low - margin, high + margin


def _limit(floor: float, middle: float, unit: str, x: float) -> Label:
    word = "floor" if floor <= middle else "limit"
    text = f"{word} {readable(floor, unit)}"
    if x < _LEFT:
        return Label(x=_LEFT, text=f"◂ {text}", anchor="start")
    if x > _RIGHT:
        return Label(x=_RIGHT, text=f"{text} ▸", anchor="end")
    return Label(x=x, text=text, anchor=_anchor(x))


def _say(point: Point, unit: str, middle: float) -> str:
    off = against(point.value, middle)
    return f"{point.name}: {readable(point.value, unit)}" + (f" ({off})" if off else "")


def _dots(placed: Iterable[tuple[float, Point, str]]) -> list[Dot]:
    """Stack dots that would hide each other, up to a few rows."""
    taken: dict[int, int] = defaultdict(int)
    dots = []
    for x, point, title in sorted(placed, key=lambda item: item[0]):
        slot = int(x // _DOT_STEP)
        if taken[slot] > 2 * _DOT_ROWS and point.state == "pass":
            continue  # it would hide exactly under another one
        rank = taken[slot] % (2 * _DOT_ROWS + 1)
        taken[slot] += 1
        offset = (rank + 1) // 2 * _DOT_STEP * (1 if rank % 2 else -1)
        dots.append(Dot(x=x, y=_MIDDLE_Y + offset, state=point.state, title=title))
    # Drawn last is drawn on top: never hide a bad dot under a good one.
    return sorted(dots, key=lambda dot: dot.state != "pass")


def _outliers(
    points: Sequence[Point], middle: float, *, spread: float, whole: float
) -> list[Point]:
    limit = max(_OUTLIER_MADS * spread, _OUTLIER_RELATIVE * whole)
    found = [p for p in points if p.state in {"fail", "low"} or abs(p.value - middle) > limit]
    return sorted(found, key=lambda p: (p.state == "pass", -abs(p.value - middle)))


def _names(outliers: Sequence[tuple[float, str]]) -> list[Label]:
    """Name outliers, one label for those too close to have their own."""
    clusters: list[tuple[float, list[str]]] = []
    for x, name in sorted(outliers):
        if clusters and x - clusters[-1][0] < _LABEL_GAP:
            clusters[-1][1].append(name)
        else:
            clusters.append((x, [name]))
    labels = []
    for x, names in clusters[:_LABELS_MAX]:
        unique = list(dict.fromkeys(names))
        text = unique[0] if len(unique) == 1 else f"{unique[0]} +{len(unique) - 1}"
        labels.append(Label(x=x, text=text, anchor=_anchor(x)))
    return labels


def _anchor(x: float) -> str:
    if x < _LEFT + _LABEL_GAP / 2:
        return "start"
    return "end" if x > _RIGHT - _LABEL_GAP / 2 else "middle"


def _ticks(low: float, high: float, unit: str) -> tuple[Label, ...]:
    factor, scaled_unit = scale_for(max(abs(low), abs(high)), unit)
    ends = (
        (_LEFT, low, "start"),
        ((_LEFT + _RIGHT) / 2, (low + high) / 2, "middle"),
        (_RIGHT, high, "end"),
    )
    return tuple(
        Label(
            x=x,
            text=readable(value, unit)
            if is_ratio(unit)
            else f"{number(value / factor)} {scaled_unit}".rstrip(),
            anchor=anchor,
        )
        for x, value, anchor in ends
    )
