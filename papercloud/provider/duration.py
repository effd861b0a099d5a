"""Durations as Go writes them."""

from __future__ import annotations

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}


def seconds(text: str) -> float:
    """Read `10m`, `1h30m` or `0`."""
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([hms])", text))
