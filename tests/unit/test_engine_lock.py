"""A lock of the Pulumi engine is cleared only when its holder is surely gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from muster.engine import holder_is_dead


def lock(pid: int, **changes: Any) -> dict[str, Any]:
    taken = datetime.now(UTC).isoformat()
    return {"pid": pid, "hostname": socket.gethostname(), "timestamp": taken, **changes}


def test_a_holder_that_runs_is_not_dead() -> None:
    assert not holder_is_dead(lock(os.getpid()))


def test_a_holder_that_ended_is_dead() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert holder_is_dead(lock(ended.pid))


def test_a_killed_holder_that_nobody_has_reaped_yet_is_dead() -> None:
    zombie = subprocess.Popen(["sleep", "60"])
    try:
        zombie.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        assert holder_is_dead(lock(zombie.pid))
    finally:
        zombie.wait()


def test_a_holder_on_another_machine_is_left_alone() -> None:
    assert not holder_is_dead(lock(2**22 + 1, hostname="elsewhere"))


def test_a_number_that_was_given_to_a_later_process_is_not_the_holder() -> None:
    later = subprocess.Popen(["sleep", "60"])
    try:
        time.sleep(0.05)
        long_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
        assert holder_is_dead(lock(later.pid, timestamp=long_ago))
    finally:
        later.kill()
        later.wait()
