"""Values cross between the engine and Python without loss."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pulumi.provider.experimental.property_value import Computed, PropertyValue

from muster.provider.handler import UNKNOWN
from muster.provider.values import map_to_plain, to_plain, to_property

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_a_plain_value_survives_the_way_there_and_back(value: Any) -> None:
    assert to_plain(to_property(value)) == value


@given(PLAIN)
def test_a_plain_value_survives_the_wire(value: Any) -> None:
    wire = to_property(value).marshal()
    assert to_plain(PropertyValue.unmarshal(wire)) == value


def test_a_fraction_stays_a_fraction() -> None:
    assert to_plain(to_property(1.5)) == 1.5


def test_unknown_survives_the_wire() -> None:
    wire = to_property({"a": [UNKNOWN]}).marshal()
    assert to_plain(PropertyValue.unmarshal(wire)) == {"a": [UNKNOWN]}


def test_an_unknown_deep_inside_makes_the_whole_property_unknown() -> None:
    nested = PropertyValue({"a": PropertyValue([PropertyValue(Computed())])})
    assert map_to_plain({"nested": nested, "flat": PropertyValue("x")}) == {
        "nested": UNKNOWN,
        "flat": "x",
    }
