"""The signed statement "this bundle, for this stack, after that one", by which nodes go.

The signature covers the statement, the statement covers the bundle by its hash and size. Its number
only grows: an older bundle, though signed once, is refused by a node that has seen a newer one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.converge.bundle import Bundle
from muster.converge.signing import ensure_signing_key, sign
from muster.errors import MusterError
from muster.files import write_atomic, write_atomic_bytes

STATEMENT = "release.json"
SIGNATURE = "release.json.sig"
_KEPT = 3
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """What the statement says."""

    stack: str
    bundle: str
    size: int
    sequence: int

    def text(self) -> str:
        """Write the statement."""
        record = {
            "apiVersion": "muster/v1",
            "kind": "Release",
            "stack": self.stack,
            "bundle": self.bundle,
            "size": self.size,
            "sequence": self.sequence,
        }
        return json.dumps(record, sort_keys=True) + "\n"


def parse_release(text: str) -> Release:
    """Read a statement.

    Raises:
        MusterError: it is none.

    """
    try:
        data: dict[str, Any] = json.loads(text)
        found = Release(
            stack=data["stack"],
            bundle=data["bundle"],
            size=int(data["size"]),
            sequence=int(data["sequence"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        what = f"not a release statement ({error!r})"
        raise MusterError(what) from error
    if not _SHA256.fullmatch(found.bundle):
        what = f"bundle {found.bundle!r} in a release statement is not a sha256"
        raise MusterError(what)
    return found


def publish(bundle: Bundle, stack: str, store_dir: Path) -> Path:
    """Write bundle, statement and signature below the store; returns their directory.

    The bundle that is out already keeps its statement. Older archives but the last few go.
    """
    directory = store_dir / "bundles"
    directory.mkdir(parents=True, exist_ok=True)
    statement = directory / STATEMENT
    last = parse_release(statement.read_text(encoding="utf-8")) if statement.is_file() else None
    release = Release(
        stack=stack,
        bundle=bundle.sha256,
        size=len(bundle.data),
        sequence=_sequence(last, bundle),
    )
    key = ensure_signing_key(store_dir / "secrets", stack)
    write_atomic_bytes(directory / bundle.name, bundle.data)
    # A kill between the two leaves a signature that does not fit: refused, and mended by the next.
    write_atomic(statement, release.text())
    write_atomic(directory / SIGNATURE, sign(key, release.text()))
    _forget_older(directory, bundle)
    return directory


def _sequence(last: Release | None, bundle: Bundle) -> int:
    if last is None:
        return 1
    return last.sequence if last.bundle == bundle.sha256 else last.sequence + 1


def _forget_older(directory: Path, bundle: Bundle) -> None:
    archives = sorted(directory.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime_ns)
    for path in [path for path in archives if path.name != bundle.name][: -(_KEPT - 1)]:
        path.unlink()
