"""Every EFA type is launched with the interfaces that EC2's user guide gives for it."""

from __future__ import annotations

import pytest

from muster.catalog import InstanceType, load_catalog
from muster.errors import UsageError
from muster.plan.aws.interfaces import Wish, interfaces_of
from muster.plan.aws.model import Interface

TYPES = load_catalog().types
EFA_TYPES = sorted(n for n, t in TYPES.items() if t.target == "aws" and t.efa_interfaces)


def layout(name: str, wish: Wish = "fewAddresses") -> tuple[Interface, ...]:
    return interfaces_of(TYPES[name], wish, where="pools[0]")


def kinds(name: str, kind: str, wish: Wish = "fewAddresses") -> list[tuple[int, int]]:
    return [(i.card, i.device) for i in layout(name, wish) if i.kind == kind]


# The user guide's own figures: all interfaces, cards with EFA, private addresses.
@pytest.mark.parametrize(
    ("name", "interfaces", "efa_cards", "addresses"),
    [
        ("p3dn.24xlarge", 1, [0], 1),
        ("p4d.24xlarge", 5, list(range(4)), 1),
        ("p4de.24xlarge", 5, list(range(4)), 1),
        ("p5.4xlarge", 1, [0], 1),
        ("p5.48xlarge", 33, list(range(32)), 1),
        ("p5e.48xlarge", 33, list(range(32)), 1),
        ("p5en.48xlarge", 17, list(range(16)), 1),
        ("p6-b200.48xlarge", 9, list(range(8)), 1),
        ("p6-b300.48xlarge", 17, list(range(1, 17)), 1),
        ("p6e-gb200.36xlarge", 5, [1, 5, 9, 13], 1),
        ("g6e.48xlarge", 5, list(range(4)), 1),
        ("g6e.24xlarge", 3, [0, 1], 1),
    ],
)
def test_a_type_has_the_layout_of_the_user_guide(
    name: str, interfaces: int, efa_cards: list[int], addresses: int
) -> None:
    found = layout(name)
    assert len(found) == interfaces
    assert [i.card for i in found if i.kind != "interface"] == efa_cards
    assert sum(i.kind != "efa-only" for i in found) == addresses


@pytest.mark.parametrize("name", EFA_TYPES)
def test_a_layout_breaks_no_rule_of_ec2(name: str) -> None:
    found, efa_type = layout(name), TYPES[name]
    assert (found[0].card, found[0].device) == (0, 0)
    assert found[0].kind != "efa-only"
    places = [(i.card, i.device) for i in found]
    assert len(set(places)) == len(places)
    with_efa = [i.card for i in found if i.kind != "interface"]
    assert len(set(with_efa)) == len(with_efa) == efa_type.efa_interfaces
    assert all(i.card < (efa_type.network_cards or 0) for i in found)
    if efa_type.enis_per_card is not None:
        assert all(i.device < efa_type.enis_per_card for i in found)


def test_p5_for_full_bandwidth_has_eight_addresses_on_forty_interfaces() -> None:
    assert len(layout("p5.48xlarge", "fullBandwidth")) == 40
    wanted = [(0, 0), *((card, 1) for card in (4, 8, 12, 16, 20, 24, 28))]
    assert kinds("p5.48xlarge", "interface", "fullBandwidth") == wanted


@pytest.mark.parametrize("name", ["m7i.4xlarge", "p5.4xlarge", "p4d.24xlarge"])
def test_a_type_without_such_a_layout_refuses_full_bandwidth(name: str) -> None:
    with pytest.raises(UsageError, match=r"pools\[0\]\.interfaces.*fewAddresses"):
        layout(name, "fullBandwidth")


def test_a_type_without_efa_has_one_plain_interface() -> None:
    assert layout("m7i.4xlarge") == (Interface(0, 0, "interface"),)


def test_cards_that_the_catalog_does_not_name_are_not_guessed() -> None:
    found: InstanceType = TYPES["p6e-gb200.36xlarge"].model_copy(update={"efa_cards": None})
    with pytest.raises(UsageError, match="on which of 17 cards"):
        interfaces_of(found, "fewAddresses", where="pools[0]")


def test_a_type_without_efa_may_have_an_address_on_each_of_its_cards() -> None:
    found = load_catalog().instance_type("paper.8gpu")
    layout = interfaces_of(found, "fullBandwidth", where="pools[0]")
    assert [(i.card, i.device, i.kind) for i in layout] == [
        (0, 0, "interface"),
        (1, 1, "interface"),
        (2, 1, "interface"),
    ]
