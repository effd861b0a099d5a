"""The fabric's picture: nothing overlaps the edge, and marks follow the verdict."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.readiness import ComponentVerdict, NodeReadiness, Verdict
from muster.report.drawing import Drawing, draw_fabric
from muster.report.links import measure_links
from tests.unit.report.sample import judged, make_fleet, make_pairs, make_readiness


def drawn(
    *,
    nodes: int = 8,
    per_leaf: int = 2,
    rails: int = 2,
    bad: dict[str, NodeReadiness] | None = None,
    parts: tuple[ComponentVerdict, ...] = (),
) -> Drawing:
    fleet = make_fleet(nodes=nodes, per_leaf=per_leaf, rails=rails)
    links = measure_links(make_pairs(fleet), fleet.leaves())
    return draw_fabric(fleet, make_readiness(fleet, bad=bad, parts=parts), links)


def test_small_fleet_has_a_labelled_line_per_rail_and_uplink() -> None:
    drawing = drawn()
    assert len(drawing.lines) == 8 * 2 + 4 * 2
    assert all(line.label == "4.79" or line.label.startswith("4.") for line in drawing.lines)
    assert drawing.unit == "MB/s"


def test_two_bad_rails_in_one_component_are_both_marked() -> None:
    drawing = drawn(bad={"gpu-3": judged("gpu-3", Verdict.QUARANTINED, "rail:0 rail:1")})
    named = [line.title.split(":")[0] for line in drawing.lines if line.bad]
    assert named == ["gpu-3 rail 0", "gpu-3 rail 1"]


def test_leaf_named_without_rails_has_all_uplinks_marked() -> None:
    part = ComponentVerdict(component="leaf:leaf2", verdict=Verdict.QUARANTINED)
    drawing = drawn(parts=(part,))
    named = [line.title.split(":")[0] for line in drawing.lines if line.bad]
    assert named == ["leaf2 rail 0 to spine", "leaf2 rail 1 to spine"]


def test_suspect_spine_is_marked_as_unknown() -> None:
    part = ComponentVerdict(component="spine rail:1", verdict=Verdict.SUSPECT)
    (spine,) = [box for box in drawn(parts=(part,)).boxes if box.kind == "spine"]
    assert (spine.state, spine.mark) == ("unknown", "?")


def test_one_leaf_has_no_spine() -> None:
    assert "spine" not in {box.kind for box in drawn(nodes=4, per_leaf=4).boxes}


def test_fleet_without_rails_is_drawn_without_lines() -> None:
    fleet = make_fleet(rails=0)
    assert draw_fabric(fleet, None, measure_links([], fleet.leaves())).lines == ()


def test_large_fleet_has_a_card_per_leaf_and_marks_bad_rails() -> None:
    bad = {"gpu-70": judged("gpu-70", Verdict.QUARANTINED, "rail:3")}
    drawing = drawn(nodes=128, per_leaf=16, rails=8, bad=bad)
    assert drawing.compact
    assert len([box for box in drawing.boxes if box.kind == "card"]) == 8
    crossed = [box for box in drawing.boxes if box.mark == "✕"]
    assert [box.label or box.title.split(":")[0] for box in crossed] == ["gpu-70", "gpu-70 rail 3"]


@settings(max_examples=40, deadline=None)
@given(nodes=st.integers(1, 40), per_leaf=st.integers(1, 16), rails=st.integers(1, 32))
def test_every_shape_stays_inside_the_picture(nodes: int, per_leaf: int, rails: int) -> None:
    drawing = drawn(nodes=nodes, per_leaf=per_leaf, rails=rails)
    for box in drawing.boxes:
        assert -0.1 <= box.x <= box.x + box.w <= drawing.width + 0.1
        assert -0.1 <= box.y <= box.y + box.h <= drawing.height + 0.1
    for line in drawing.lines:
        assert 0 <= line.x1 <= drawing.width
        assert 0 <= line.y1 <= line.y2 <= drawing.height
