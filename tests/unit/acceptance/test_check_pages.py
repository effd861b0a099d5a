"""Every check has its page, every page its check, and each tells the same five things."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.acceptance.checks.registry import ALL, BY_HAND, STAGES, STATIC

PAGES = Path(__file__).parents[3] / "docs" / "checks"


def test_no_check_lacks_a_page_and_no_page_a_check() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(ALL)


@pytest.mark.parametrize("check", ALL)
def test_a_page_tells_all_five_things(check: str) -> None:
    lines = (PAGES / f"{check}.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {check}"
    starts = [line.split("**")[1] for line in lines if line.startswith("- **")]
    assert starts == ["Catches", "Inputs", "PASS", "Common cause", "By hand"]
    verdicts = next(line for line in lines if "**PASS**" in line)
    assert "**FAIL**" in verdicts
    assert "**UNKNOWN**" in verdicts


def test_a_check_belongs_to_one_stage() -> None:
    assert len(ALL) == len(set(ALL)) == sum(map(len, STAGES.values()))


def test_every_static_check_can_be_repeated_by_hand() -> None:
    assert set(BY_HAND) == set(STATIC)


def test_every_module_of_checks_is_listed() -> None:
    folder = Path(__file__).parents[3] / "muster" / "acceptance" / "checks"
    listed = [path for path in folder.glob("*.py") if "\nCHECK = " in path.read_text()]
    assert len(listed) == len(ALL)
