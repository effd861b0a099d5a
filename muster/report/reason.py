"""The verdict's reason, short enough to be read first."""

from __future__ import annotations

_LONG = 160


def lead_of(reason: str) -> str:
    """Return the first of the reasons that "; " joins, where all together are long."""
    return reason if len(reason) <= _LONG else reason.split("; ", maxsplit=1)[0]
