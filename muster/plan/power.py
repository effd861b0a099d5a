"""What the accelerators of a planned stack may draw. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from muster.plan.aws.model import AwsPlan, PoolPlan

_TDP = "gpu_tdp_w"


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolPower:
    """The accelerators of a pool. `tdp_w` is that of one; None where no source states it."""

    pool: str
    model: str
    accelerators: int
    tdp_w: int | None
    source: str = ""
    as_of: date | None = None
    note: str = ""

    @property
    def watts(self) -> int | None:
        """Power of all of them; 0 only where there are none."""
        if not self.accelerators:
            return 0
        return None if self.tdp_w is None else self.tdp_w * self.accelerators


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerSheet:
    """Accelerators of all pools at their thermal design power."""

    pools: tuple[PoolPower, ...]
    note: str = "accelerators alone; the rest of each node and the cooling come on top"

    @property
    def kilowatts(self) -> float:
        """Sum of the known figures; what is unknown comes on top."""
        return sum(pool.watts or 0 for pool in self.pools) / 1000

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the pools whose accelerators have no stated power."""
        return tuple(pool.pool for pool in self.pools if pool.watts is None)


def power_of(plan: AwsPlan) -> PowerSheet:
    """Add up the accelerators' power, spares included."""
    return PowerSheet(pools=tuple(_pool(pool) for pool in plan.pools))


def _pool(pool: PoolPlan) -> PoolPower:
    kind = pool.type
    if not kind.gpu_count:
        return PoolPower(
            pool=pool.name, model="", accelerators=0, tdp_w=None, note="no accelerators"
        )
    fact = kind.facts.get(_TDP)
    return PoolPower(
        pool=pool.name,
        model=kind.gpu_model,
        accelerators=kind.gpu_count * pool.size,
        tdp_w=kind.gpu_tdp_w if fact else None,
        source=fact.source if fact else "",
        as_of=fact.as_of if fact else None,
        note="" if fact else "no source states one figure",
    )
