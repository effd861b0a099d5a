"""A view of a cluster for rules to judge, built the way `muster plan` builds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from muster.catalog import load_catalog
from muster.findings import Outcome
from muster.plan.aws.model import AwsPlan, FileSystemPlan, PoolPlan
from muster.plan.aws.plan import plan_aws
from muster.plan.rules.model import Rule, Said, View
from muster.spec import parse_spec

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN


def cluster(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a cluster on aws with these pools; other keys may be given or replaced."""
    network = {"zoneId": "use2-az1", "cidr": "10.0.0.0/16"}
    return {"target": "aws", "network": network, "pools": list(pools), **more}


def pool(name: str = "train", **more: Any) -> dict[str, Any]:
    """Return a pool of two p5.48xlarge on demand; any key may be replaced."""
    usual = {"type": "p5.48xlarge", "count": 2, "capacity": {"onDemand": True}}
    return {"name": name, **usual, **more}


def view(cluster: dict[str, Any], now: datetime = NOW) -> View:
    """Parse and plan a cluster, and return what rules may look at."""
    catalog = load_catalog()
    spec = parse_spec(cluster, where="test", catalog=catalog, today=now.date())
    return View(spec=spec, plan=plan_aws(spec, catalog, "test"), catalog=catalog, now=now)


def lustre(**changes: Any) -> FileSystemPlan:
    """Return a new FSx for Lustre without EFA; any field may be replaced."""
    usual = FileSystemPlan(
        mount="/fsx",
        kind="fsxLustre",
        id=None,
        deployment="persistent2",
        capacity_gib=4800,
        throughput=250,
        metadata_iops=None,
        efa=False,
        data_repository=None,
        export=False,
    )
    return replace(usual, **changes)


def with_plan(found: View, **changes: Any) -> View:
    """Return the view with parts of its plan replaced, for plans that no spec leads to."""
    plan: AwsPlan = replace(found.plan, **changes)
    return replace(found, plan=plan)


def with_pool(found: View, **changes: Any) -> View:
    """Return the view with parts of its first pool's plan replaced."""
    first: PoolPlan = replace(found.plan.pools[0], **changes)
    return with_plan(found, pools=(first, *found.plan.pools[1:]))


def says(rules: tuple[Rule, ...], name: str, found: View) -> tuple[Said, ...]:
    """Return all that the rule of that id says."""
    (rule,) = (rule for rule in rules if rule.id == name)
    return tuple(_checked(rule.ask(found)))


def only(rules: tuple[Rule, ...], name: str, found: View) -> Said:
    """Return what the rule of that id says, where it says one thing."""
    (said,) = says(rules, name, found)
    return said


def _checked(said: Iterator[Said]) -> Iterator[Said]:
    """Hold every word of a rule to the contract: one line, and what to do unless it passes."""
    for found in said:
        assert "\n" not in found.what + found.do
        assert found.do or found.outcome is PASS
        assert found.path
        yield found
