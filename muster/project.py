"""Where the project is, and where its runs are kept."""

from __future__ import annotations

import os
from pathlib import Path

from muster.errors import UsageError


def project_directory(start: Path | None = None) -> Path:
    """Find the directory with Pulumi.yaml, from `start` (default: here) upwards.

    Raises:
        UsageError: there is none.

    """
    here = (start or Path.cwd()).resolve()
    for directory in (here, *here.parents):
        if (directory / "Pulumi.yaml").is_file():
            return directory
    what = f"no Pulumi.yaml in {here} or above"
    raise UsageError(what, hint="Run muster inside the project.")


def store_root() -> Path:
    """Return the run store's root: $MUSTER_STORE, or .muster in the project."""
    override = os.environ.get("MUSTER_STORE")
    return Path(override).resolve() if override else project_directory() / ".muster"
