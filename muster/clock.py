"""Time, handed in so that tests need not wait for it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """The three things that code may ask of time."""

    def now(self) -> datetime:
        """Return the wall clock, timezone-aware, UTC."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds from an arbitrary start; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the wall clock, timezone-aware, UTC."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Return seconds from an arbitrary start."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
