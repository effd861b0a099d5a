"""Where the project is, and where its runs are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from muster.errors import UsageError
from muster.files import write_atomic

_PROGRAM_DIRECTORIES = ("muster", "stacks", "playbooks", "templates")
_PROGRAM_FILES = ("Pulumi.yaml", "__main__.py", "ansible.cfg")


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


def price_directory() -> Path | None:
    """Return the folder of prices that were read from AWS; None outside a project."""
    try:
        return project_directory() / "stacks" / "prices"
    except UsageError:
        return None


def software_directory() -> Path | None:
    """Return the folder of what this project adds to the version matrix; None outside one."""
    try:
        return project_directory() / "stacks" / "software"
    except UsageError:
        return None


def project_with_stack(
    directory: Path,
    stack: str,
    cluster: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
) -> None:
    """Copy this program into a directory, with one stack and no state.

    For tests and benchmarks, which must not touch the files and stacks that a person works with.
    `config` is the rest of the stack's config, as {"aws:region": …}.
    """
    source = Path(__file__).parents[1]
    for name in _PROGRAM_DIRECTORIES:
        ignored = shutil.ignore_patterns("__pycache__", "Pulumi.*.yaml")
        shutil.copytree(source / name, directory / name, ignore=ignored)
    for name in _PROGRAM_FILES:
        shutil.copy2(source / name, directory / name)
    stack_file = directory / "stacks" / f"Pulumi.{stack}.yaml"
    write_atomic(
        stack_file, yaml.safe_dump({"config": {**(config or {}), "muster:cluster": dict(cluster)}})
    )


def own_environment(directory: Path) -> dict[str, str]:
    """Return the environment in which a copied program runs, and keeps all its state there."""
    (directory / "state").mkdir(parents=True, exist_ok=True)
    return {
        "PYTHONPATH": str(directory),
        "PULUMI_BACKEND_URL": f"file://{directory}/state",
        "PULUMI_HOME": str(directory / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "",
    }
