"""What is drawn of a link: its own worth, not its partners'."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.report.links import measure_links
from tests.unit.report.sample import LINK_BPS, make_fleet, make_pairs

FLEET = make_fleet()
LEAVES = FLEET.leaves()


def test_healthy_fabric_has_only_good_links() -> None:
    links = measure_links(make_pairs(FLEET), LEAVES)
    assert {link.state for link in (*links.nodes.values(), *links.uplinks.values())} == {"good"}
    assert len(links.nodes) == 16
    assert len(links.uplinks) == 8


def test_slow_rail_leaves_its_only_neighbour_at_the_leaf_good() -> None:
    links = measure_links(make_pairs(FLEET, slow={("gpu-3", 1): 0.2}), LEAVES)
    bad = [key for key, link in links.nodes.items() if link.state != "good"]
    assert bad == [("gpu-3", 1)]
    assert links.nodes["gpu-3", 1].relative == pytest.approx(0.2, abs=0.01)
    assert {link.state for link in links.uplinks.values()} == {"good"}


def test_slow_uplink_leaves_all_nodes_and_other_uplinks_good() -> None:
    links = measure_links(make_pairs(FLEET, slow_uplinks={("leaf1", 0): 0.38}), LEAVES)
    assert {link.state for link in links.nodes.values()} == {"good"}
    bad = [key for key, link in links.uplinks.items() if link.state != "good"]
    assert bad == [("leaf1", 0)]


def test_uplink_below_bad_nodes_only_cannot_be_told() -> None:
    slow = {("gpu-3", 0): 0.2, ("gpu-4", 0): 0.2}
    links = measure_links(make_pairs(FLEET, slow=slow), LEAVES)
    assert links.uplinks["leaf1", 0].state == "unmeasured"


def test_node_whose_tests_were_invalid_is_unmeasured_not_slow() -> None:
    pairs = [replace(p, valid=False) if "gpu-5" in {p.a, p.b} else p for p in make_pairs(FLEET)]
    links = measure_links(pairs, LEAVES)
    assert links.nodes["gpu-5", 0].state == "unmeasured"
    assert links.nodes["gpu-5", 0].invalid == 8
    assert links.nodes["gpu-6", 0].state == "good"


def test_one_leaf_has_no_uplinks() -> None:
    fleet = make_fleet(nodes=4, per_leaf=4)
    assert not measure_links(make_pairs(fleet), fleet.leaves()).uplinks


def test_all_rails_together_are_one_link_per_node() -> None:
    pairs = [replace(p, rail=None) for p in make_pairs(FLEET) if p.rail == 0]
    links = measure_links(pairs, LEAVES)
    assert links.rails == (None,)
    assert len(links.nodes) == 8


def test_retransmits_are_added_up() -> None:
    pairs = [replace(p, retransmits=3) for p in make_pairs(FLEET)]
    assert measure_links(pairs, LEAVES).nodes["gpu-1", 0].retransmits == 3 * 8


def test_no_measurement_gives_no_links() -> None:
    links = measure_links([], LEAVES)
    assert not links.nodes
    assert links.rails == ()


@given(node=st.integers(1, 8), rail=st.integers(0, 1), part=st.floats(0.01, 0.8))
def test_any_single_slow_rail_is_the_only_bad_link(node: int, rail: int, part: float) -> None:
    links = measure_links(make_pairs(FLEET, slow={(f"gpu-{node}", rail): part}), LEAVES)
    everything = {**links.nodes, **links.uplinks}
    assert [k for k, link in everything.items() if link.state == "bad"] == [(f"gpu-{node}", rail)]
    value = links.nodes[f"gpu-{node}", rail].value_bps
    assert value == pytest.approx(LINK_BPS * part, rel=0.02)
