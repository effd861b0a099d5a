"""Which nodes lack valid tests? A broken test is never called a broken node. Pure."""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from muster.acceptance.medians import Mask
from muster.acceptance.pair_table import RailTests

GONE_PARTNERS_MIN = 2
"""A latest test that failed may be the partner's doing; with two partners in a row it is not."""


def failed_tests(tests: RailTests) -> Mask:
    """Return the tests that were asked for and gave nothing valid."""
    return tests.seats.asked & ~tests.valid


def latest_failed(tests: RailTests) -> Mask:
    """Return nodes whose last test was not valid, whoever's fault that was."""
    asked = tests.seats.asked
    found = np.zeros(len(asked), dtype=bool)
    if asked.shape[1]:
        last = asked.shape[1] - 1 - np.argmax(asked[:, ::-1], axis=1)
        found = failed_tests(tests)[np.arange(len(asked)), last]
    return found


def lacking(tests: RailTests, share_min: float) -> dict[int, str]:
    """Return nodes whose tests do not suffice, and why: too few partners, or lately gone."""
    if not tests.seats.asked.shape[1]:
        return dict.fromkeys(range(len(tests.seats.leaf)), "not measured")
    doubtful = np.flatnonzero(failed_tests(tests).any(axis=1))
    reasons = {node: _lacking(tests, node, share_min) for node in doubtful.tolist()}
    return {node: reason for node, reason in reasons.items() if reason}


def _lacking(tests: RailTests, node: int, share_min: float) -> str:
    rounds = np.flatnonzero(tests.seats.asked[node])
    partner = tests.seats.partner[node, rounds].tolist()
    valid = tests.valid[node, rounds].tolist()
    made = list(zip(partner, valid, strict=True))
    partners, answered = set(partner), {one for one, worked in made if worked}
    if len(answered) < share_min * len(partners):
        return f"valid tests with {len(answered)} of {len(partners)} partners"
    lately = list(takewhile(lambda test: not test[1], reversed(made)))
    if len({one for one, _ in lately}) >= GONE_PARTNERS_MIN:
        return f"the last {len(lately)} of {len(made)} tests were not valid"
    return ""
