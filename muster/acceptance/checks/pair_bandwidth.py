"""Does the node reach its peers at their rate, on every rail?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.locate_model import NodeVerdict
from muster.findings import Finding
from muster.readiness import Verdict

CHECK = "pair-bandwidth"


def judge(verdict: NodeVerdict | None, *, median_bps: float | None, rails: int) -> Finding:
    """Put the node's verdict of `locate` into a finding; who is not settled is unknown."""
    if rails == 0:
        return passed(CHECK, "the node has no rails")
    if verdict is None:
        return unknown(CHECK, "the node took no part in pair tests")
    seen = {
        "value": verdict.effect,
        "unit": "deviation from the fleet's median",
        "n": verdict.rounds,
        "params": {"llr": verdict.llr, "median_bps": median_bps},
    }
    if verdict.verdict is Verdict.QUARANTINED:
        reason = verdict.reason or "pair tests are low"
        return failed(CHECK, reason, component=verdict.component or "node", **seen)
    if verdict.verdict is Verdict.ACCEPTED:
        return passed(
            CHECK, f"{verdict.effect:+.1%} of the median in {verdict.rounds} rounds", **seen
        )
    return unknown(CHECK, verdict.reason or f"pair tests say {verdict.verdict}", **seen)
