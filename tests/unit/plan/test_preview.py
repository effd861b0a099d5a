"""A preview is read in full, or it is an error: no step is ever passed over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plan.preview import Op, Preview, PreviewError, read_preview
from tests.unit.plan.blasts import LUSTRE, document, step

ENGINE = ["engine_preview", "engine_replacement_steps", "engine_protected"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@pytest.mark.parametrize("name", ENGINE)
def test_what_the_engine_really_prints_is_read_step_by_step(name: str) -> None:
    printed = document(name)
    read = read_preview(printed)
    assert [s.op.value for s in read.steps] == [s["op"] for s in printed["steps"]]
    assert [s.urn for s in read.steps] == [s["urn"] for s in printed["steps"]]


def test_a_step_carries_inputs_changed_properties_and_whether_it_is_retained() -> None:
    steps = {s.urn.rsplit("::", 1)[-1]: s for s in read_preview(document("engine_preview")).steps}
    assert steps["updated"].changed == ("wanted",)
    assert (steps["updated"].before["wanted"], steps["updated"].after["wanted"]) == (1, 2)
    assert steps["left"].retained
    assert not steps["deleted"].retained


def test_why_the_engine_stopped_is_kept() -> None:
    [first, *_] = read_preview(document("engine_protected")).errors
    assert "cannot be deleted because it is protected" in first


def test_an_unknown_operation_is_an_error_that_names_it() -> None:
    broken = document("engine_preview")
    broken["steps"][1]["op"] = "teleport"
    with pytest.raises(PreviewError, match=r"steps\[1\]: no such operation as 'teleport'"):
        read_preview(broken)


@pytest.mark.parametrize("missing", ["op", "urn", "oldState", "newState"])
def test_a_step_without_one_of_its_parts_is_an_error(missing: str) -> None:
    broken = step("update", LUSTRE)
    del broken[missing]
    with pytest.raises(PreviewError, match=r"steps\[0\]"):
        read_preview({"steps": [broken], "changeSummary": {"update": 1}})


@pytest.mark.parametrize("missing", ["type", "custom"])
def test_a_state_without_type_or_kind_is_an_error(missing: str) -> None:
    broken = step("delete", LUSTRE)
    del broken["oldState"][missing]
    with pytest.raises(PreviewError, match="lacks type or custom"):
        read_preview({"steps": [broken], "changeSummary": {"delete": 1}})


@pytest.mark.parametrize("op", ["create", "update", "delete", "replace"])
def test_a_document_that_lost_a_step_is_an_error(op: str) -> None:
    broken = document("engine_preview")
    broken["steps"].remove(next(step for step in broken["steps"] if step["op"] == op))
    with pytest.raises(PreviewError, match=f"of '{op}', it lists"):
        read_preview(broken)


@pytest.mark.parametrize("empty", [None, [], "", {}, {"steps": None}, {"steps": {}}])
def test_a_document_without_steps_is_an_error(empty: object) -> None:
    with pytest.raises(PreviewError):
        read_preview(empty)


def test_an_error_is_one_line() -> None:
    with pytest.raises(PreviewError) as raised:
        read_preview({"diagnostics": [{"severity": "error", "message": "no\nway"}]})
    assert str(raised.value).startswith("preview: no way")
    assert "\n" not in str(raised.value)


@given(JSON, st.sampled_from([*Op, "x", None]))
def test_any_json_is_read_or_is_a_preview_error(anything: Any, op: object) -> None:
    written = {"op": op, "urn": "urn:pulumi:a::b", "oldState": anything, "newState": anything}
    for tried in (anything, {"steps": anything}, {"steps": [written], "changeSummary": {}}):
        try:
            read = read_preview(tried)
        except PreviewError:
            continue
        assert isinstance(read, Preview)
        assert all(step.urn == "urn:pulumi:a::b" for step in read.steps)
