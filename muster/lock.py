"""One holder at a time for a stack: `up`, `converge` and `accept` must not run side by side."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.clock import Clock
from muster.errors import MusterError
from muster.progress import Progress

_POLL_S = 0.5


@contextmanager
def stack_lock(
    directory: Path, *, clock: Clock, progress: Progress, wait_s: float = 60.0
) -> Iterator[None]:
    """Hold the stack's lock; the kernel gives it back when the process ends, however it ends.

    Raises:
        MusterError: another process held it for all of `wait_s`; the message has its pid.

    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "lock"
    with path.open("a+", encoding="utf-8") as stream:
        deadline_s = clock.monotonic_s() + wait_s
        while not _try_lock(stream.fileno()):
            holder = path.read_text(encoding="utf-8").strip() or "unknown"
            if clock.monotonic_s() > deadline_s:
                what = f"stack {directory.name} is in use by pid {holder}"
                raise MusterError(what, where=str(path), hint="Wait for it, or end that process.")
            progress(f"waiting for pid {holder}, which works on this stack")
            clock.sleep(_POLL_S)
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
