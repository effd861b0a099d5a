"""Which nodes lack valid tests? A broken test is never called a broken node. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import isfinite

from muster.acceptance.locate_model import Measurement

GONE_PARTNERS_MIN = 2
"""A latest test that failed may be the partner's doing; with two partners in a row it is not."""


def usable(measurement: Measurement) -> bool:
    """Did the test run, and measure something that can be a speed?"""
    value = measurement.value
    return measurement.valid and value is not None and isfinite(value) and value >= 0


@dataclass(frozen=True, slots=True)
class Attempts:
    """A node's tests on one rail in order: with whom, and whether they were valid."""

    tests: Sequence[tuple[str, bool]]

    def latest_failed(self) -> bool:
        """Was the last test not valid, whoever's fault that was?"""
        return bool(self.tests) and not self.tests[-1][1]

    def lacking(self, share_min: float) -> str:
        """Return why the tests do not suffice, or nothing: too few partners, or lately gone."""
        partners = {partner for partner, _ in self.tests}
        answered = {partner for partner, valid in self.tests if valid}
        if len(answered) < share_min * len(partners):
            return f"valid tests with {len(answered)} of {len(partners)} partners"
        lately = list(takewhile(lambda test: not test[1], reversed(self.tests)))
        if len({partner for partner, _ in lately}) >= GONE_PARTNERS_MIN:
            return f"the last {len(lately)} of {len(self.tests)} tests were not valid"
        return ""


def attempts(
    measurements: Iterable[Measurement], nodes: Iterable[str]
) -> dict[int | None, dict[str, Attempts]]:
    """Sort measurements by rail and node."""
    names = tuple(nodes)
    tests: dict[int | None, dict[str, list[tuple[str, bool]]]] = {}
    for m in measurements:
        if m.pair.rail not in tests:
            tests[m.pair.rail] = {node: [] for node in names}
        tests[m.pair.rail][m.pair.a].append((m.pair.b, usable(m)))
        tests[m.pair.rail][m.pair.b].append((m.pair.a, usable(m)))
    return {
        rail: {node: Attempts(made) for node, made in by_node.items()}
        for rail, by_node in tests.items()
    }
