"""Preflight for people and for programs: nothing unproved looks proved, and no text breaks out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from muster.findings import Outcome
from muster.plan.rules.model import failed, passed
from muster.plan.rules.run import Preflight
from muster.report.preflight import as_document, as_junit, as_markdown, as_sarif, as_text
from tests.conftest import Golden
from tests.unit.report.preflight_sample import WAIVER, result, sample

FILE = "stacks/Pulumi.train.yaml"
NOTHING = Preflight(stack="train", results=())


def test_markdown_is_as_reviewed(golden: Golden) -> None:
    golden("preflight/mixed.md", as_markdown(sample()))


def test_text_is_as_reviewed(golden: Golden) -> None:
    golden("preflight/mixed.txt", as_text(sample()))


def test_junit_is_as_reviewed(golden: Golden) -> None:
    golden("preflight/mixed.junit.xml", as_junit(sample()))


def test_sarif_is_as_reviewed(golden: Golden) -> None:
    golden("preflight/mixed.sarif.json", as_sarif(sample(), file=FILE))


def test_text_has_the_worst_first_and_counts_passes() -> None:
    lines = [line for line in as_text(sample()).splitlines() if "->" not in line]
    words = [line.split()[0] for line in lines[1:-1]]
    assert words == ["FAIL", "FAIL", "UNKNOWN", "WARNING", "WAIVED"]
    assert lines[-1] == "2 fail, 1 unknown, 1 warning, 1 waived, 1 pass"


def test_text_of_a_clean_plan_is_a_verdict_and_a_count() -> None:
    clean = Preflight(stack="train", results=(result("mounts", passed("fine", "storage[0]")),))
    assert len(as_text(clean).splitlines()) == 2
    assert as_text(clean).startswith("PASS")


def test_text_keeps_control_sequences_from_the_terminal() -> None:
    nasty = result("mounts", failed("\x1b[2J\x1b[31m", "storage[0]", "Use\x07 another."))
    assert "\x1b" not in as_text(Preflight(stack="train", results=(nasty,)))


def test_plan_that_no_rule_judged_is_proved_nowhere() -> None:
    assert as_text(NOTHING).startswith("UNKNOWN")
    assert "no rule judged it" in as_markdown(NOTHING)
    assert ET.fromstring(as_junit(NOTHING)).get("errors") == "1"  # noqa: S314 - our own
    assert run_of(as_sarif(NOTHING, file=FILE))["invocations"] == [{"executionSuccessful": False}]


def test_document_is_json_and_holds_every_result_with_its_waiver() -> None:
    document = json.loads(json.dumps(as_document(sample())))
    assert document["outcome"] == "fail"
    assert document["counts"] == {"fail": 2, "unknown": 1, "warning": 1, "waived": 1, "pass": 1}
    (waived,) = [each for each in document["results"] if each["waiver"]]
    assert waived["waiver"] == {"reason": WAIVER.reason, "until": "2026-12-01"}
    assert waived["outcome"] == "unknown"


def test_junit_tells_fail_unknown_and_waived_apart() -> None:
    root = ET.fromstring(as_junit(sample()))  # noqa: S314 - written by the function under test
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("6", "2", "1")
    assert root.get("skipped") == "1"
    assert "warning" in (root.findtext(".//system-out") or "")


def run_of(text: str) -> dict[str, Any]:
    document = json.loads(text)
    assert document["version"] == "2.1.0"
    run: dict[str, Any] = document["runs"][0]
    return run


def test_sarif_points_every_alert_at_its_rule_and_the_stack_file() -> None:
    run = run_of(as_sarif(sample(), file="stacks/Pulumi.my stack.yaml"))
    rules = run["tool"]["driver"]["rules"]
    for found in run["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
        (location,) = found["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == "stacks/Pulumi.my%20stack.yaml"


def test_sarif_alerts_on_unknown_as_on_failure_and_never_on_a_pass() -> None:
    run = run_of(as_sarif(sample(), file=FILE))
    levels = {found["ruleId"]: found["level"] for found in run["results"]}
    assert levels["image-fits"] == levels["lustre-figures"] == "error"
    assert levels["budget"] == "warning"
    assert "mounts" not in levels


def test_sarif_suppresses_only_what_is_waived_and_says_why() -> None:
    run = run_of(as_sarif(sample(), file=FILE))
    (waived,) = [found for found in run["results"] if "suppressions" in found]
    assert waived["ruleId"] == "quotas"
    assert WAIVER.reason in waived["suppressions"][0]["justification"]


@given(text=st.text(min_size=1))
def test_no_text_breaks_out_of_a_report(text: str) -> None:
    nasty = Preflight(stack=text, results=(result("mounts", failed(text, text, text)),))
    assert nasty.outcome is Outcome.FAIL
    root = ET.fromstring(as_junit(nasty))  # noqa: S314 - written by the function under test
    assert root.get("failures") == "1"
    assert len(run_of(as_sarif(nasty, file=text))["results"]) == 1
    (row,) = [line for line in as_markdown(nasty).splitlines() if line.startswith("| mounts")]
    assert row.count("|") == 5
    assert "<" not in row
    assert len(as_text(nasty).splitlines()) == 4
