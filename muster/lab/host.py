"""Limits of this machine that many nodes run into; raised when they are low, never lowered."""

from __future__ import annotations

import json
from pathlib import Path

_FILE = Path(__file__).parent / "host_limits.json"


def wanted_limits() -> dict[str, int]:
    """Return the least value of each kernel setting, by its sysctl name."""
    loaded = json.loads(_FILE.read_text(encoding="utf-8"))
    return {name: int(value) for name, value in loaded["minimum"].items()}


def _path(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def low_limits() -> dict[str, int]:
    """Return the settings that are lower than wanted, with their present value."""
    found: dict[str, int] = {}
    for name, least in wanted_limits().items():
        path = _path(name)
        value = int(path.read_text(encoding="utf-8")) if path.is_file() else least
        if value < least:
            found[name] = value
    return found


def raise_limits() -> None:
    """Raise what is too low."""
    least = wanted_limits()
    for name in low_limits():
        _path(name).write_text(str(least[name]), encoding="utf-8")
