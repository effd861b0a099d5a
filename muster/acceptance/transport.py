"""Which settings make a group test use the compute network? Pure; the table is data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from muster.acceptance.facts import Problem
from muster.catalog.model import InstanceType


@cache
def _table() -> dict[str, Any]:
    path = Path(__file__).with_name("transports.yaml")
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def network_of(kind: InstanceType) -> str:
    """Name the kind of compute network of a type."""
    return "efa" if kind.efa_interfaces else "ethernet"


def group_environment(network: str, interfaces: Sequence[str]) -> dict[str, str] | Problem:
    """Return the environment; a Problem for a network that nobody has measured yet."""
    row = _table().get(network)
    if row is None or "environment" not in row:
        return Problem(f"no settings for a group test over {network} are known")
    names = ",".join(sorted(set(interfaces)))
    return {k: v.format(interfaces=names) for k, v in row["environment"].items()}
