"""The fabric: each rule passes, fails and does not know where it should."""

from __future__ import annotations

from typing import Any

import pytest

from muster.catalog import load_catalog
from muster.plan.aws.interfaces import interfaces_of
from muster.plan.aws.model import Interface
from muster.plan.rules.fabric import RULES
from muster.plan.rules.model import Said, View
from tests.unit.plan.rules.views import (
    FAIL,
    PASS,
    UNKNOWN,
    cluster,
    only,
    pool,
    says,
    view,
    with_pool,
)

BLOCK = {"block": "cr-0123456789abcdef0"}
PRIMARY = Interface(0, 0, "interface")


def with_type(found: View, **facts: Any) -> View:
    """The first pool's type with other facts."""
    return with_pool(found, type=found.plan.pools[0].type.model_copy(update=facts))


def without_fabric(**facts: Any) -> View:
    found = with_pool(view(cluster(pool())), interfaces=(PRIMARY,), placement=None)
    return with_type(found, **facts)


@pytest.mark.parametrize("name", load_catalog().types_of("aws"))
def test_the_planned_interfaces_fit_every_type_of_the_catalog(name: str) -> None:
    kind = load_catalog().instance_type(name)
    planned = interfaces_of(kind, "fewAddresses", where="test")
    found = with_pool(view(cluster(pool())), type=kind, interfaces=planned)
    assert only(RULES, "interfaces-fit-type", found).outcome is PASS


@pytest.mark.parametrize("name", ["p5.48xlarge", "p5e.48xlarge"])
def test_the_layout_with_more_addresses_fits_too(name: str) -> None:
    kind = load_catalog().instance_type(name)
    planned = interfaces_of(kind, "fullBandwidth", where="test")
    found = with_pool(view(cluster(pool())), type=kind, interfaces=planned)
    said = only(RULES, "interfaces-fit-type", found)
    assert (said.outcome, said.what) == (PASS, f"{name}: 40 interfaces, 32 with EFA")


def test_an_ultraserver_with_a_single_interface_per_card_passes() -> None:
    planned = (PRIMARY, *(Interface(card, 0, "efa-only") for card in (1, 5, 9, 13)))
    found = view(cluster(pool(type="p6e-gb200.36xlarge", count=9, capacity=BLOCK)))
    said = only(RULES, "interfaces-fit-type", with_pool(found, interfaces=planned))
    assert (said.outcome, said.what) == (PASS, "p6e-gb200.36xlarge: 5 interfaces, 4 with EFA")


def efa(*cards: int) -> tuple[Interface, ...]:
    return tuple(Interface(card, 0 if card else 1, "efa-only") for card in cards)


@pytest.mark.parametrize(
    ("planned", "what"),
    [
        ((PRIMARY,), "0 EFA interfaces planned, the type has 4"),
        ((PRIMARY, *efa(0, 1, 2)), "3 EFA interfaces planned"),
        (efa(0, 1, 2, 3), "0 interfaces at card 0, device 0"),
        ((PRIMARY, PRIMARY, *efa(0, 1, 2, 3)), "2 interfaces at card 0, device 0"),
        ((Interface(0, 0, "efa-only"), *efa(1, 2, 3)), "the primary interface is efa-only"),
        ((PRIMARY, *efa(0, 1, 2, 2)), "2 EFA interfaces on card 2"),
        ((PRIMARY, *efa(0, 1, 2, 2)), "2 interfaces at card 2, device 0"),
        ((PRIMARY, *efa(0, 1, 2, 4)), "an interface on card 4; the type has 4 cards"),
    ],
)
def test_a_layout_that_ec2_would_refuse_fails(planned: tuple[Interface, ...], what: str) -> None:
    found = with_pool(view(cluster(pool(type="p4d.24xlarge"))), interfaces=planned)
    said = says(RULES, "interfaces-fit-type", found)
    assert {each.outcome for each in said} == {FAIL}
    assert any(what in each.what for each in said)


def test_more_interfaces_on_a_card_than_it_takes_fail() -> None:
    found = with_type(view(cluster(pool())), enis_per_card=1)
    said = only(RULES, "interfaces-fit-type", found)
    assert (said.outcome, said.path) == (FAIL, "pools[0].interfaces")
    assert "2 interfaces on card 0, which takes 1" in said.what


def test_efa_on_a_card_that_has_none_fails() -> None:
    found = with_type(view(cluster(pool(type="p4d.24xlarge"))), efa_cards=(1, 2, 3, 4))
    assert "EFA on card 0, which has none" in only(RULES, "interfaces-fit-type", found).what


@pytest.mark.parametrize("fact", ["efa_interfaces", "network_cards", "enis_per_card"])
def test_a_layout_that_no_source_confirms_is_unknown(fact: str) -> None:
    said = only(RULES, "interfaces-fit-type", with_type(view(cluster(pool())), **{fact: None}))
    assert said.outcome is UNKNOWN
    assert "describe-instance-types --instance-types p5.48xlarge" in said.do


def test_gpu_nodes_with_efa_have_a_fabric() -> None:
    assert only(RULES, "fabric-present", view(cluster(pool()))).outcome is PASS


def test_gpu_nodes_without_efa_are_warned_of() -> None:
    said = only(RULES, "fabric-present", without_fabric(efa_interfaces=0))
    assert (said.outcome, said.severity) == (FAIL, "warning")
    assert "no fabric" in said.what


def test_gpu_nodes_of_which_no_source_says_whether_they_have_efa_are_unknown() -> None:
    said = only(RULES, "fabric-present", without_fabric(efa_interfaces=None))
    assert said.outcome is UNKNOWN


@pytest.mark.parametrize("row", [pool(type="m7i.4xlarge"), pool(type="p5.48xlarge", count=1)])
def test_nodes_without_gpus_or_alone_need_no_fabric(row: dict[str, Any]) -> None:
    found = with_pool(view(cluster(row)), placement=None)
    assert says(RULES, "fabric-present", found) == ()


def families(*names: str) -> tuple[Said, ...]:
    pools = [pool(f"pool{n}", type=name) for n, name in enumerate(names)]
    return says(RULES, "one-fabric-family", view(cluster(*pools)))


@pytest.mark.parametrize(
    ("names", "outcome", "severity"),
    [
        (("p5.48xlarge", "p5.48xlarge"), PASS, "error"),
        (("p4d.24xlarge", "p4de.24xlarge"), PASS, "error"),
        (("p4d.24xlarge", "p5.48xlarge"), FAIL, "error"),
        (("p5.48xlarge", "p4de.24xlarge"), FAIL, "error"),
        (("p5.48xlarge", "p5en.48xlarge"), FAIL, "warning"),
    ],
)
def test_families_on_one_fabric(names: tuple[str, ...], outcome: str, severity: str) -> None:
    (said,) = families(*names)
    assert (said.outcome, said.severity) == (outcome, severity)


def test_one_pool_with_efa_is_of_one_family_whatever_cpu_nodes_there_are() -> None:
    assert families("p4d.24xlarge") == ()
    assert families("p4d.24xlarge", "m7i.4xlarge", "m7i.48xlarge") == ()


def test_a_pool_with_efa_is_placed_as_a_cluster() -> None:
    said = only(RULES, "placement-fits", view(cluster(pool())))
    assert (said.outcome, said.path) == (PASS, "pools[0].placement")


def test_a_block_needs_no_placement_group() -> None:
    said = only(RULES, "placement-fits", view(cluster(pool(capacity=BLOCK))))
    assert (said.outcome, said.what) == (
        PASS,
        "a Capacity Block is a cluster without a placement group",
    )


def test_a_cluster_placement_group_with_a_block_fails() -> None:
    found = with_pool(view(cluster(pool(capacity=BLOCK))), placement="cluster")
    said = only(RULES, "placement-fits", found)
    assert said.outcome is FAIL
    assert "Remove placement" in said.do


def test_a_pool_with_efa_and_no_placement_group_fails() -> None:
    found = with_pool(view(cluster(pool())), placement=None)
    assert only(RULES, "placement-fits", found).outcome is FAIL


@pytest.mark.parametrize(("count", "outcome"), [(7, PASS), (8, FAIL)])
def test_a_spread_group_takes_seven_nodes_in_a_zone(count: int, outcome: str) -> None:
    row = pool(type="m7i.4xlarge", count=count, placement="spread")
    assert only(RULES, "placement-fits", view(cluster(row))).outcome == outcome


def test_spares_count_in_a_spread_group() -> None:
    row = pool(type="m7i.4xlarge", count=7, spares=1, placement="spread")
    assert only(RULES, "placement-fits", view(cluster(row))).outcome is FAIL


def test_nodes_without_efa_and_group_have_nothing_to_place() -> None:
    assert says(RULES, "placement-fits", view(cluster(pool(type="m7i.4xlarge")))) == ()
