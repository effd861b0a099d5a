"""Run one program to its end, and print what it took as JSON: status, seconds, peak MiB.

    python -I -S benchmarks/spent.py LIMIT_S STDOUT STDERR PROGRAM ARGUMENTS...

A program inherits the peak memory of the process that starts it, so a small one starts it.
"""

import json
import os
import signal
import sys
import time

KIB_PER_MIB = 1024
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def main() -> None:
    """Run it; past its time it is killed, and the status says so."""
    limit_s, *files = sys.argv[1:4]
    begin = time.monotonic()
    actions = [
        (os.POSIX_SPAWN_OPEN, fd, path, _WRITE, 0o600) for fd, path in enumerate(files, start=1)
    ]
    pid = os.posix_spawnp(sys.argv[4], sys.argv[4:], os.environ, file_actions=actions)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(int(limit_s))
    _, status, used = os.wait4(pid, 0)
    took = time.monotonic() - begin
    found = {"status": os.waitstatus_to_exitcode(status), "seconds": took}
    print(json.dumps({**found, "mib": used.ru_maxrss / KIB_PER_MIB}))


if __name__ == "__main__":
    main()
