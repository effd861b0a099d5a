"""Which choices a stack's fleet gets: by what its nodes share, not by where they come from."""

from __future__ import annotations

import pytest

from muster.acceptance.policy import load_policy
from muster.catalog import load_catalog
from muster.fleet import Fleet
from muster.stages import options_of, policy_of
from tests.unit.acceptance.cluster import fleet_of

CATALOG = load_catalog()


def fleet(kind: str, target: str) -> Fleet:
    """Return two nodes of one type."""
    found = fleet_of(2)
    nodes = tuple(node.model_copy(update={"type": kind}) for node in found.nodes)
    return found.model_copy(update={"target": target, "nodes": nodes})


@pytest.mark.parametrize(("kind", "target"), [("lab.8gpu", "lab"), ("paper.8gpu", "aws")])
def test_nodes_that_share_a_machine_share_its_clock_and_take_turns(kind: str, target: str) -> None:
    of = fleet(kind, target)
    assert not options_of(of, CATALOG).clock_settable
    assert policy_of("quick", CATALOG, of).pairs.at_once > 0


def test_nodes_with_a_machine_each_set_their_clock_and_test_side_by_side() -> None:
    of = fleet("p5.48xlarge", "aws")
    options = options_of(of, CATALOG)
    assert options.clock_settable
    assert options.cgroup_mode == "v2"
    assert policy_of("quick", CATALOG, of) == load_policy("quick", CATALOG)


def test_only_lab_nodes_have_their_names_already() -> None:
    assert not options_of(fleet("lab.8gpu", "lab"), CATALOG).set_hostname
    assert options_of(fleet("paper.8gpu", "aws"), CATALOG).set_hostname


def test_the_fleet_says_where_its_machines_have_the_same_files() -> None:
    of = fleet("p5.48xlarge", "aws").model_copy(update={"shared_directory": "/fsx"})
    assert options_of(of, CATALOG).shared_directory == "/fsx"
