"""What differs between rows, and what is told about a role, is what is installed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import load_catalog
from muster.catalog.software import load_row, load_rules
from muster.software.explain import differences, explain
from muster.software.selection import ROLE_ORDER
from tests.unit.software.rows import row


def test_a_changed_version_a_new_and_a_gone_component_are_told() -> None:
    before = row()
    parts = {name: part.model_dump() for name, part in before.components.items()}
    parts["efa"]["version"] = "1.2.4"
    parts["pmix"] = {"role": "slurmd", "source": "muster-choice"}
    gone = parts.pop("roce")
    after = type(before).model_validate({**before.model_dump(), "components": parts})
    told = [(c.component, c.field, c.before, c.after) for c in differences(before, after)]
    assert ("efa", "version", "1.2.3", "1.2.4") in told
    assert ("pmix", "in the row", "no", "yes") in told
    assert ("roce", "in the row", "yes", "no") in told
    assert gone["version"] == "1.2.3"


@given(st.sampled_from(ROLE_ORDER), st.text("123.", min_size=1, max_size=8))
def test_a_row_differs_from_another_exactly_where_a_version_does(role: str, version: str) -> None:
    changed = {"role": role, "version": version, "source": "muster-choice"}
    one, other = row(**{role: changed}), row(**{role: {**changed, "version": "x"}})
    assert differences(one, one) == ()
    assert [(c.component, c.field) for c in differences(one, other)] == [(role, "version")]


def test_everything_that_may_be_asked_about_is_explained() -> None:
    shipped, sources = load_row("2026.11"), load_catalog().sources
    for name in (*ROLE_ORDER, *shipped.components):
        document = explain(name, shipped, load_rules(), sources, None)
        for part in document["components"].values():
            assert part["source"]["title"], name


def test_a_component_is_told_with_the_rules_about_it() -> None:
    shipped, sources = load_row("2026.11"), load_catalog().sources
    document = explain("fabric_manager", shipped, load_rules(), sources, None)
    assert list(document["rules"]) == ["fabric-manager-is-the-drivers"]
    assert document["components"]["fabric_manager"]["version"] == "580.126.20"
