"""What did an iperf3 test measure, and may it be believed? Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.acceptance.facts import Problem

_TIME_SHARE_MIN = 0.8
_RATE_TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Throughput:
    """One direction of one rail: what arrived per second, and what had to be sent again."""

    bps: float
    """B/s, as the receiver counted."""
    retransmits: int
    seconds: float


def parse_iperf(
    text: str, *, client: str, server: str, seconds: float, reverse: bool
) -> Throughput | Problem:
    """Read a client's `--json`; a test of other hosts, another length or direction is a Problem."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        return Problem(f"iperf3's output is cut short or no JSON ({error.msg} at {error.pos})")
    if not isinstance(document, dict):
        return Problem("iperf3's output is not an object")
    if document.get("error"):
        return Problem(f"iperf3: {document['error']}")
    try:
        return _throughput(document, (client, server), seconds, reverse=reverse)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return Problem(f"iperf3's output lacks a value ({type(error).__name__}: {error})")


def _throughput(
    document: Mapping[str, Any], hosts: tuple[str, str], seconds: float, *, reverse: bool
) -> Throughput | Problem:
    sent, received = document["end"]["sum_sent"], document["end"]["sum_received"]
    lasted, rate = float(received["seconds"]), float(received["bits_per_second"]) / 8
    doubt = _other_test(document["start"], hosts, reverse=reverse)
    doubt = doubt or _contradiction(sent, received, seconds)
    if doubt:
        return Problem(doubt)
    return Throughput(bps=rate, retransmits=int(sent["retransmits"]), seconds=lasted)


def _other_test(start: Mapping[str, Any], hosts: tuple[str, str], *, reverse: bool) -> str:
    """Say so where the test was not the one that was asked for."""
    connection = start["connected"][0]
    used = (connection["local_host"], connection["remote_host"])
    if used != hosts:
        return f"the test ran from {used[0]} to {used[1]}, not {hosts[0]} to {hosts[1]}"
    if bool(start["test_start"]["reverse"]) != reverse:
        return "the test ran in the other direction"
    return ""


def _contradiction(sent: Mapping[str, Any], received: Mapping[str, Any], seconds: float) -> str:
    """Say so where the numbers cannot all be true."""
    lasted, amount = float(received["seconds"]), float(received["bytes"])
    rate = float(received["bits_per_second"]) / 8
    if lasted < seconds * _TIME_SHARE_MIN:
        return f"the test lasted {lasted:.2f} s, asked for {seconds:g} s"
    if amount > float(sent["bytes"]):
        return f"more bytes arrived ({amount:.0f}) than were sent ({sent['bytes']})"
    if abs(rate * lasted - amount) > _RATE_TOLERANCE * max(amount, 1.0):
        return f"{amount:.0f} B in {lasted:.2f} s is not {rate:.0f} B/s"
    return ""
