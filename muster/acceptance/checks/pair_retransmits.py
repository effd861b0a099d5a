"""Does anything on the node's links have to be sent again? Loss barely shows in the rate."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from muster.acceptance.checks.outcome import failed, one_part, passed, unknown
from muster.findings import Finding

CHECK = "pair-retransmits"


def judge(
    node: str, counts: Mapping[str, Mapping[int, float]], *, limit: float, blamed: bool
) -> Finding:
    """Compare the node's median count per test, by rail, with its peers'.

    `counts`: {node: {rail: median count of its valid tests}}. A partner of a lossy node counts
    some, too: only a node that `locate` blames (`blamed`) fails.
    """
    own = counts.get(node)
    if not own:
        return unknown(CHECK, "no valid pair test counted retransmits")
    high, worst = [], 0.0
    for rail, count in own.items():
        peers = [found[rail] for name, found in counts.items() if name != node and rail in found]
        worst = max(worst, count)
        if peers and count > median(peers) + limit:
            high.append(rail)
    seen = {"value": worst, "unit": "retransmits per test", "floor": limit, "n": len(counts)}
    if high and blamed:
        what = (
            f"{worst:g} retransmits per test on rail {', '.join(map(str, high))}; peers have fewer"
        )
        return failed(CHECK, what, component=one_part("rail", high), **seen)
    return passed(CHECK, f"at most {worst:g} retransmits in the usual test", **seen)
