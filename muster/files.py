"""Writing files so that a kill at any moment leaves the old or the new, and lines never mix."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomic(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write `text` to `path` by rename; the parent directory is made if it is missing."""
    write_atomic_bytes(path, text.encode(), mode=mode)


def write_atomic_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` as `write_atomic` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).rename(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append_line(path: Path, line: str) -> None:
    """Add one line to a file in one write, so that lines of parallel writers never mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode() + b"\n")
    finally:
        os.close(handle)
