"""What a lab needs of this machine; kernel limits that are low are raised, none is lowered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "host_needs.json"


def needs() -> dict[str, Any]:
    """Return what a lab needs, from the data file."""
    loaded: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return loaded


def wanted_limits() -> dict[str, int]:
    """Return the least value of each kernel setting, by its sysctl name."""
    return {name: int(value) for name, value in needs()["sysctl_minimum"].items()}


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
