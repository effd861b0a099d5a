"""Whole reports, byte for byte; a change is reviewed as the diff of the golden file."""

from __future__ import annotations

import pytest

from tests.conftest import Golden
from tests.unit.report import scenarios
from tests.unit.report.sample import RUN, Sample, html_of, junit_of


@pytest.mark.parametrize("name", scenarios.ALL)
def test_report_of_a_known_run_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"report/{name}.html", html_of(scenarios.ALL[name]()))


@pytest.mark.parametrize("name", scenarios.ALL)
def test_junit_of_a_known_run_is_as_reviewed(name: str, golden: Golden) -> None:
    golden(f"report/{name}.junit.xml", junit_of(scenarios.ALL[name]()))


def test_same_run_gives_the_same_bytes() -> None:
    assert html_of(scenarios.unknowns()) == html_of(scenarios.unknowns())


def test_run_identity_is_on_the_page_even_without_a_verdict() -> None:
    sample: Sample = scenarios.cut_short()
    assert RUN in html_of(sample)
