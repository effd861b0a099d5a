"""All that a node needs to converge itself, in one archive named by its hash. Pure.

Playbooks, roles, rendered files, each node's own variables, and Ansible itself. Never a secret. The
same input gives the same bytes: the hash says whether anything changed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from muster.converge.inventory import Inventory
from muster.errors import MusterError

RENDERED = "{{ inventory_dir }}/../rendered"
"""Where the node's Ansible finds the rendered files, whatever directory holds the bundle."""
NODE_SECRETS = "/etc/muster/boot/secrets"
"""Where secrets lie on a node; they come over ssh, once, and are not part of any bundle."""

_CONNECTION = frozenset(
    {
        "ansible_become",
        "ansible_host",
        "ansible_port",
        "ansible_ssh_common_args",
        "ansible_ssh_private_key_file",
        "ansible_user",
    }
)
_LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}


@dataclass(frozen=True, kw_only=True, slots=True)
class BundledFile:
    """One file of a bundle."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Bundle:
    """An archive and its name."""

    sha256: str
    data: bytes

    @property
    def name(self) -> str:
        """File name of the archive."""
        return f"{self.sha256}.tar.gz"


def pack(files: Mapping[str, BundledFile]) -> Bundle:
    """Write files by path into one archive; order of the mapping, time and owner do not count.

    Raises:
        MusterError: a path leaves the bundle.

    """
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(files):
            _check_path(path)
            entry = tarfile.TarInfo(path)
            entry.size = len(files[path].data)
            entry.mode = 0o755 if files[path].executable else 0o644
            archive.addfile(entry, io.BytesIO(files[path].data))
    data = gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)
    return Bundle(sha256=hashlib.sha256(data).hexdigest(), data=data)


def node_inventory(inventory: Inventory, name: str) -> dict[str, Any]:
    """Return the fleet's inventory as one node needs it: itself, in its groups, without ssh."""
    everyone = inventory["all"]
    groups = {
        group: {"hosts": {name: (entry["hosts"] or {}).get(name)}} | _variables(entry)
        for group, entry in everyone["children"].items()
        if name in (entry["hosts"] or {})
    }
    own = {**(everyone["hosts"][name] or {}), **_LOCAL}
    return {
        "all": {
            "hosts": {name: _without_connection(own)},
            "vars": _without_connection(everyone.get("vars") or {}),
            "children": groups,
        }
    }


def node_files(inventory: Inventory, names: Iterable[str]) -> dict[str, BundledFile]:
    """Return the inventory file of each node."""
    return {
        f"nodes/{name}.json": BundledFile(
            data=json.dumps(node_inventory(inventory, name), indent=1, sort_keys=True).encode()
        )
        for name in names
    }


def refuse_secrets(files: Mapping[str, BundledFile], secrets: Mapping[str, bytes]) -> None:
    """Look for secrets, by name, in all files.

    Raises:
        MusterError: a file holds one, or a secret is empty, so that nothing was looked for.

    """
    for name, secret in secrets.items():
        if not secret.strip():
            what = f"secret {name!r} is empty, so the bundle cannot be searched for it"
            raise MusterError(what)
        for path, file in sorted(files.items()):
            if secret.strip() in file.data:
                what = f"it holds the secret {name!r}; a bundle is readable by every node"
                raise MusterError(what, where=path)


def _check_path(path: str) -> None:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or str(pure) != path or path == ".":
        what = f"{path!r} is not a plain path below the bundle"
        raise MusterError(what)


def _variables(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"vars": entry["vars"]} if entry.get("vars") else {}


def _without_connection(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in variables.items() if key not in _CONNECTION}
