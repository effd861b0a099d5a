"""The HTML report: complete, self-contained, safe, and loud about what is not proved."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.findings import Outcome
from muster.readiness import Verdict
from tests.unit.report import scenarios
from tests.unit.report.sample import (
    Sample,
    event,
    finding,
    html_of,
    judged,
    make_findings,
    make_fleet,
    make_readiness,
    put,
)

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}]]>"
_VOID = {"meta", "link", "br", "img", "input", "hr"}
_ADDRESS_ATTRIBUTES = {"src", "href", "action", "data", "poster", "srcset", "xlink:href"}


class _Page(HTMLParser):
    """Tags with their attributes, text by tag, and whether all tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of order"

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    page.close()
    assert not page.open, f"never closed: {page.open}"
    return page


def with_class(page: _Page, *names: str) -> list[dict[str, str | None]]:
    wanted = set(names)
    return [a for _, a in page.tags if wanted <= set((a.get("class") or "").split())]


@pytest.mark.parametrize("name", scenarios.ALL)
def test_page_is_well_formed(name: str) -> None:
    read(html_of(scenarios.ALL[name]()))


@pytest.mark.parametrize("name", scenarios.ALL)
def test_page_asks_nothing_of_the_network(name: str) -> None:
    html = html_of(scenarios.ALL[name]())
    for _, attributes in read(html).tags:
        for attribute in _ADDRESS_ATTRIBUTES & set(attributes):
            assert (attributes[attribute] or "").startswith("#")
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_links_within_the_page_lead_somewhere() -> None:
    page = read(html_of(scenarios.unknowns()))
    ids = {a["id"] for _, a in page.tags if "id" in a}
    targets = {(a["href"] or "")[1:] for tag, a in page.tags if tag == "a"}
    assert targets
    assert targets <= ids


def test_ready_run_says_ready_and_shows_no_problem() -> None:
    html = html_of(scenarios.healthy())
    assert "<h1>Ready</h1>" in html
    assert 'class="problem' not in html
    assert not with_class(read(html), "cell", "fail")


def test_slow_rail_is_marked_in_the_fabric_on_that_rail_alone() -> None:
    page = read(html_of(scenarios.slow_rail()))
    assert len(with_class(page, "link", "bad", "named")) == 1
    assert len(with_class(page, "link", "bad")) == 1
    assert len(with_class(page, "link", "good")) == 2 * 8 + 2 * 4 - 1


def test_bad_thing_comes_with_command_evidence_action_and_next_step() -> None:
    html = html_of(scenarios.slow_rail())
    assert "pair_test.py --rail 1" in html
    assert "&#34;bits_per_second&#34;: 7681000.0" in html
    assert "muster:pair-bandwidth:quarantined" in html
    assert "muster release lab gpu-3" in html
    assert "docs/checks/pair-bandwidth.md" in html


def test_slow_uplink_blames_the_leaf_and_draws_no_node_as_bad() -> None:
    html = html_of(scenarios.slow_uplink())
    page = read(html)
    assert len(with_class(page, "link", "bad", "named")) == 1
    assert len(with_class(page, "box", "leaf", "fail")) == 1
    assert not with_class(page, "box", "node", "fail")
    assert "No node is to blame" in html


def test_unknown_is_a_card_and_a_cell_as_loud_as_a_fail() -> None:
    page = read(html_of(scenarios.unknowns()))
    assert len(with_class(page, "problem", "unknown")) == 2
    assert len(with_class(page, "cell", "unknown")) == 1
    assert len(with_class(page, "box", "node", "unknown")) == 2


def test_every_state_has_a_symbol_beside_its_colour() -> None:
    html = html_of(scenarios.unknowns()) + html_of(scenarios.slow_rail())
    cells = set(re.findall(r'class="cell (\w+)"[^>]*>([^<]+)<', html))
    assert len({symbol for _, symbol in cells}) == len(cells) == 5


def test_waived_finding_shows_reason_and_date_and_is_not_a_pass() -> None:
    html = html_of(scenarios.unknowns())
    assert "Waived: no shared disk in this rack yet (until 2026-12-01)" in html
    assert len(with_class(read(html), "cell", "waived")) == 1


def test_check_that_never_ran_on_a_node_is_shown_as_absent() -> None:
    page = read(html_of(scenarios.unknowns()))
    assert len(with_class(page, "cell", "absent")) == 13


def test_run_cut_short_says_so_and_where() -> None:
    html = html_of(scenarios.cut_short())
    assert "<h1>No verdict</h1>" in html
    assert "cut short before it reached a verdict" in html
    assert "Last seen: stage-begun at 09:30:07 UTC" in html
    assert "<h1>Ready</h1>" not in html


def test_run_that_found_nothing_at_all_still_gives_a_page() -> None:
    fleet = make_fleet(nodes=2)
    html = html_of(Sample(fleet=fleet, readiness=None, findings=()))
    read(html)
    assert "No check left a finding" in html
    assert "No link was measured" in html


def test_hostile_text_stays_text_everywhere() -> None:
    fleet = make_fleet(nodes=4)
    findings = make_findings(fleet)
    bad = finding(
        "gpu-2",
        "gpu-health",
        Outcome.FAIL,
        component="gpu:<b>",
        summary=HOSTILE,
        cmd=HOSTILE,
        unit=HOSTILE,
        value=1.0,
        floor=2.0,
        floor_source=HOSTILE,
        evidence=("evidence/" + HOSTILE,),
        stage=HOSTILE,
        shape=HOSTILE,
        params={"waiver": HOSTILE, "rail": HOSTILE},
    )
    put(findings, bad)
    judged_bad = judged("gpu-2", Verdict.QUARANTINED, HOSTILE, HOSTILE)
    sample = Sample(
        fleet=fleet.model_copy(update={"stack": HOSTILE, "target": HOSTILE}),
        readiness=make_readiness(fleet, bad={"gpu-2": judged_bad}, ready=False, reason=HOSTILE),
        findings=tuple(findings),
        events=(event(1, HOSTILE, node="gpu-2", reason=HOSTILE),),
        evidence={"evidence/" + HOSTILE: HOSTILE},
    )
    html = html_of(sample)
    page = read(html)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, a in page.tags for name in a)
    assert "{{ 7*7 }}" in html


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(min_size=1))
def test_any_text_leaves_the_page_well_formed(text: str) -> None:
    fleet = make_fleet(nodes=2)
    unknown = finding("gpu-1", "gpu-count", Outcome.UNKNOWN, summary=text, cmd=text)
    readiness = make_readiness(fleet, reason=text)
    sample = Sample(fleet=fleet, readiness=readiness, findings=(unknown,))
    tags = {tag for tag, _ in read(html_of(sample)).tags}
    assert "h1" in tags


def test_script_on_the_page_is_the_one_that_the_policy_allows() -> None:
    import base64  # noqa: PLC0415 - used here alone
    import hashlib  # noqa: PLC0415

    html = html_of(scenarios.healthy())
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_many_nodes_fold_into_one_line_and_few_cards() -> None:
    html = html_of(scenarios.many())
    page = read(html)
    assert "59 nodes are accepted and passed all of their checks" in html
    assert len(with_class(page, "problem")) == 1
    assert "5 nodes: gpu-9, gpu-17, gpu-33, gpu-34, gpu-50" in html
    assert "The same on 4 more nodes" in html
    assert len(with_class(page, "box", "card")) == 8
    assert len(with_class(page, "box", "cell")) == 64 * 4 + 8 * 4


def test_unknown_node_is_never_folded_away_among_the_good() -> None:
    sample = scenarios.many()
    findings = list(sample.findings)
    findings.append(finding("gpu-60", "gpu-xid", Outcome.UNKNOWN, summary="no journal"))
    html = html_of(replace(sample, findings=tuple(findings)))
    folded = html.index("<details>\n<summary><span")
    assert 'data-node="gpu-60"' in html[:folded]
    assert 'data-node="gpu-60"' not in html[folded:]


def test_five_hundred_nodes_stay_below_two_megabytes() -> None:
    html = html_of(scenarios.many(nodes=512, per_leaf=16, rails=8))
    assert len(html) < 2_000_000


def test_untested_alone_is_not_proved_ready_rather_than_bad() -> None:
    html = html_of(scenarios.unknowns())
    assert "<h1>Not proved ready</h1>" in html
    assert '<header class="banner unknown">' in html


def test_one_quarantined_node_among_untested_is_not_ready() -> None:
    bad = {
        "gpu-1": judged("gpu-1", Verdict.UNTESTED, ""),
        "gpu-2": judged("gpu-2", Verdict.QUARANTINED, "node"),
    }
    fleet = make_fleet()
    readiness = make_readiness(fleet, bad=bad, ready=False)
    html = html_of(Sample(fleet=fleet, readiness=readiness, findings=()))
    assert "<h1>Not ready</h1>" in html


def test_event_without_a_reason_is_shown_by_what_it_did() -> None:
    sample = scenarios.slow_rail()
    events = (*sample.events, event(80, "reserved", nodes=["gpu-3"]), event(81, "step", rc=0))
    html = html_of(replace(sample, events=events))
    assert "kept in the reservation, out of users&#39; reach</li>" in html


def test_step_of_all_nodes_is_in_the_timeline_and_on_no_card() -> None:
    sample = scenarios.slow_rail()
    names = [node.name for node in sample.fleet.nodes]
    html = html_of(replace(sample, events=(event(1, "step", nodes=names, rc=0),)))
    assert html.count("<li>Nothing.</li>") == 1
    assert '<th scope="row">step</th>' in html


def test_long_reason_is_led_by_its_first_part_and_kept_whole_below() -> None:
    sample = scenarios.many()
    assert sample.readiness
    reason = "59 of 64 nodes accepted; " + "; ".join(f"gpu-{n} suspect" for n in range(40))
    readiness = sample.readiness.model_copy(update={"reason": reason})
    html = html_of(replace(sample, readiness=readiness))
    assert '<p class="reason">59 of 64 nodes accepted</p>' in html
    assert reason in html


def test_check_of_the_fleet_as_a_whole_is_listed_with_its_outcome() -> None:
    sample = scenarios.healthy()
    whole = finding("", "group-allreduce", summary="8 ranks, all sums right")
    html = html_of(replace(sample, findings=(*sample.findings, whole)))
    place = html.index("8 ranks, all sums right")
    assert '<span class="mark pass">✓</span><code>group-allreduce</code> ' in html[:place]
