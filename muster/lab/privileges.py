"""May this user build a lab? Standard library only, and no import of muster: runs before setup.

`python3 muster/lab/privileges.py` prints one line and exits with 0 (yes) or 1 (no).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NEEDED = {12: "CAP_NET_ADMIN", 18: "CAP_SYS_CHROOT", 21: "CAP_SYS_ADMIN", 27: "CAP_MKNOD"}
"""Capability bits by number, as in linux/capability.h."""


def lacking(platform: str, euid: int, status: str) -> str:
    """Say what lacks, from the platform, the user id and /proc/self/status; empty if nothing."""
    if not platform.startswith("linux"):
        return f"a lab needs Linux; this is {platform}"
    if euid != 0:
        return f"a lab needs root; this is user {euid}. Run it with sudo."
    line = next((x for x in status.splitlines() if x.startswith("CapEff:")), "CapEff: 0")
    bits = int(line.split()[1], 16)
    missing = [name for bit, name in _NEEDED.items() if not bits >> bit & 1]
    if missing:
        return (
            f"root without {', '.join(missing)}: probably a container. Run it on the machine "
            "itself, or in a privileged container."
        )
    return ""


def main() -> int:
    """Print the answer; returns the exit status."""
    path = Path("/proc/self/status")
    status = path.read_text(encoding="utf-8") if path.is_file() else ""
    euid = os.geteuid() if hasattr(os, "geteuid") else -1
    answer = lacking(sys.platform, euid, status)
    stream = sys.stderr if answer else sys.stdout
    stream.write(f"{answer or 'privileges: enough for a lab'}\n")
    return 1 if answer else 0


if __name__ == "__main__":
    sys.exit(main())
