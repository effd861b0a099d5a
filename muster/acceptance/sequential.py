"""Who is really at fault of those that stood out? Evidence added up, rail by rail. Pure.

A slow part shows in the median of a node's tests; a part that fails now and then shows only in how
often single tests are low, which `low_events` weighs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from muster.acceptance.effects import Limit
from muster.acceptance.locate_model import Policy
from muster.acceptance.low_events import LowEvents, event_limit
from muster.acceptance.medians import Index, Mask, Values, row_medians
from muster.acceptance.rail_study import RailStudy, Study
from muster.readiness import Verdict

GRAVITY = (Verdict.QUARANTINED, Verdict.SUSPECT, Verdict.UNTESTED, Verdict.ACCEPTED)
"""The gravest verdict of its rails is the node's; arrays hold the place in this list."""

QUARANTINED, SUSPECT, UNTESTED, ACCEPTED = range(len(GRAVITY))

PLAINLY = 2
"""Times the limit from which on a node is plainly slow; others need as many times the tests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """How far a campaign is."""

    screening: int
    """Rounds from this number on are confirming ones."""
    last: bool
    """No further round will follow."""
    rails: int = 1
    """Rails that are judged one by one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgements:
    """What follows for each node on one rail, by node number."""

    verdict: Index
    """Places in `GRAVITY`."""
    settled: Mask
    """False where a further test could change the verdict."""
    by_floor: Mask
    """Peers cannot judge the node; only a floor can."""
    effect: Values
    slow: Mask
    """Confirmed to be slow by the median, not by low events alone."""
    events: LowEvents
    by_counter: dict[int, str]
    """Why a node is held back for what its tests counted."""

    def reason(self, node: int) -> str:
        """Say why a node is not accepted."""
        if node in self.by_counter:
            return self.by_counter[node]
        effect, tests = self.effect[node], self.events.tests[node]
        low = self.events.count[node]
        figures = f"{effect:+.1%} against {tests} tests with good partners"
        if self.slow[node]:
            return f"slow: {figures}, confirmed"
        if self.verdict[node] == QUARANTINED:
            return f"low in {low} of {tests} tests with good partners, median {effect:+.1%}"
        return f"stands out: {figures}, low in {low} of {tests}; not confirmed"


def judge_rails(
    studies: Mapping[int | None, RailStudy], *, policy: Policy, stage: Stage
) -> dict[int | None, Judgements]:
    """Judge all nodes on all rails, and those that fail on most rails at once."""
    size = max((len(study.tests.seats.leaf) for study in studies.values()), default=1)
    alarm = min(policy.false_alarm, policy.false_alarm_run / max(size, 1)) / stage.rails
    found = {
        rail: _judge_rail(study, policy=policy, stage=stage, alarm=alarm)
        for rail, study in studies.items()
    }
    judged = [one for one in found.values() if not one.by_floor.all()]
    if len(judged) > 1:
        _judge_together(judged, policy=policy, stage=stage, alarm=alarm)
    return found


def _judge_rail(rail: RailStudy, *, policy: Policy, stage: Stage, alarm: float) -> Judgements:
    if rail.throughput is None:
        every = np.ones(len(rail.tests.seats.leaf), dtype=bool)
        none = np.zeros_like(rail.tests.seats.asked)
        return Judgements(
            verdict=np.full(len(every), UNTESTED),
            settled=every,
            by_floor=every,
            effect=np.zeros(len(every)),
            slow=~every,
            events=LowEvents.weigh(
                none, none, rail.tests.seats.partner, policy, depth=rail.tests.speed
            ),
            by_counter={},
        )
    judged = _judge_speed(rail.throughput, policy=policy, stage=stage, alarm=alarm)
    _judge_counters(judged, rail, policy=policy, stage=stage)
    return judged


def _judge_speed(study: Study, *, policy: Policy, stage: Stage, alarm: float) -> Judgements:
    explainer, found = study.explainer, study.effects
    clean = explainer.clean(found)
    low = clean & _below(explainer.deviation, event_limit(explainer.sigma, policy))
    events = LowEvents.weigh(
        low,
        clean,
        explainer.seats.partner,
        policy,
        depth=explainer.deviation,
        apart=found.low_nodes,
    )
    middle, confirming = row_medians(
        explainer.deviation[:, stage.screening :], clean[:, stage.screening :]
    )
    enough = confirming >= policy.confirm_tests_min
    limit = explainer.node_limit.at(explainer.sigma, found.nodes.partners)
    # What is barely low was picked out of many for it: it takes more to confirm that.
    plain = _below(found.nodes.value, PLAINLY * limit)
    sure = enough & (plain | (confirming >= PLAINLY * policy.confirm_tests_min))
    confirmed = _below(middle, explainer.node_limit.at(explainer.sigma, confirming))
    slow = found.low_nodes & sure & confirmed
    looks = 1 if stage.last else max(policy.confirm_rounds, 1)
    often = enough & events.proved(screening=stage.screening, alarm=alarm, looks=looks)
    cleared = confirming >= (policy.confirm_tests_min if stage.last else policy.confirm_rounds)
    stands_out = events.stands_out(cleared, policy.false_alarm / stage.rails)
    watch = Limit(sigmas=policy.watch_sigmas, least=policy.watch_fraction)
    below = _below(found.nodes.value, watch.at(explainer.sigma, found.nodes.partners))
    # After all its tests what was only watched is let go; what is low by the policy is held back.
    stands_out |= below & (~cleared | found.low_nodes)
    by_floor = found.nodes.tests == 0
    verdict = np.select(
        [by_floor, slow | often, stands_out], [UNTESTED, QUARANTINED, SUSPECT], ACCEPTED
    )
    return Judgements(
        verdict=verdict,
        settled=verdict != SUSPECT,
        by_floor=by_floor,
        effect=np.where(by_floor, 0.0, found.nodes.value),
        slow=slow,
        events=events,
        by_counter={},
    )


def _judge_together(rails: list[Judgements], *, policy: Policy, stage: Stage, alarm: float) -> None:
    """Name nodes of which most rails were low in the same rounds: that is the node, not luck."""
    events = LowEvents.together([judged.events for judged in rails], policy)
    confirming = events.clean[:, stage.screening :].sum(axis=1)
    often = confirming >= policy.confirm_tests_min
    looks = 1 if stage.last else max(policy.confirm_rounds, 1)
    often &= events.proved(screening=stage.screening, alarm=alarm, looks=looks)
    for judged in rails:
        named = often & ~judged.by_floor & (judged.events.count > 0)
        judged.verdict[named] = QUARANTINED
        judged.settled[named] = True


def _judge_counters(judged: Judgements, rail: RailStudy, *, policy: Policy, stage: Stage) -> None:
    """Hold back who lost more than peers do, unless it is at fault for its speed anyway."""
    for name, study in rail.counters.items():
        effects, deviation = study.effects, study.explainer.deviation
        slow_anyway = rail.throughput.effects.low_nodes if rail.throughput else False
        high = effects.low_nodes & ~slow_anyway & (effects.nodes.tests > 0) & ~judged.by_floor
        high &= judged.verdict != QUARANTINED
        clean = study.explainer.clean(effects)
        middle, count = row_medians(deviation[:, stage.screening :], clean[:, stage.screening :])
        limit = study.explainer.node_limit.at(study.explainer.sigma, count)
        confirmed = (count >= policy.confirm_tests_min) & _below(middle, limit)
        usual = rail.counter_usual[name]
        for node in np.flatnonzero(high).tolist():
            seen = usual - effects.nodes.value[node]
            said = ", confirmed" if confirmed[node] else "; not confirmed"
            judged.by_counter[node] = f"{name}: {seen:.0f} per test, peers {usual:.0f}{said}"
            judged.verdict[node] = QUARANTINED if confirmed[node] else SUSPECT
            judged.settled[node] = bool(confirmed[node])


def _below(values: Values, limit: float | Values) -> Mask:
    """Return what is lower than minus the limit; nan is not."""
    with np.errstate(invalid="ignore"):
        below: Mask = values < -limit
    return below
