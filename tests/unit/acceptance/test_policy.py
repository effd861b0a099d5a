"""A policy is a table in a file; on a shared machine only few things run at once."""

from __future__ import annotations

import pytest

from muster.acceptance.expected import expected_of
from muster.acceptance.floors import local_floor, rail_floors_bps
from muster.acceptance.policy import for_shared_machine, load_policy
from muster.acceptance.request import AcceptRequest
from muster.acceptance.transport import group_environment, network_of
from muster.catalog.load import load_catalog
from muster.errors import UsageError
from tests.unit.acceptance.cluster import fleet_of

CATALOG = load_catalog()
LAB = CATALOG.types["lab.8gpu"]


@pytest.mark.parametrize("name", ["quick", "training", "soak"])
def test_each_policy_loads_and_takes_its_clock_limit_from_the_catalog(name: str) -> None:
    policy = load_policy(name, CATALOG)
    assert policy.name == name
    assert policy.static.clock_offset_max_s == pytest.approx(0.01)
    assert policy.pairs.round_s > policy.pairs.connect_s + 2 * policy.pairs.seconds


def test_a_more_thorough_policy_measures_longer() -> None:
    quick, training, soak = (load_policy(n, CATALOG) for n in ("quick", "training", "soak"))
    assert quick.pairs.seconds < training.pairs.seconds < soak.pairs.seconds
    assert quick.local.window_s < training.local.window_s < soak.local.window_s


def test_an_unknown_policy_lists_those_that_exist() -> None:
    with pytest.raises(UsageError, match=r"quick, soak, training"):
        load_policy("fast", CATALOG)


def test_on_a_shared_machine_no_more_runs_at_once_than_it_can_carry() -> None:
    policy = for_shared_machine(load_policy("quick", CATALOG), cores=2, pair_mbit=80)
    assert (policy.local.at_once, policy.local.threads, policy.pairs.at_once) == (2, 1, 4)


def test_a_machine_too_small_for_one_pair_still_measures_one() -> None:
    policy = for_shared_machine(load_policy("quick", CATALOG), cores=1, pair_mbit=8000)
    assert (policy.local.at_once, policy.pairs.at_once) == (1, 1)


def test_floors_come_from_the_catalog_in_base_units() -> None:
    floor = local_floor(CATALOG, "disk-throughput", LAB)
    assert floor.value is not None
    assert 1e6 <= floor.value <= 1e8
    assert "target:lab" in floor.source
    rails = rail_floors_bps(CATALOG, [LAB])
    assert rails is not None
    assert all(0.5 * 5e6 < value < 5e6 for value in rails.values())


def test_a_type_without_a_stated_rail_rate_has_no_rail_floor() -> None:
    bare = LAB.model_copy(update={"rails": ()})
    assert rail_floors_bps(CATALOG, [bare]) is None


def test_what_a_node_should_be_is_put_together_from_type_and_fleet() -> None:
    node = fleet_of(2).nodes[1]
    expected = expected_of(node, LAB, CATALOG)
    assert expected.gpu_count == 8
    assert expected.cpus is None
    assert expected.memory_min_mib < LAB.memory_mib
    assert [rail.address for rail in expected.rails] == ["10.212.0.2", "10.213.0.2"]


def test_a_type_that_the_catalog_lacks_is_named() -> None:
    fleet = fleet_of(1)
    stranger = fleet.nodes[0].model_copy(update={"type": "lab.9gpu"})
    request = AcceptRequest(
        fleet=fleet, catalog=CATALOG, policy=load_policy("quick", CATALOG), wanted=1
    )
    with pytest.raises(UsageError, match=r"lab\.9gpu"):
        request.kind(stranger)


def test_a_group_test_uses_the_rails_by_name() -> None:
    settings = group_environment(network_of(LAB), ["rail1", "rail0", "rail1"])
    assert isinstance(settings, dict)
    assert settings["OMPI_MCA_btl_tcp_if_include"] == "rail0,rail1"


def test_a_network_that_nobody_measured_has_no_settings() -> None:
    assert not isinstance(group_environment("efa", ["rail0"]), dict)
