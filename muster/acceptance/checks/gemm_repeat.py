"""Does the processor compute the same thing twice, bit for bit?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from muster.acceptance.bench import Bench, Gemm
from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "gemm-repeat"
_REPEATS_MIN = 2
_PEERS_MIN = 3


def judge(node: str, benches: Mapping[str, Bench | Problem]) -> Finding:
    """Compare all products of the node, then its first with those of equal nodes."""
    own = benches.get(node, Problem("it was not measured"))
    if isinstance(own, Problem):
        return unknown(CHECK, f"products were not compared: {own.text}")
    lacking = [f"{kind}: {g.text}" for kind, g in own.gemm.items() if isinstance(g, Problem)]
    gemms = {kind: g for kind, g in own.gemm.items() if isinstance(g, Gemm)}
    wrong = {kind: g for kind, g in gemms.items() if g.mismatches}
    if wrong:
        what = ", ".join(f"{g.mismatches} of {g.repeats} {kind}" for kind, g in wrong.items())
        return failed(CHECK, f"{what} products differ from the first", component="node")
    alone = [kind for kind, g in gemms.items() if _differs_from_peers(kind, g, node, benches)]
    if alone:
        what = f"{', '.join(alone)} product differs from that of all equal nodes"
        return failed(CHECK, what, component="node")
    if lacking or not gemms:
        return unknown(CHECK, f"products were not compared: {'; '.join(lacking) or 'none'}")
    repeats = min(g.repeats for g in gemms.values())
    if repeats < _REPEATS_MIN:
        return unknown(CHECK, f"only {repeats} product was computed")
    return passed(CHECK, f"{repeats} products or more equal bit for bit", n=repeats)


def _differs_from_peers(
    kind: str, own: Gemm, node: str, benches: Mapping[str, Bench | Problem]
) -> bool:
    """Same processor, library and size must give the same bits; too few peers decide nothing."""
    votes: Counter[str] = Counter()
    for name, bench in benches.items():
        gemm = None if isinstance(bench, Problem) or name == node else bench.gemm.get(kind)
        if isinstance(gemm, Gemm) and gemm.recipe == own.recipe:
            votes[gemm.sha256] += 1
    return len(votes) == 1 and votes.total() >= _PEERS_MIN and own.sha256 not in votes
