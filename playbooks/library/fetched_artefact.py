# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Fetch a file whose sha256 is known, and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

DOCUMENTATION = r"""
module: fetched_artefact
short_description: Fetches a file whose sha256 is known
description:
  - Keeps it as C(<cache>/<sha256>/<name>). A file without a sha256 is refused before anything is
    downloaded; one with another content, or half of it, is removed again.
  - A kept file is read again each time, so that one that was altered is fetched anew.
options:
  artefact:
    description: The file, with name, version, url (https or file) and sha256.
    type: dict
    required: true
  cache:
    description: Where files are kept.
    type: path
    default: /var/cache/muster
  unpack:
    description: Whether to unpack it, a tar archive, to C(<cache>/<sha256>/tree).
    type: bool
    default: false
author: muster
"""

EXAMPLES = r"""
- name: Fetch the installer
  fetched_artefact:
    artefact: {name: tool.tar.gz, url: https://example.org/tool.tar.gz, sha256: "{{ sha256 }}"}
    unpack: true
"""

RETURN = r"""
path:
  description: The file.
  returned: always
  type: str
tree:
  description: The directory that it was unpacked to.
  returned: always
  type: str
"""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIMEOUT_S = 60
_BLOCK = 1 << 20

Open = Callable[[str], BinaryIO]


class RefusedError(Exception):
    """The file cannot be had, or is not the one that was asked for."""


def checked(artefact: Mapping[str, str]) -> Mapping[str, str]:
    """Return the artefact, if it says enough to be fetched safely."""
    name = str(artefact.get("name") or "")
    if not name or name != Path(name).name or name in {".", ".."}:
        message = f"artefact {name!r} has no plain file name"
        raise RefusedError(message)
    if not _SHA256.fullmatch(str(artefact.get("sha256") or "")):
        message = f"{name} has no sha256, so it is not downloaded: pin it first"
        raise RefusedError(message)
    if not str(artefact.get("url") or "").startswith(("https://", "file://")):
        message = f"{name} has no url that starts with https:// or file://"
        raise RefusedError(message)
    return artefact


def digest(path: Path) -> str:
    """Return the sha256 of a file; empty where there is none."""
    if not path.is_file():
        return ""
    found = hashlib.sha256()
    with path.open("rb") as stream:  # nodes may have Python 3.9, without hashlib.file_digest
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def fetch(artefact: Mapping[str, str], path: Path, open_address: Open) -> None:
    """Download to a file beside it; only one with the right content gets its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part.")
    try:
        with os.fdopen(handle, "wb") as target, open_address(artefact["url"]) as source:
            shutil.copyfileobj(source, target, _BLOCK)
            target.flush()
            os.fsync(target.fileno())
        found = digest(Path(temporary))
        if found != artefact["sha256"]:
            message = (
                f"{artefact['name']} from {artefact['url']} has sha256 {found}, "
                f"expected {artefact['sha256']}"
            )
            raise RefusedError(message)
        Path(temporary).chmod(0o644)
        Path(temporary).rename(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()


def unpack(path: Path, tree: Path) -> None:
    """Unpack to a directory that appears when it is whole."""
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".tree.") as directory:
        fresh = Path(directory) / "tree"
        with tarfile.open(path) as archive:
            archive.extractall(fresh, filter="data")
        fresh.rename(tree)


def settle(
    artefact: Mapping[str, str], cache: Path, *, unpacked: bool, check: bool, open_address: Open
) -> dict[str, Any]:
    """Bring the file, and what is in it, to where it should be; say what changed."""
    sha256 = checked(artefact)["sha256"]
    folder = cache / sha256
    path, tree = folder / artefact["name"], folder / "tree"
    fetching = digest(path) != sha256
    unpacking = unpacked and (fetching or not tree.is_dir())
    if fetching and not check:
        shutil.rmtree(folder, ignore_errors=True)
        fetch(artefact, path, open_address)
    if unpacking and not check:
        unpack(path, tree)
    return {"changed": fetching or unpacking, "path": str(path), "tree": str(tree)}


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "artefact": {"type": "dict", "required": True},
            "cache": {"type": "path", "default": "/var/cache/muster"},
            "unpack": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    asked = module.params
    try:
        answer = settle(
            asked["artefact"],
            Path(asked["cache"]),
            unpacked=asked["unpack"],
            check=module.check_mode,
            open_address=lambda url: open_url(url, timeout=_TIMEOUT_S),
        )
    except (RefusedError, OSError, tarfile.TarError) as error:
        module.fail_json(msg=str(error))
        return
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
