"""Which operating system does each machine run? Read from the machines themselves."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

from muster.errors import UsageError
from muster.remote import Remote
from muster.software.model import Os

_FILE = "/etc/os-release"
_TIMEOUT_S = 30.0
_AT_ONCE = 16
_WHOLE_VERSION = frozenset({"ubuntu"})
"""Where a release is more than its first number, as 24.04."""
_CALLED: Mapping[str, str] = {"amzn": "al", "rocky": "rhel", "almalinux": "rhel"}
_JOINED = frozenset({"al"})
"""Whose name and version are one word, as al2023."""


def system_of(text: str, *, where: str) -> Os:
    """Read os-release(5).

    Raises:
        UsageError: the version matrix knows no such system.

    """
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    values = {key.strip(): "".join(shlex.split(value)) for key, _, value in pairs}
    name = _CALLED.get(values.get("ID", ""), values.get("ID", ""))
    version = values.get("VERSION_ID", "")
    if name not in _WHOLE_VERSION:
        version = version.partition(".")[0]
    found = f"{name}{'' if name in _JOINED else '-'}{version}"
    for known in get_args(Os):
        if known == found:
            system: Os = known
            return system
    what = f"runs {values.get('PRETTY_NAME') or found}, which no row of the matrix is for"
    raise UsageError(what, where=where, hint=f"Use an image of {', '.join(get_args(Os))}.")


def systems_of(remote: Remote, names: Iterable[str]) -> dict[str, Os]:
    """Ask every machine.

    Raises:
        RemoteError: one could not be asked.
        UsageError: one runs a system that the matrix does not know.

    """

    def ask(name: str) -> tuple[str, Os]:
        done = remote.run(name, f"cat {_FILE}", timeout_s=_TIMEOUT_S)
        return name, system_of(done.stdout, where=name)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(pool.map(ask, names))
