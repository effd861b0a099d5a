"""Is a node that stood out on one rail really at fault? Evidence added up test by test. Pure.

A slow part shows in the median of a node's tests; a part that fails now and then shows only in how
often single tests are low, which Wald's sequential test weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import median

from muster.acceptance.effects import Effect, Limit, Sample
from muster.acceptance.locate_model import Policy
from muster.acceptance.rail_study import RailStudy, Study
from muster.readiness import Verdict

EVENT_RATE_RANGE = (0.005, 0.15)
"""The fleet's own rate of low events is never taken as lower or higher than this."""

EVENT_PRIOR = (1, 20)
"""Low events and tests counted beside those seen: a small fleet cannot show a low rate."""

OUTLIER_SHARE = 0.03
"""So many of the nodes, and one at least, may fail now and then without setting the usual rate."""

CLEARED_LLR = 2.0
"""Evidence left after all confirming rounds that is too little to hold a node back: with one faulty
node in a hundred, odds of 13 to 1 that it is good."""

LOW_ROUNDS_MIN = 3
"""Low events in fewer rounds may be one disturbance, however low they were."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What follows for one node on one rail."""

    verdict: Verdict
    settled: bool = True
    """False where a further test could change the verdict."""
    by_floor: bool = False
    """Peers cannot judge the node; only a floor can."""
    effect: float = 0.0
    llr: float = 0.0
    n: int = 0
    reason: str = ""


def event_rate(study: Study, policy: Policy) -> float:
    """Return the fleet's rate of low events among tests that nothing explains.

    The nodes with the most low events are left out, so that a node which fails now and then does
    not pass for what is usual.
    """
    limit = _event_limit(study, policy)
    by_node = {
        node: study.explainer.clean(node, study.effects)
        for node in study.explainer.tests
        if node not in study.effects.low_nodes
    }
    low = {node: sum(t.deviation < -limit for t in tests) for node, tests in by_node.items()}
    ranked = sorted(by_node, key=lambda node: -low[node])
    outliers = set(ranked[: max(1, int(OUTLIER_SHARE * len(ranked)))])
    usual = [
        test.deviation < -limit
        for node in ranked
        if node not in outliers
        for test in by_node[node]
        if test.partner(node) not in outliers
    ]
    lows, tests = EVENT_PRIOR
    least, most = EVENT_RATE_RANGE
    return min(max((sum(usual) + lows) / (len(usual) + tests), least), most)


def judge(
    node: str, rail: RailStudy, *, usual_rate: float, policy: Policy, screening: int
) -> Judgement:
    """Judge one node on one rail; rounds from `screening` on are confirming ones."""
    study = rail.throughput
    effect = study.effects.nodes.get(node) if study else None
    if study is None or effect is None:
        return Judgement(verdict=Verdict.UNTESTED, by_floor=True)
    by_counter = _judge_counters(node, rail, policy=policy, screening=screening)
    by_speed = _judge_speed(
        node, study, effect, usual_rate=usual_rate, policy=policy, screening=screening
    )
    if by_counter and by_speed.verdict is not Verdict.QUARANTINED:
        verdict, settled, reason = by_counter
        return Judgement(
            verdict=verdict,
            settled=settled,
            effect=effect.value,
            llr=by_speed.llr,
            n=effect.tests,
            reason=reason,
        )
    return by_speed


def _judge_speed(
    node: str,
    study: Study,
    effect: Effect,
    *,
    usual_rate: float,
    policy: Policy,
    screening: int,
) -> Judgement:
    explainer, found = study.explainer, study.effects
    tests = explainer.clean(node, found)
    confirming = [test for test in tests if test.round >= screening]
    event = _event_limit(study, policy)
    low = [test for test in tests if test.deviation < -event]
    llr = _llr(len(low), len(tests), usual_rate, policy)
    slow = node in found.low_nodes
    watched = Limit(sigmas=policy.watch_sigmas, least=policy.watch_fraction)
    standing_out = effect.value < -watched.at(explainer.sigma, effect.partners) or llr > (
        CLEARED_LLR if len(confirming) >= policy.confirm_rounds else 0
    )
    enough = len(confirming) >= policy.confirm_tests_min
    slow_again = enough and _median(confirming) < -explainer.node_limit.at(
        explainer.sigma, len(confirming)
    )
    often_low = (
        llr > log((1 - policy.miss) / policy.false_alarm)
        and len({test.round for test in low}) >= LOW_ROUNDS_MIN
        and any(test.deviation < -event for test in confirming)
    )
    figures = f"{effect.value:+.1%} against {effect.tests} tests with good partners"
    if slow and slow_again:
        return _judgement(Verdict.QUARANTINED, effect, llr, f"slow: {figures}, confirmed")
    if enough and often_low:
        reason = f"low in {len(low)} of {len(tests)} tests with good partners, median {figures}"
        return _judgement(Verdict.QUARANTINED, effect, llr, reason)
    if not standing_out:
        return _judgement(Verdict.ACCEPTED, effect, llr, "")
    reason = f"stands out: {figures}, low in {len(low)} of {len(tests)}; not confirmed"
    return _judgement(Verdict.SUSPECT, effect, llr, reason, settled=False)


def _judge_counters(
    node: str, rail: RailStudy, *, policy: Policy, screening: int
) -> tuple[Verdict, bool, str] | None:
    for name, study in rail.counters.items():
        effect = study.effects.nodes.get(node)
        slow_anyway = rail.throughput and node in rail.throughput.effects.low_nodes
        if effect is None or slow_anyway or node not in study.effects.low_nodes:
            continue
        usual = rail.counter_usual[name]
        reason = f"{name}: {usual - effect.value:.0f} per test, peers {usual:.0f}"
        tests = study.explainer.clean(node, study.effects)
        confirming = [test for test in tests if test.round >= screening]
        limit = study.explainer.node_limit.at(study.explainer.sigma, len(confirming))
        if len(confirming) >= policy.confirm_tests_min and _median(confirming) < -limit:
            return Verdict.QUARANTINED, True, f"{reason}, confirmed"
        return Verdict.SUSPECT, False, f"{reason}; not confirmed"
    return None


def _judgement(
    verdict: Verdict, effect: Effect, llr: float, reason: str, *, settled: bool = True
) -> Judgement:
    return Judgement(
        verdict=verdict,
        settled=settled,
        effect=effect.value,
        llr=llr,
        n=effect.tests,
        reason=reason,
    )


def _event_limit(study: Study, policy: Policy) -> float:
    return max(policy.event_sigmas * study.explainer.sigma, policy.event_fraction)


def _llr(low: int, tests: int, usual_rate: float, policy: Policy) -> float:
    """Weigh low events of a faulty node against those of any node."""
    faulty = policy.faulty_event_rate
    gain, loss = log(faulty / usual_rate), log((1 - faulty) / (1 - usual_rate))
    return low * gain + (tests - low) * loss


def _median(samples: list[Sample]) -> float:
    return median(sample.deviation for sample in samples)
