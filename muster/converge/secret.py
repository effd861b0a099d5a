"""The munge key of a stack: made once, kept in a file that only its owner reads."""

from __future__ import annotations

import base64
import secrets
import stat
from pathlib import Path

from muster.errors import MusterError
from muster.files import write_atomic

_KEY_BYTES = 128
_SMALLEST_KEY_BYTES = 32
"""munged refuses shorter keys (munged(8))."""


def ensure_munge_key(directory: Path) -> Path:
    """Return the path of the key below `directory`; a key that exists is never replaced.

    Raises:
        MusterError: the key is readable by others, or too short to be one.

    """
    path = directory / "munge.key"
    if not path.exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode("ascii")
        write_atomic(path, key + "\n", mode=0o600)
    found = path.stat()
    if stat.S_IMODE(found.st_mode) & 0o077:
        what = f"others can read it (mode {stat.S_IMODE(found.st_mode):04o}); expected 0600"
        raise MusterError(what, where=str(path), hint=f"Run `chmod 600 {path}`.")
    if found.st_size < _SMALLEST_KEY_BYTES:
        what = f"{found.st_size} bytes; a munge key has {_SMALLEST_KEY_BYTES} or more"
        raise MusterError(what, where=str(path), hint="Remove the file; the next run makes one.")
    return path
