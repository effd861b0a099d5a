"""Each measuring check says pass, fail or unknown; a broken test is never a slow node."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.acceptance.bench import Bench, better, parse_bench
from muster.acceptance.checks import (
    cpu_gemm,
    disk_throughput,
    gemm_repeat,
    group_allreduce,
    memory_bandwidth,
    pair_bandwidth,
    pair_retransmits,
)
from muster.acceptance.checks.against_peers import Yardstick
from muster.acceptance.checks.group_allreduce import AllReduce, parse_allreduce
from muster.acceptance.facts import Problem
from muster.acceptance.fio import DiskRates, parse_fio
from muster.acceptance.locate_model import NodeVerdict
from muster.findings import Finding, Outcome
from muster.readiness import Verdict
from tests.unit.acceptance.documents import bench_text, load

PROBLEM = Problem("the node wrote no result")
YARDSTICK = Yardstick(unit="B/s", tolerance=0.25)
NODES = ("n0", "n1", "n2", "n3")


def bench(**changes: Any) -> Bench:
    parsed = parse_bench(bench_text(**changes))
    assert isinstance(parsed, Bench), parsed
    return parsed


def fleet(own: Bench | Problem) -> dict[str, Bench | Problem]:
    return {"n0": own, **{name: bench() for name in NODES[1:]}}


def judge_gemm(benches: Mapping[str, Bench | Problem]) -> Finding:
    return cpu_gemm.judge("n0", {n: cpu_gemm.rate(b) for n, b in benches.items()}, YARDSTICK)


def judge_memory(benches: Mapping[str, Bench | Problem]) -> Finding:
    rates = {n: memory_bandwidth.rate(b) for n, b in benches.items()}
    return memory_bandwidth.judge("n0", rates, YARDSTICK, equal=True)


def judge_disk(benches: Mapping[str, Bench | Problem]) -> Finding:
    rates = {n: disk_throughput.rates(b) for n, b in benches.items()}
    return disk_throughput.judge("n0", rates, YARDSTICK)


JUDGES = pytest.mark.parametrize("judge", [judge_gemm, judge_memory, judge_disk])


@JUDGES
def test_a_node_as_fast_as_its_peers_passes(judge: Any) -> None:
    finding = judge(fleet(bench()))
    assert finding.outcome is Outcome.PASS
    assert finding.value == finding.peers_median


@JUDGES
def test_a_node_at_half_its_peers_rate_fails(judge: Any) -> None:
    finding = judge(fleet(bench(slow=2, disk=2)))
    assert (finding.outcome, finding.component) == (Outcome.FAIL, "node")
    assert finding.value < 0.6 * finding.peers_median


@JUDGES
def test_a_node_that_wrote_nothing_is_unknown(judge: Any) -> None:
    assert judge(fleet(PROBLEM)).outcome is Outcome.UNKNOWN


@JUDGES
def test_without_peers_and_floor_nothing_is_known(judge: Any) -> None:
    assert judge({"n0": bench()}).outcome is Outcome.UNKNOWN


@JUDGES
def test_a_faster_node_passes(judge: Any) -> None:
    assert judge(fleet(bench(slow=0.5, disk=0.5))).outcome is Outcome.PASS


def test_without_peers_the_floor_decides() -> None:
    floored = Yardstick(unit="B/s", tolerance=0.25, floor=1.0, floor_source="test")
    finding = cpu_gemm.judge("n0", {"n0": 2.0}, floored)
    assert (finding.outcome, finding.floor) == (Outcome.PASS, 1.0)
    assert cpu_gemm.judge("n0", {"n0": 0.5}, floored).outcome is Outcome.FAIL


def test_a_copy_that_differs_fails_at_any_rate() -> None:
    assert memory_bandwidth.judge("n0", {}, YARDSTICK, equal=False).outcome is Outcome.FAIL


def test_the_worse_of_write_and_read_decides() -> None:
    good, bad = DiskRates(write_bps=1e8, read_bps=1e8), DiskRates(write_bps=1e8, read_bps=1e7)
    finding = disk_throughput.judge("n0", {"n0": bad, "a": good, "b": good, "c": good}, YARDSTICK)
    assert finding.outcome is Outcome.FAIL
    assert "read" in finding.summary
    assert finding.params == {"write": 1e8, "read": 1e7}


def mismatch(document: dict[str, Any]) -> None:
    document["gemm"][1]["mismatches"] = 1


def other_bits(document: dict[str, Any]) -> None:
    document["gemm"][1]["sha256"] = "ff"


def no_numpy(document: dict[str, Any]) -> None:
    document["gemm"][0] = {"error": "ModuleNotFoundError: No module named 'numpy'"}


def test_equal_products_pass() -> None:
    assert gemm_repeat.judge("n0", fleet(bench())).outcome is Outcome.PASS


def test_one_product_that_differs_fails() -> None:
    assert gemm_repeat.judge("n0", fleet(bench(change=mismatch))).outcome is Outcome.FAIL


def test_bits_unlike_those_of_all_equal_nodes_fail() -> None:
    assert gemm_repeat.judge("n0", fleet(bench(change=other_bits))).outcome is Outcome.FAIL


def test_two_nodes_that_differ_decide_nothing() -> None:
    benches = {"n0": bench(change=other_bits), "n1": bench()}
    assert gemm_repeat.judge("n0", benches).outcome is Outcome.PASS


@pytest.mark.parametrize("own", [PROBLEM, bench(change=no_numpy)])
def test_products_that_were_not_computed_are_unknown(own: Bench | Problem) -> None:
    assert gemm_repeat.judge("n0", fleet(own)).outcome is Outcome.UNKNOWN


def test_of_two_tries_the_faster_counts() -> None:
    both = better(bench(slow=2, disk=3), bench())
    assert judge_gemm(fleet(both)).outcome is Outcome.PASS
    assert judge_disk(fleet(both)).outcome is Outcome.PASS


def test_a_mismatch_is_not_forgiven_by_a_second_try() -> None:
    both = better(bench(change=mismatch), bench())
    assert gemm_repeat.judge("n0", fleet(both)).outcome is Outcome.FAIL


def test_a_second_try_that_broke_does_not_hide_the_first() -> None:
    first = bench(slow=2)
    assert better(first, PROBLEM) is first
    assert better(None, PROBLEM) is PROBLEM
    assert better(PROBLEM, first) is first


@pytest.mark.parametrize("text", [None, "", "{}", "[1]", bench_text()[:300]])
def test_output_that_is_no_benchmark_is_a_problem(text: str | None) -> None:
    assert isinstance(parse_bench(text), Problem)


def fio(**changes: Any) -> str:
    document = load("fio.json")
    document["jobs"][0].update(changes)
    return json.dumps(document)


def test_fio_is_read_with_warnings_before_it() -> None:
    rates = parse_fio(f"fio: a warning\n{fio()}", 0)
    assert isinstance(rates, DiskRates)
    assert rates.write_bps > 0


@pytest.mark.parametrize(
    ("text", "rc"),
    [
        (fio(), 1),
        (fio()[:100], 0),
        ("", 0),
        (fio(error=5), 0),
        (fio(jobname="other"), 0),
        (fio(write={"io_bytes": 0, "bw_bytes": 0, "runtime": 0}), 0),
        (fio(write={"io_bytes": 1 << 20, "bw_bytes": 1 << 40, "runtime": 1000}), 0),
    ],
)
def test_fio_that_failed_was_cut_or_lies_is_a_problem(text: str, rc: int) -> None:
    assert isinstance(parse_fio(text, rc), Problem)


@given(st.text(max_size=100))
def test_any_text_gives_rates_or_a_problem(text: str) -> None:
    assert isinstance(parse_fio(text, 0), DiskRates | Problem)


def located(verdict: Verdict, component: str = "") -> NodeVerdict:
    return NodeVerdict(verdict=verdict, component=component, effect=-0.2, rounds=8, reason="why")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (located(Verdict.ACCEPTED), (Outcome.PASS, "")),
        (located(Verdict.QUARANTINED, "rail:1"), (Outcome.FAIL, "rail:1")),
        (located(Verdict.SUSPECT, "node"), (Outcome.UNKNOWN, "")),
        (located(Verdict.UNTESTED), (Outcome.UNKNOWN, "")),
        (None, (Outcome.UNKNOWN, "")),
    ],
)
def test_who_is_not_settled_is_unknown(
    found: NodeVerdict | None, expected: tuple[Outcome, str]
) -> None:
    finding = pair_bandwidth.judge(found, median_bps=4.8e6, rails=2)
    assert (finding.outcome, finding.component) == expected


def test_a_node_without_rails_has_no_pairs() -> None:
    assert pair_bandwidth.judge(None, median_bps=None, rails=0).outcome is Outcome.PASS


LOSSY = {"n0": {0: 0.0, 1: 300.0}, "n1": {0: 0.0, 1: 1.0}, "n2": {0: 1.0, 1: 0.0}}


def test_loss_on_a_rail_of_the_blamed_node_fails() -> None:
    finding = pair_retransmits.judge("n0", LOSSY, limit=20, blamed=True)
    assert (finding.outcome, finding.component) == (Outcome.FAIL, "rail:1")


def test_a_partner_of_a_lossy_node_is_not_blamed() -> None:
    assert pair_retransmits.judge("n0", LOSSY, limit=20, blamed=False).outcome is Outcome.PASS
    assert pair_retransmits.judge("n1", LOSSY, limit=20, blamed=True).outcome is Outcome.PASS


def test_without_a_valid_test_loss_is_unknown() -> None:
    assert pair_retransmits.judge("n9", LOSSY, limit=20, blamed=False).outcome is Outcome.UNKNOWN


LINE = {
    "program": "muster-allreduce",
    "ranks": 2,
    "bytes": 1000,
    "busbw": 5e6,
    "wrong": 0,
    "hosts": ["n0", "n1"],
    "wrong_hosts": [],
}


def reduced(**changes: Any) -> Finding:
    result = parse_allreduce(json.dumps(LINE | changes))
    return group_allreduce.judge(result, nodes=["n0", "n1"])


def test_right_sums_on_the_right_nodes_pass() -> None:
    assert reduced().outcome is Outcome.PASS


def test_a_wrong_sum_fails() -> None:
    finding = reduced(wrong=3, wrong_hosts=["n1"])
    assert (finding.outcome, finding.component) == (Outcome.FAIL, "fleet")


@pytest.mark.parametrize(
    "changes",
    [{"ranks": 1}, {"hosts": ["n0", "n9"]}, {"hosts": ["n0", "n0"]}, {"ranks": 1, "wrong": 3}],
)
def test_another_set_of_ranks_is_no_test_of_these_nodes(changes: dict[str, Any]) -> None:
    assert reduced(**changes).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "text", ["", json.dumps(LINE)[:60], f"{json.dumps(LINE)}\n{json.dumps(LINE)}", "srun: error"]
)
def test_singletons_and_cut_output_are_unknown(text: str) -> None:
    result = parse_allreduce(text)
    assert isinstance(result, Problem)
    assert group_allreduce.judge(result, nodes=["n0"]).outcome is Outcome.UNKNOWN


def test_noise_around_the_line_is_ignored() -> None:
    assert isinstance(parse_allreduce(f"srun: job 1\n{json.dumps(LINE)}\nbye"), AllReduce)
