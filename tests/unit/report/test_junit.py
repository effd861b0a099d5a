"""JUnit: a suite per node, and nothing unproved is green."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.findings import Outcome
from muster.report.junit import render_junit
from tests.unit.report import scenarios
from tests.unit.report.sample import finding, junit_of


def parse(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - written by the function under test


def case(root: ET.Element, suite: str, name: str) -> ET.Element:
    found = root.find(f"testsuite[@name='{suite}']/testcase[@name='{name}']")
    assert found is not None, f"{suite}/{name}"
    return found


def tags(element: ET.Element) -> list[str]:
    return [child.tag for child in element]


def test_every_node_and_the_fleet_have_a_suite() -> None:
    root = parse(junit_of(scenarios.healthy()))
    names = [suite.get("name") for suite in root]
    assert names == ["fleet", *(f"gpu-{n}" for n in range(1, 9))]


def test_healthy_run_has_no_failure_and_no_error() -> None:
    root = parse(junit_of(scenarios.healthy()))
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("0", "0", "0")


def test_fail_is_a_failure_with_its_command() -> None:
    root = parse(junit_of(scenarios.slow_rail()))
    failure = case(root, "gpu-3", "pair-bandwidth rail:1").find("failure")
    assert failure is not None
    assert "pair_test.py --rail 1" in (failure.text or "")


def test_unknown_is_an_error_not_a_pass() -> None:
    root = parse(junit_of(scenarios.unknowns()))
    assert tags(case(root, "gpu-5", "gpu-health")) == ["error"]


def test_waived_unknown_is_skipped_with_its_reason() -> None:
    skipped = case(parse(junit_of(scenarios.unknowns())), "gpu-7", "shared-mount").find("skipped")
    assert skipped is not None
    assert "no shared disk" in (skipped.get("message") or "")


def test_waiver_on_a_pass_changes_nothing() -> None:
    waived = finding("gpu-1", "gpu-count", params={"waiver": "old"})
    root = parse(render_junit(None, [waived], stack="lab"))
    assert tags(case(root, "gpu-1", "gpu-count")) == []


def test_node_without_any_finding_is_an_error() -> None:
    root = parse(junit_of(scenarios.unknowns()))
    assert tags(case(root, "gpu-8", "verdict")) == ["error"]


def test_quarantined_node_is_a_failure_by_its_verdict() -> None:
    root = parse(junit_of(scenarios.slow_rail()))
    assert tags(case(root, "gpu-3", "verdict")) == ["failure"]


def test_bad_leaf_is_a_failure_of_the_fleet() -> None:
    root = parse(junit_of(scenarios.slow_uplink()))
    assert tags(case(root, "fleet", "leaf:leaf1 rail:0")) == ["failure"]
    assert tags(case(root, "fleet", "ready")) == ["failure"]


def test_run_cut_short_is_an_error_on_the_fleet_and_every_node() -> None:
    root = parse(junit_of(scenarios.cut_short()))
    assert tags(case(root, "fleet", "ready")) == ["error"]
    assert root.get("errors") == "9"


@pytest.mark.parametrize("name", scenarios.ALL)
def test_counts_are_those_of_the_cases(name: str) -> None:
    root = parse(junit_of(scenarios.ALL[name]()))
    for suite in (root, *root):
        cases = list(suite.iter("testcase"))
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(sum("failure" in tags(c) for c in cases))
        assert suite.get("errors") == str(sum("error" in tags(c) for c in cases))


@given(text=st.text(min_size=1))
def test_any_text_gives_valid_xml(text: str) -> None:
    bad = finding("gpu-1", "gpu-count", Outcome.FAIL, summary=text, cmd=text, component=text)
    root = parse(render_junit(None, [bad], stack=text, nodes=[text]))
    assert root.get("failures") == "1"
