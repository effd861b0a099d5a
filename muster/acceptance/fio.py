"""How fast was the disk? Pure: fio's JSON in, bytes per second or a problem out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from muster.acceptance.facts import Problem

_DOUBT = 2
"""Bytes, time and rate of a run agree at least so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiskRates:
    """Sequential rates past the page cache, in B/s."""

    write_bps: float
    read_bps: float


def parse_fio(text: str, rc: int | None) -> DiskRates | Problem:
    """Read a run with the jobs "write" and "read"; anything less is a problem, not a slow disk."""
    if rc != 0:
        return Problem(f"fio ended with {rc}: {' '.join(text.split())[-160:] or 'no message'}")
    try:
        # fio prints warnings before the document.
        document = json.loads(text[text.index("{") :])
        jobs = {job["jobname"]: job for job in document["jobs"]}
        return DiskRates(
            write_bps=_rate(jobs["write"], "write"), read_bps=_rate(jobs["read"], "read")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Problem(f"fio's output is cut short or of another form ({error})")


def _rate(job: dict[str, Any], direction: str) -> float:
    if job["error"] != 0:
        message = f"job {direction} failed with error {job['error']}"
        raise ValueError(message)
    part = job[direction]
    done, rate, runtime_ms = (
        float(part["io_bytes"]),
        float(part["bw_bytes"]),
        float(part["runtime"]),
    )
    if done <= 0 or rate <= 0 or runtime_ms <= 0:
        message = f"job {direction} moved nothing"
        raise ValueError(message)
    # The runtime is in whole ms: a short run may be rounded by as much.
    if not 1 / _DOUBT <= done / rate / ((runtime_ms + 1) / 1000) <= _DOUBT:
        message = (
            f"job {direction} contradicts itself: {done:g} B in {runtime_ms:g} ms at {rate:g} B/s"
        )
        raise ValueError(message)
    return rate
