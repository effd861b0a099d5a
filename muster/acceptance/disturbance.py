"""Which rounds were slow for most pairs at once? That is the round's fault, not the nodes'. Pure.

Something else that runs for a few seconds, on the network or on a shared machine, slows many pairs
of one round. Such a round says nothing about who is slow.
"""

from __future__ import annotations

import numpy as np

from muster.acceptance.effects import MEDIAN_TO_MEAN
from muster.acceptance.medians import Mask, Values

PAIRS_MIN = 3
"""With fewer pairs the round cannot be told from its nodes."""

ROUNDS_SHARE_MAX = 0.5
"""What is slow in more of the rounds is not a disturbance."""

SIGMAS = 4.0
FRACTION = 0.018


def disturbed_rounds(deviation: Values, clean: Mask, cross: Mask, sigma: float) -> Mask:
    """Return the rounds in which most of the tests that nothing else explains are low.

    All arrays are by node and round, each test at both of its nodes. Where too many of the rounds
    inside, or of those across leaves, are slow, none of them is set aside.
    """
    ends = clean.sum(axis=0)
    found = np.zeros(clean.shape[1], dtype=bool)
    for number in np.flatnonzero(ends >= 2 * PAIRS_MIN):
        values = deviation[clean[:, number], number]
        middle = np.partition(values, len(values) // 2)[len(values) // 2]
        error = MEDIAN_TO_MEAN * sigma / np.sqrt(len(values) / 2)
        found[number] = middle < -max(SIGMAS * error, FRACTION)
    mostly_cross = 2 * (clean & cross).sum(axis=0) > ends
    for kind in (mostly_cross, ~mostly_cross):
        if (found & kind).sum() > ROUNDS_SHARE_MAX * (kind & (ends > 0)).sum():
            found &= ~kind
    return found
