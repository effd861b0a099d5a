"""Asking every rule about a plan, and what is waived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from muster.findings import Outcome
from muster.plan.rules import (
    capacity,
    cost,
    existing,
    fabric,
    launch,
    network,
    nodes,
    quotas,
    reservations,
    software,
    storage,
)
from muster.plan.rules.model import Rule, Said, View, failed, unknown
from muster.spec import RuleWaiver

ALL_RULES: tuple[Rule, ...] = (
    *capacity.RULES,
    *reservations.RULES,
    *quotas.RULES,
    *fabric.RULES,
    *network.RULES,
    *existing.RULES,
    *storage.RULES,
    *nodes.RULES,
    *launch.RULES,
    *cost.RULES,
    *software.RULES,
)

Standing = Literal["fail", "unknown", "warning", "waived", "pass"]
"""What a result means for the whole, the worst first."""

_WAIVERS = "waivers"
_WAIVERS_TITLE = "Every waiver still holds, and lets something through."


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What one rule says about one subject, and the waiver that lets it through."""

    rule: str
    title: str
    source: str
    said: Said
    waiver: RuleWaiver | None = None

    @property
    def standing(self) -> Standing:
        """Say what it means for the whole."""
        if self.said.outcome is Outcome.PASS:
            return "pass"
        if self.waiver is not None:
            return "waived"
        if self.said.outcome is Outcome.UNKNOWN:
            return "unknown"
        return "warning" if self.said.severity == "warning" else "fail"


@dataclass(frozen=True, kw_only=True, slots=True)
class Preflight:
    """What all rules say about a stack's plan."""

    stack: str
    results: tuple[Result, ...]

    @property
    def outcome(self) -> Outcome:
        """Say whether it may be built: nothing fails and nothing is unknown, unless waived."""
        if self.of("fail"):
            return Outcome.FAIL
        # A plan that no rule judged was not proved.
        return Outcome.UNKNOWN if self.of("unknown") or not self.results else Outcome.PASS

    def of(self, standing: Standing) -> tuple[Result, ...]:
        """Return the results of one standing."""
        return tuple(result for result in self.results if result.standing == standing)

    @property
    def counts(self) -> dict[Standing, int]:
        """Count the results of each standing."""
        found = Counter(result.standing for result in self.results)
        order: tuple[Standing, ...] = ("fail", "unknown", "warning", "waived", "pass")
        return {standing: found[standing] for standing in order}


def preflight(view: View, rules: Sequence[Rule] = ALL_RULES) -> Preflight:
    """Ask every rule; one that breaks down is unknown, and the others still speak."""
    today = view.now.date()
    waivers = view.spec.preflight.waivers
    open_waivers = {w.rule: w for w in reversed(waivers) if w.until >= today}
    judged = [
        _result(rule, said, open_waivers.get(rule.id))
        for rule in rules
        for said in _ask(rule, view)
    ]
    used = {result.rule for result in judged if result.waiver}
    known = [rule.id for rule in rules]
    stale = [
        Result(rule=_WAIVERS, title=_WAIVERS_TITLE, source="the spec", said=said)
        for said in _stale_waivers(view, used, known)
    ]
    return Preflight(stack=view.plan.stack, results=(*judged, *stale))


def _result(rule: Rule, said: Said, waiver: RuleWaiver | None) -> Result:
    needed = None if said.outcome is Outcome.PASS else waiver
    return Result(rule=rule.id, title=rule.title, source=rule.source, said=said, waiver=needed)


def _ask(rule: Rule, view: View) -> Iterator[Said]:
    try:
        yield from rule.ask(view)
    except Exception as error:  # noqa: BLE001 - a broken rule must not silence the others
        what = " ".join(f"the rule broke down: {type(error).__name__}: {error}".split())
        do = "Report this with the spec; waive the rule to go on without it."
        yield unknown(what, "preflight", do)


def _stale_waivers(view: View, used: set[str], known: Sequence[str]) -> Iterator[Said]:
    for number, waiver in enumerate(view.spec.preflight.waivers):
        path = f"preflight.waivers[{number}]"
        if waiver.until < view.now.date():
            what = f"the waiver of {waiver.rule} expired on {waiver.until}"
            do = "Remove it, or waive anew with a reason."
            yield failed(what, f"{path}.until", do, severity="warning")
        elif waiver.rule not in known:
            near = get_close_matches(waiver.rule, known, n=1)
            do = f"Did you mean {near[0]}?" if near else "Remove it."
            what = f"no rule is called {waiver.rule}"
            yield failed(what, f"{path}.rule", do, severity="warning")
        elif waiver.rule not in used:
            what = f"nothing needs the waiver of {waiver.rule}"
            yield failed(what, f"{path}.rule", "Remove it.", severity="warning")
