"""Does the node's own disk write and read as fast as those of its peers?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.bench import Bench
from muster.acceptance.checks.against_peers import Yardstick, judge_rate
from muster.acceptance.facts import Problem
from muster.acceptance.fio import DiskRates
from muster.findings import Finding, Outcome

CHECK = "disk-throughput"
_WORST_FIRST = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS)


def rates(bench: Bench | Problem) -> DiskRates | Problem:
    """Take both rates out of a node's benchmarks."""
    return bench if isinstance(bench, Problem) else bench.disk


def judge(node: str, values: Mapping[str, DiskRates | Problem], yardstick: Yardstick) -> Finding:
    """Judge writing and reading; the worse of both is what is said, both are kept."""
    writes = {n: v if isinstance(v, Problem) else v.write_bps for n, v in values.items()}
    reads = {n: v if isinstance(v, Problem) else v.read_bps for n, v in values.items()}
    both = [
        judge_rate(CHECK, node, writes, yardstick, what="disk write"),
        judge_rate(CHECK, node, reads, yardstick, what="disk read"),
    ]
    worst = min(both, key=lambda finding: _WORST_FIRST.index(finding.outcome))
    return worst.model_copy(update={"params": {"write": both[0].value, "read": both[1].value}})
