"""Read what goes into a bundle from this machine: the project's files, and Ansible itself."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from muster.converge.bundle import BundledFile
from muster.converge.digest import PLAYBOOKS
from muster.errors import MusterError

RUNTIME = "runtime"
"""Folder of Ansible in the bundle: its pure Python parts run on any architecture and Python."""

_NOT_CONTENT = frozenset({"__pycache__", ".ansible"})
_ROOTS = ("ansible-core",)
_COMPILED_ONLY = frozenset({"cryptography"})
"""Needed for Ansible's vault only, which is not used: secrets do not come through Ansible."""
_NOT_NEEDED = ("ansible_test/",)


def project_files(project: Path = PLAYBOOKS.parent) -> dict[str, BundledFile]:
    """Return playbooks, roles, plugins and ansible.cfg by their path in the project."""
    found = {"ansible.cfg": _file(project / "ansible.cfg")}
    for path in sorted((project / "playbooks").rglob("*")):
        relative = path.relative_to(project)
        if path.is_file() and not _NOT_CONTENT.intersection(relative.parts):
            found[relative.as_posix()] = _file(path)
    return found


def ansible_files() -> dict[str, BundledFile]:
    """Return ansible-core and what it needs as installed here: the versions of the lock file.

    Nothing is downloaded, here or on a node. Compiled parts stay out; what replaces them is there.

    Raises:
        MusterError: a package that Ansible needs is not installed.

    """
    found: dict[str, BundledFile] = {}
    for name in _needed():
        for file in _distribution(name).files or ():
            path = str(file)
            if _is_wanted(path):
                found[f"{RUNTIME}/{path}"] = _file(Path(str(file.locate())))
    return found


def _needed() -> list[str]:
    """Names of the roots and all that they require here."""
    names: list[str] = []
    queue = list(_ROOTS)
    while queue:
        name = queue.pop()
        if name in names or name in _COMPILED_ONLY:
            continue
        names.append(name)
        for line in _distribution(name).requires or ():
            wanted = Requirement(line)
            # The extra is empty: what only an extra needs is left out.
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                queue.append(wanted.name.lower())
    return sorted(names)


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        what = f"Python package {name} is not installed, so it cannot be put into the bundle"
        raise MusterError(what, hint="Run `make setup`.") from error


def _is_wanted(path: str) -> bool:
    parts = Path(path).parts
    if ".." in parts or _NOT_CONTENT.intersection(parts) or path.startswith(_NOT_NEEDED):
        return False
    if ".dist-info" in parts[0]:
        return parts[-1] == "METADATA"
    return not path.endswith((".so", ".pyc"))


def _file(path: Path) -> BundledFile:
    return BundledFile(data=path.read_bytes(), executable=os.access(path, os.X_OK))
