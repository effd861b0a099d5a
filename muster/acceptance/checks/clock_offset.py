"""Does the node know what time it is?"""

from __future__ import annotations

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.checks.view import NodeView
from muster.acceptance.facts import Problem, Time
from muster.findings import Finding

CHECK = "clock-offset"


def judge(
    time: Time | Problem, *, wall_clock_s: float, asked_s: tuple[float, float], offset_max_s: float
) -> Finding:
    """Ask the time daemon, and compare the wall clock with the head's before and after.

    The daemon's offset is fine but is its own opinion; the wall clock is what programs see.
    """
    begin, end = asked_s
    if end <= 0:
        return unknown(CHECK, "no reference time was taken")
    off = min(0.0, wall_clock_s - begin) + max(0.0, wall_clock_s - end)
    if abs(off) > offset_max_s:
        what = f"the wall clock is {off:+.3f} s off the head's; expected {offset_max_s:g} s"
        return failed(CHECK, what, component="node", value=off, unit="s", floor=offset_max_s)
    if isinstance(time, Problem):
        return unknown(CHECK, f"the time daemon could not be asked: {time.text}")
    common = {"value": time.offset_s, "unit": "s", "floor": offset_max_s}
    if not time.synchronised:
        return unknown(CHECK, "the time daemon has not synchronised yet")
    if abs(time.offset_s) > offset_max_s:
        what = f"clock is {time.offset_s:+.4f} s off, expected at most {offset_max_s:g} s"
        return failed(CHECK, what, component="node", **common)
    return passed(CHECK, f"clock is {time.offset_s:+.6f} s off", **common)


def check(view: NodeView) -> Finding:
    """Judge one node."""
    if isinstance(view.facts, Problem):
        return unknown(CHECK, view.facts.text)
    return judge(
        view.facts.time,
        wall_clock_s=view.facts.wall_clock_s,
        asked_s=view.asked_s,
        offset_max_s=view.limits.clock_offset_max_s,
    )
