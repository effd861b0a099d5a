"""End this process when the engine that started it is gone.

A `pulumi` that is killed with SIGKILL leaves its plugins running, and they would go on beside the
next `up`. The programs a handler runs ask the kernel to be ended with us; lab nodes do not.
"""

from __future__ import annotations

import os
import threading
import time

_INTERVAL_S = 0.25


def exit_with_parent() -> None:
    """Watch the parent from a thread, and end this process at once when it changes."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_INTERVAL_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="orphan").start()
