"""Comparing inputs with each other and with the real thing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papercloud.provider.difference import paths, project, without_ignored
from papercloud.provider.schema import UNKNOWN_VALUE

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(VALUES)
def test_equal_values_do_not_differ(value: Any) -> None:
    assert paths(value, value) == {}
    assert project(value, value) == value


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 2}, {"a": "update"}),
        ({"a": 1}, {}, {"a": "delete"}),
        ({}, {"a": 1}, {"a": "add"}),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, {"a.b[1]": "update"}),
        ({"a": [1]}, {"a": [1, 2]}, {"a[1]": "add"}),
        ({"a": 1}, {"a": UNKNOWN_VALUE}, {"a": "update"}),
        ({"p": '{"a": 1, "b": 2}'}, {"p": '{"b":2,"a":1}'}, {}),
    ],
)
def test_a_difference_is_named_by_its_path(
    old: dict[str, Any], new: dict[str, Any], found: dict[str, str]
) -> None:
    assert paths(old, new) == found


def test_what_the_program_does_not_speak_of_is_no_drift() -> None:
    wanted = {"httpTokens": "required"}
    assert project(wanted, {"httpTokens": "required", "httpEndpoint": "enabled"}) == wanted


def test_the_order_of_a_list_is_no_drift_but_an_item_more_or_less_is() -> None:
    assert project(["a", "b"], ["b", "a"]) == ["a", "b"]
    assert project(["a", "b"], ["b"]) == ["b"]
    assert project(["a"], ["b", "a"]) == ["a", "b"]
    assert project([{"k": 1}], [{"k": 2, "other": 3}]) == [{"k": 2}]


def test_ignored_paths_are_left_out_with_all_below_them() -> None:
    found = {"a.b": "update", "a.c[0].d": "add", "ab": "update", "l[2].x": "update"}
    assert without_ignored(found, ["a"]) == {"ab": "update", "l[2].x": "update"}
    assert "l[2].x" not in without_ignored(found, ["l[*].x"])
    assert without_ignored(found, []) == found
