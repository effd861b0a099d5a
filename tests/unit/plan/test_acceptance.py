"""A policy of one's own differs from its preset in what it says, and its deadlines follow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from muster.acceptance.policy import load_policy
from muster.catalog import load_catalog
from muster.plan.acceptance import plan_policy
from muster.spec import PolicyTable

CATALOG = load_catalog()


@pytest.mark.parametrize("name", ["quick", "training", "soak"])
def test_a_preset_of_the_spec_is_a_policy_of_acceptance(name: str) -> None:
    assert plan_policy(name, CATALOG) == load_policy(name, CATALOG)


def test_an_empty_table_is_quick_under_another_name() -> None:
    found = plan_policy(PolicyTable(), CATALOG)
    assert found.name == "quick, changed"
    assert found.model_copy(update={"name": "quick"}) == load_policy("quick", CATALOG)


def test_every_key_of_the_table_has_its_effect() -> None:
    table = {
        "base": "training",
        "intraLeafRounds": 1,
        "crossLeafRounds": 2,
        "confirmRounds": 3,
        "pairSeconds": 7,
        "localWindows": 12,
        "groupIterations": 50,
    }
    assert set(table) == {f.alias for f in PolicyTable.model_fields.values()}
    found, base = plan_policy(table, CATALOG), load_policy("training", CATALOG)
    pairs = found.pairs
    assert (pairs.intra_rounds, pairs.cross_rounds, pairs.confirm_rounds) == (1, 2, 3)
    assert (pairs.seconds, found.local.windows, found.group.iterations) == (7, 12, 50)
    assert pairs.round_s == base.pairs.round_s + 2 * (7 - base.pairs.seconds)
    assert found.local.node_seconds == 2 * base.local.node_seconds
    assert found.group.seconds == 10 * base.group.seconds


def test_a_table_that_went_through_json_means_the_same() -> None:
    table = PolicyTable.model_validate({"pairSeconds": 7})
    written = table.model_dump(mode="json", by_alias=True)
    assert plan_policy(written, CATALOG) == plan_policy(table, CATALOG)


def test_a_table_that_the_spec_would_refuse_is_refused() -> None:
    with pytest.raises(ValidationError, match="sometimes"):
        plan_policy({"base": "sometimes"}, CATALOG)


@given(st.integers(1, 3600), st.integers(2, 10_000), st.integers(1, 100_000))
def test_no_deadline_is_shorter_than_the_preset_allows_or_the_test_takes(
    seconds: int, windows: int, iterations: int
) -> None:
    table = PolicyTable.model_validate(
        {"pairSeconds": seconds, "localWindows": windows, "groupIterations": iterations}
    )
    found, base = plan_policy(table, CATALOG), load_policy("quick", CATALOG)
    assert found.pairs.round_s >= max(base.pairs.round_s, 2 * seconds)
    assert found.local.node_seconds >= max(base.local.node_seconds, windows * base.local.window_s)
    assert found.group.seconds >= base.group.seconds
