"""Does the processor compute as fast as those of its peers?"""

from __future__ import annotations

from collections.abc import Mapping

from muster.acceptance.bench import Bench, Gemm
from muster.acceptance.checks.against_peers import Yardstick, judge_rate
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "cpu-gemm"
_NUMBER_TYPE = "float64"


def rate(bench: Bench | Problem) -> float | Problem:
    """Take the rate of the matrix product out of a node's benchmarks."""
    if isinstance(bench, Problem):
        return bench
    gemm: Gemm | Problem = bench.gemm.get(_NUMBER_TYPE, Problem(f"no {_NUMBER_TYPE} product"))
    return gemm if isinstance(gemm, Problem) else gemm.flops_per_s


def judge(node: str, values: Mapping[str, float | Problem], yardstick: Yardstick) -> Finding:
    """Compare with nodes of the same processor."""
    return judge_rate(CHECK, node, values, yardstick, what=f"{_NUMBER_TYPE} matrix product")
