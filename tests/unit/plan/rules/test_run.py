"""The runner: every rule speaks, a broken one is unknown, and only an open waiver lets through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import pytest

from muster.findings import Outcome
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown
from muster.plan.rules.run import ALL_RULES, Preflight, preflight
from muster.spec import Preflight as Wishes
from muster.spec import RuleWaiver
from tests.unit.plan.rules.views import FAIL, NOW, PASS, UNKNOWN, cluster, pool, view

GOOD = passed("fine", "pools[0]")
BAD = failed("broken", "pools[0]", "Mend it.")
WARNED = failed("odd", "pools[0]", "Look.", severity="warning")
UNTOLD = unknown("dark", "pools[0]", "Look.")
TODAY = NOW.date()


def rule(name: str, *said: Said) -> Rule:
    def ask(_view: View) -> Iterator[Said]:
        yield from said

    return Rule(id=name, title=f"{name} is well.", source="a test", ask=ask)


def crashing(name: str, *said: Said) -> Rule:
    def ask(_view: View) -> Iterator[Said]:
        yield from said
        message = "no\nsuch key"
        raise KeyError(message)

    return Rule(id=name, title=f"{name} is well.", source="a test", ask=ask)


def waived(name: str, until: date = TODAY) -> RuleWaiver:
    return RuleWaiver(rule=name, reason="agreed with the owner", until=until)


def judge(*rules: Rule, waivers: tuple[RuleWaiver, ...] = ()) -> Preflight:
    found = view(cluster(pool()))
    spec = found.spec.model_copy(update={"preflight": Wishes(waivers=waivers)})
    return preflight(replace(found, spec=spec), rules)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ((GOOD,), PASS),
        ((GOOD, WARNED), PASS),
        ((GOOD, UNTOLD), UNKNOWN),
        ((UNTOLD, BAD), FAIL),
    ],
)
def test_worst_result_is_that_of_the_whole(said: tuple[Said, ...], outcome: Outcome) -> None:
    assert judge(rule("a", *said)).outcome is outcome


def test_plan_that_no_rule_judged_is_unknown() -> None:
    assert judge(rule("silent")).outcome is UNKNOWN


def test_rule_that_breaks_down_is_unknown_and_the_others_still_speak() -> None:
    found = judge(crashing("a", GOOD), rule("b", GOOD))
    assert [(r.rule, r.standing) for r in found.results] == [
        ("a", "pass"),
        ("a", "unknown"),
        ("b", "pass"),
    ]
    assert "KeyError" in found.of("unknown")[0].said.what
    assert "\n" not in found.of("unknown")[0].said.what
    assert found.outcome is UNKNOWN


@pytest.mark.parametrize("said", [BAD, UNTOLD])
def test_open_waiver_lets_its_rule_through_and_no_other(said: Said) -> None:
    assert judge(rule("a", said), waivers=(waived("a"),)).outcome is PASS
    found = judge(rule("a", said), rule("b", said), waivers=(waived("a"),))
    assert next((r.rule, r.standing) for r in found.results) == ("a", "waived")
    assert found.outcome is said.outcome


def test_waiver_holds_on_its_last_day_and_not_on_the_next() -> None:
    yesterday = waived("a", TODAY.replace(day=TODAY.day - 1))
    assert judge(rule("a", BAD), waivers=(waived("a", TODAY),)).outcome is PASS
    late = judge(rule("a", BAD), waivers=(yesterday,))
    assert late.outcome is FAIL
    (warning,) = late.of("warning")
    assert warning.said.path == "preflight.waivers[0].until"


def test_open_waiver_counts_beside_an_expired_one_of_the_same_rule() -> None:
    old = waived("a", date(2020, 1, 1))
    found = judge(rule("a", BAD), waivers=(old, waived("a")))
    assert found.outcome is PASS
    assert [r.said.path for r in found.of("warning")] == ["preflight.waivers[0].until"]


def test_waiver_that_nothing_needs_is_a_warning() -> None:
    found = judge(rule("a", GOOD), waivers=(waived("a"),))
    assert found.outcome is PASS
    assert "nothing needs" in found.of("warning")[0].said.what


def test_waiver_of_a_misspelt_rule_is_a_warning_that_names_the_right_one() -> None:
    found = judge(rule("free-addresses", BAD), waivers=(waived("free-adresses"),))
    assert found.outcome is FAIL
    assert found.of("warning")[0].said.do == "Did you mean free-addresses?"


def test_counts_add_up_to_the_results() -> None:
    found = judge(rule("a", GOOD, BAD, UNTOLD, WARNED), rule("b", BAD), waivers=(waived("b"),))
    assert found.counts == {"fail": 1, "unknown": 1, "warning": 1, "waived": 1, "pass": 1}
    assert sum(found.counts.values()) == len(found.results)


def test_rule_ids_are_written_as_a_waiver_writes_them_and_each_once() -> None:
    assert set(Counter(rule.id for rule in ALL_RULES).values()) == {1}
    for each in ALL_RULES:
        assert waived(each.id).rule == each.id


def test_every_rule_speaks_of_a_real_plan_without_breaking_down() -> None:
    storage = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 9600, "throughput": 500}
    found = preflight(view(cluster(pool(), storage=[{**storage, "efa": True}])))
    assert not [r for r in found.results if "broke down" in r.said.what]
    assert found.outcome is FAIL  # it names no image
    assert "image-given" in {r.rule for r in found.of("fail")}
