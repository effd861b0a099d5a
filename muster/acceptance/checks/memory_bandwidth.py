"""Does memory move bytes as fast as that of its peers, and unchanged?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.bench import Bench
from muster.acceptance.checks.against_peers import Yardstick, judge_rate
from muster.acceptance.checks.outcome import failed
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "memory-bandwidth"


def rate(bench: Bench | Problem) -> float | Problem:
    """Take the rate of the copy out of a node's benchmarks."""
    return bench if isinstance(bench, Problem) else bench.memory_bps


def judge(
    node: str, values: Mapping[str, float | Problem], yardstick: Yardstick, *, equal: bool
) -> Finding:
    """Compare with nodes of the same processor; a copy that differs fails whatever its rate."""
    if not equal:
        return failed(CHECK, "a copy in memory differs from its source", component="node")
    return judge_rate(CHECK, node, values, yardstick, what="copy in memory")
