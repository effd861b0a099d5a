"""What is shown of a file of evidence."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from muster.report.excerpt import LINES_MAX, excerpt_about, pair_table
from muster.report.links import measure_links
from muster.report.reason import lead_of
from tests.unit.report.sample import make_fleet, make_pairs

FLEET = make_fleet()


def test_lines_about_the_finding_are_found_in_a_long_log() -> None:
    lines = [f"line {n}" for n in range(200)]
    lines[120] = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus"
    shown = excerpt_about("\n".join(lines), "gpu-xid Xid 79: GPU has fallen off the bus")
    assert "fallen off the bus" in shown.text
    assert shown.lines_cut == 200 - LINES_MAX


def test_start_is_shown_where_nothing_matches() -> None:
    shown = excerpt_about("\n".join(f"line {n}" for n in range(50)), "gpu-count six found")
    assert shown.text.startswith("line 0\n")


def test_json_on_one_line_is_laid_out_around_what_matters() -> None:
    facts = {f"thing{n}": n for n in range(100)} | {"limits": {"memlock": 8388608, "nofile": 1024}}
    shown = excerpt_about(json.dumps(facts), "limits: locked memory is limited to 8388608 B")
    assert ' "limits": {' in shown.text
    assert '"memlock": 8388608' in shown.text


def test_output_kept_inside_json_is_shown_as_lines() -> None:
    text = json.dumps({"stdout": 'first line\nsecond "quoted" line'})
    assert 'second "quoted" line' in excerpt_about(text, "").text.splitlines()[2]


def test_json_cut_short_is_shown_as_it_is() -> None:
    assert excerpt_about('{"a": 1, "b', "").text == '{"a": 1, "b'


def test_very_long_line_is_cut_and_marked() -> None:
    assert excerpt_about("x" * 10_000, "").text.endswith("x …")


@given(text=st.text(), about=st.text())
def test_any_text_gives_a_short_excerpt(text: str, about: str) -> None:
    shown = excerpt_about(text, about)
    assert shown.lines_cut >= 0
    assert len(shown.text.split("\n")) <= LINES_MAX


def test_pair_table_has_the_slowest_tests_of_the_node_first() -> None:
    pairs = make_pairs(FLEET, slow={("gpu-3", 1): 0.2})
    table = pair_table("gpu-3", pairs, measure_links(pairs, FLEET.leaves())).text.splitlines()
    assert len(table) == 1 + 2 * 8
    assert all(line.split()[1] == "1" and "−80 %" in line for line in table[1:9])  # noqa: RUF001
    assert "gpu-1" not in "".join(table)


def test_invalid_pair_test_is_first_and_has_no_value() -> None:
    pairs = [replace(p, valid=p.round != 2) for p in make_pairs(FLEET)]
    table = pair_table("gpu-3", pairs, measure_links(pairs, FLEET.leaves())).text.splitlines()
    assert table[1].split()[:5] == ["2", "0", "gpu-4", "intra", "invalid"]


def test_short_reason_is_whole_and_long_one_gives_its_lead() -> None:
    assert lead_of("7 of 8; gpu-3 quarantined") == "7 of 8; gpu-3 quarantined"
    assert lead_of("0 of 8 accepted; " + "gpu-1 suspect; " * 30) == "0 of 8 accepted"
