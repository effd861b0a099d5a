"""Cards: what is not proved, grouped where many nodes have the same trouble."""

from __future__ import annotations

from muster.findings import Finding, Outcome
from muster.readiness import ComponentVerdict, NodeReadiness, Verdict
from muster.report.advice import component_kinds, say_component
from muster.report.problems import Problem, build_problems
from tests.unit.report import scenarios
from tests.unit.report.sample import (
    Sample,
    event,
    finding,
    judged,
    make_findings,
    make_fleet,
    make_readiness,
    put,
)


def problems_of(sample: Sample) -> tuple[Problem, ...]:
    return build_problems(
        sample.fleet, sample.readiness, sample.findings, sample.events, lambda _f, _p: None
    )


def a_sample(
    *findings: Finding,
    bad: dict[str, NodeReadiness] | None = None,
    parts: tuple[ComponentVerdict, ...] = (),
) -> Sample:
    fleet = make_fleet()
    known = make_findings(fleet)
    for new in findings:
        put(known, new)
    readiness = make_readiness(fleet, bad=bad, parts=parts, ready=False)
    return Sample(fleet=fleet, readiness=readiness, findings=tuple(known))


def test_healthy_run_has_no_card() -> None:
    assert problems_of(scenarios.healthy()) == ()


def test_quarantined_comes_before_untested() -> None:
    bad = {
        "gpu-1": judged("gpu-1", Verdict.UNTESTED, ""),
        "gpu-2": judged("gpu-2", Verdict.QUARANTINED, "node"),
    }
    assert [p.title for p in problems_of(a_sample(bad=bad))] == ["gpu-2", "gpu-1"]


def test_untested_node_without_any_finding_still_has_a_card() -> None:
    titles = [p.title for p in problems_of(scenarios.unknowns())]
    assert "gpu-8" in titles


def test_accepted_node_with_a_failed_check_is_not_hidden() -> None:
    (card,) = problems_of(a_sample(finding("gpu-4", "gpu-count", Outcome.FAIL)))
    assert (card.title, card.state, card.verdict) == ("gpu-4", "fail", "accepted")


def test_verdict_on_a_path_has_a_card_and_accuses_no_node() -> None:
    part = ComponentVerdict(component="leaf0-leaf1 path rail:0", verdict=Verdict.SUSPECT)
    (card,) = problems_of(a_sample(parts=(part,)))
    assert card.title == "leaf0-leaf1 path rail 0"
    assert card.state == "unknown"
    assert card.nodes == ()


def test_fleet_wide_unknown_has_a_card_though_no_component_is_named() -> None:
    (card,) = problems_of(a_sample(finding("", "group-allreduce", Outcome.UNKNOWN)))
    assert (card.title, card.state) == ("fleet", "unknown")


def test_accepted_component_has_no_card() -> None:
    part = ComponentVerdict(component="leaf:leaf0", verdict=Verdict.ACCEPTED)
    assert problems_of(a_sample(parts=(part,))) == ()


def test_three_alike_have_own_cards_and_four_share_one() -> None:
    def failing(count: int) -> Sample:
        names = [f"gpu-{n}" for n in range(1, count + 1)]
        found = [finding(n, "gpu-count", Outcome.FAIL, component="node") for n in names]
        return a_sample(*found, bad={n: judged(n, Verdict.QUARANTINED, "node") for n in names})

    assert len(problems_of(failing(3))) == 3
    (card,) = problems_of(failing(4))
    assert card.title == "4 nodes: gpu-1, gpu-2, gpu-3, gpu-4"
    assert [node for node, _ in card.others] == ["gpu-2", "gpu-3", "gpu-4"]
    assert any(step.command == "muster release lab NODE" for step in card.steps)


def test_only_events_of_the_node_are_on_its_card() -> None:
    sample = scenarios.slow_rail()
    (card,) = problems_of(sample)
    assert [e.kind for e in card.events] == ["drained"]
    assert event(1, "drained", node="gpu-4") not in card.events


def test_reason_that_repeats_the_summary_is_said_once() -> None:
    (card,) = problems_of(scenarios.slow_rail())
    assert card.reasons == ()
    assert card.exhibits[0].summary.startswith("rail 1 moves")


def test_numbers_say_value_peers_and_floor_with_its_source() -> None:
    (card,) = problems_of(scenarios.slow_rail())
    assert card.exhibits[0].numbers == (
        ("measured", "960 kB/s, −80 % against its peers (n = 16)"),  # noqa: RUF001
        ("peers' median", "4.79 MB/s"),
        ("floor", "4 MB/s (limits.yaml: lab rail)"),
    )


def test_run_cut_short_has_cards_for_what_was_found_only() -> None:
    sample = scenarios.cut_short()
    assert problems_of(sample) == ()
    bad = finding("gpu-2", "gpu-count", Outcome.FAIL)
    changed = Sample(fleet=sample.fleet, readiness=None, findings=(*sample.findings, bad))
    assert [p.title for p in problems_of(changed)] == ["gpu-2"]


def test_components_are_read_and_said() -> None:
    assert component_kinds("leaf:leaf1 rail:0") == (("leaf", "leaf1"), ("rail", "0"))
    assert say_component("rail:1 rail:3") == "rail 1 rail 3"
    assert say_component("gpu:6") == "GPU 6"
    assert say_component("node") == ""
    assert say_component("fleet") == "fleet"


def test_several_verdicts_on_the_fleet_share_a_card_with_the_worst_of_them() -> None:
    parts = (
        ComponentVerdict(component="fleet", verdict=Verdict.UNTESTED, evidence=("no all-reduce",)),
        ComponentVerdict(component="fleet", verdict=Verdict.SUSPECT, evidence=("all fail limits",)),
    )
    (card,) = problems_of(a_sample(parts=parts))
    assert card.verdict == "suspect"
    assert card.reasons == ("no all-reduce", "all fail limits")
