"""Do all nodes together compute the right sum?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from muster.acceptance.checks.outcome import failed, passed, unknown
from muster.acceptance.facts import Problem
from muster.findings import Finding

CHECK = "group-allreduce"


@dataclass(frozen=True, kw_only=True, slots=True)
class AllReduce:
    """What muster-allreduce printed."""

    ranks: int
    hosts: tuple[str, ...]
    bytes: int
    busbw_bps: float
    wrong: int
    wrong_hosts: tuple[str, ...]


def parse_allreduce(text: str) -> AllReduce | Problem:
    """Read the one line; several lines are several programs of one rank each, and no all-reduce."""
    lines = [line for line in text.splitlines() if '"muster-allreduce"' in line]
    if len(lines) != 1:
        return Problem(
            f"{len(lines)} programs reported, expected one: did the ranks find each other?"
        )
    try:
        found = json.loads(lines[0])
        return AllReduce(
            ranks=int(found["ranks"]),
            hosts=tuple(map(str, found["hosts"])),
            bytes=int(found["bytes"]),
            busbw_bps=float(found["busbw"]),
            wrong=int(found["wrong"]),
            wrong_hosts=tuple(map(str, found["wrong_hosts"])),
        )
    except (ValueError, KeyError, TypeError) as error:
        return Problem(f"the all-reduce's output is cut short or of another form ({error})")


def judge(result: AllReduce | Problem, *, nodes: Collection[str]) -> Finding:
    """A wrong sum fails; another number of ranks or other hosts is no test of these nodes."""
    if isinstance(result, Problem):
        return unknown(CHECK, result.text)
    seen = {"value": result.busbw_bps, "unit": "B/s", "n": result.ranks}
    if result.ranks != len(nodes) or Counter(result.hosts) != Counter(nodes):
        strange = sorted(set(result.hosts) ^ set(nodes)) or ["some twice"]
        what = f"{result.ranks} ranks, expected one on each of {len(nodes)} nodes ({strange[0]})"
        return unknown(CHECK, what, **seen)
    if result.wrong:
        what = f"{result.wrong} sums are wrong, seen by {', '.join(result.wrong_hosts)}"
        return failed(CHECK, what, component="fleet", **seen)
    return passed(CHECK, f"{result.ranks} ranks, all sums right", **seen)
