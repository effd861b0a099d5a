"""The example stacks: each one is a spec, has a plan, and nothing known speaks against it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.catalog import load_catalog
from muster.plan.aws.plan import plan_aws
from muster.plan.rules.model import View
from muster.plan.rules.run import preflight
from muster.spec import load_stack_file, parse_spec

STACKS = Path(__file__).parents[3] / "stacks"
EXAMPLES = sorted(STACKS.glob("Pulumi.example-*.yaml"))
WRITTEN = datetime(2026, 11, 21, tzinfo=UTC)
"""A Capacity Block in an example ends some months after this day."""
KINDS = {
    "p4d",
    "p5",
    "p5en",
    "p6-b200",
    "p6-b300",
    "g6e",
    "mixed",
    "existing-vpc",
    "storage",
    "eks",
}


def test_there_is_an_example_of_each_kind_of_stack() -> None:
    assert {path.stem.removeprefix("Pulumi.example-") for path in EXAMPLES} >= KINDS


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_that_is_known_without_the_cloud_speaks_against_an_example(path: Path) -> None:
    catalog = load_catalog()
    spec = parse_spec(load_stack_file(path), where=path.name, catalog=catalog, today=WRITTEN.date())
    plan = plan_aws(spec, catalog, path.stem.removeprefix("Pulumi."))
    checked = preflight(View(spec=spec, plan=plan, catalog=catalog, now=WRITTEN))
    assert [result.rule for result in checked.results if result.standing == "fail"] == []
    assert plan.nodes == sum(pool.count + pool.spares for pool in spec.pools)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_in_its_first_lines_how_to_judge_it(path: Path) -> None:
    comment = path.read_text(encoding="utf-8").partition("---")[0]
    assert f"`muster plan {path.stem.removeprefix('Pulumi.')} --offline`" in comment
