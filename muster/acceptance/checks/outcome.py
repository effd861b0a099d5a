"""The three things a check can say, short to write. Pure."""

from __future__ import annotations

from typing import Any

from muster.findings import Finding, Outcome


def passed(check: str, summary: str, **values: Any) -> Finding:
    """Say that the check ran and all was as expected."""
    return Finding(check=check, verdict=Outcome.PASS, summary=summary, **values)


def failed(check: str, summary: str, *, component: str, **values: Any) -> Finding:
    """Say what is wrong, and which part is at fault."""
    return Finding(
        check=check, verdict=Outcome.FAIL, summary=summary, component=component, **values
    )


def unknown(check: str, summary: str, **values: Any) -> Finding:
    """Say why it could not be told."""
    return Finding(check=check, verdict=Outcome.UNKNOWN, summary=summary, **values)


def one_part(prefix: str, bad: list[int]) -> str:
    """Return "rail:1" where one part is bad, and "node" where several are."""
    return f"{prefix}:{bad[0]}" if len(bad) == 1 else "node"
