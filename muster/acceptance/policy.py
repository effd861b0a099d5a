"""How thoroughly is a fleet tested, and from where on does a value count against a node? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from muster.catalog.model import Catalog
from muster.errors import UsageError

_FILE = Path(__file__).with_name("policies.yaml")


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StaticLimits(_Table):
    """What static checks compare with, besides the instance type."""

    gpu_temperature_max_c: float = Field(gt=0)
    disk_free_min_gib: float = Field(ge=0)
    clock_offset_max_s: float = Field(gt=0)
    seconds: float = Field(gt=0)


class LocalPolicy(_Table):
    """How each node is measured by itself. `at_once` 0: all nodes at the same time."""

    windows: int = Field(ge=2)
    window_s: float = Field(ge=0.3)
    """Under 0.3 s a window holds too few periods of a CPU quota to show it."""
    gemm_n: int = Field(ge=64)
    copy_mib: int = Field(ge=8)
    disk_mib: int = Field(ge=1)
    disk_runtime_s: int = Field(ge=1)
    node_seconds: float = Field(gt=0)
    retries: int = Field(ge=1)
    cpu_tolerance: float = Field(gt=0, lt=1)
    memory_tolerance: float = Field(gt=0, lt=1)
    disk_tolerance: float = Field(gt=0, lt=1)
    at_once: int = Field(default=0, ge=0)
    threads: int = Field(default=0, ge=0)
    """Threads of the matrix product; 0: all processors of the node."""


class PairsPolicy(_Table):
    """How pairs are measured. `at_once` 0: all pairs of a round at the same time."""

    @property
    def test_s(self) -> float:
        """Return the longest that one direction may take."""
        return self.seconds + self.test_margin_s

    @property
    def round_s(self) -> float:
        """Return the deadline of a round: past it, a node that wrote nothing hangs."""
        return self.connect_s + 2 * self.test_s + self.launch_s

    intra_rounds: int = Field(ge=0)
    cross_rounds: int = Field(ge=0)
    confirm_rounds: int = Field(ge=0)
    seconds: int = Field(ge=1)
    connect_s: float = Field(gt=0)
    test_margin_s: float = Field(gt=0)
    launch_s: float = Field(gt=0)
    at_once: int = Field(default=0, ge=0)


class GroupPolicy(_Table):
    """The all-reduce over all nodes that are still good."""

    bytes: int = Field(ge=8)
    iterations: int = Field(ge=1)
    seconds: float = Field(gt=0)
    mpi: str
    attempts: int = Field(ge=1)


class AcceptancePolicy(_Table):
    """All of it."""

    name: str
    static: StaticLimits
    local: LocalPolicy
    pairs: PairsPolicy
    group: GroupPolicy


@cache
def _tables() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return loaded


def load_policy(name: str, catalog: Catalog) -> AcceptancePolicy:
    """Return the policy of that name.

    Raises:
        UsageError: there is none; the message lists them.

    """
    policies = _tables()["policies"]
    if name not in policies:
        raise UsageError(
            f"no acceptance policy {name!r}", hint=f"Policies: {', '.join(sorted(policies))}."
        )
    table = {**policies[name], "name": name}
    table["static"] = {**table["static"], "clock_offset_max_s": _clock_offset_max_s(catalog)}
    return AcceptancePolicy.model_validate(table)


def _clock_offset_max_s(catalog: Catalog) -> float:
    enforced = [row for row in catalog.limits if row.quantity == "clock-offset" and row.enforced]
    if len(enforced) != 1 or enforced[0].unit != "ms":
        raise UsageError("must have one enforced clock-offset in ms", where="catalog/limits.yaml")
    return enforced[0].value / 1000


def for_shared_machine(
    policy: AcceptancePolicy, *, cores: int, pair_mbit: float
) -> AcceptancePolicy:
    """Scale a policy for nodes that share one machine: few at once, so that values mean something.

    `pair_mbit` is what one pair sends with all its rails together.
    """
    shared = _tables()["shared_machine"]
    local = {"at_once": max(1, cores * int(shared["local_at_once_per_core"])), "threads": 1}
    budget_mbit = cores * float(shared["pairs_mbit_per_core"])
    pairs = {"at_once": max(1, int(budget_mbit // pair_mbit)) if pair_mbit > 0 else 0}
    return policy.model_copy(
        update={
            "local": policy.local.model_copy(update=local),
            "pairs": policy.pairs.model_copy(update=pairs),
        }
    )
