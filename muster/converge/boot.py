"""Have the nodes converge themselves: a signed bundle on the head, and a program on each node."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.clock import Clock
from muster.converge.boot_files import (
    DEPOT_DIRECTORY,
    DEPOT_UNIT,
    IN_SERVICE,
    STATUS,
    UNIT,
    BootSettings,
    Placed,
    depot_files,
    node_boot_files,
)
from muster.converge.bundle_release import SIGNATURE, STATEMENT, parse_release
from muster.converge.secret import ensure_munge_key
from muster.converge.signing import allowed_signers, ensure_signing_key
from muster.errors import RemoteError
from muster.fleet import Fleet
from muster.progress import Progress
from muster.remote import Remote

_PARALLEL = 8
_COMMAND_S = 60.0
_COPY_S = 300.0
_FIRST_POLL_S = 2.0
_LONGEST_POLL_S = 15.0
"""Asking costs this machine time for each node: ever less often, as a boot takes minutes."""
_POLL_GROWTH = 1.3
_FINAL = frozenset({"converged", "reboot-required"})
# The files come on standard input, so that nothing secret is in an argument.
_PLACE = """\
import json, os, sys
for path, (mode, text) in json.load(sys.stdin).items():
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700 if mode == 0o600 else 0o755, exist_ok=True)
    data, beside = text.encode(), folder + "/.muster.new"
    if os.path.exists(path) and open(path, "rb").read() == data:
        os.chmod(path, mode)
        continue
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.chmod(beside, mode)
    os.rename(beside, path)
"""
_RECEIVE = (
    "set -e; mkdir -p {directory}; cd {directory}; base64 -d > .{name}.new;"
    " echo '{sha256}  .{name}.new' | sha256sum --check --status; mv .{name}.new {name}"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BootStatus:
    """What a node says of itself; `state` is "silent" where it could not be asked."""

    node: str
    state: str
    message: str = ""
    bundle: str = ""
    in_service: bool = False
    attempt: int = 0
    changed: int | None = None

    def done_with(self, bundle: str) -> bool:
        """Has it come to an end with this bundle?"""
        return self.state in _FINAL and self.bundle == bundle

    def converged_with(self, bundle: str) -> bool:
        """Is it what this bundle says, and in service?"""
        return self.state == "converged" and self.bundle == bundle and self.in_service


def serve(fleet: Fleet, remote: Remote, directory: Path, port: int) -> str:
    """Put the published bundle on the head and serve it; returns the address to pull from."""
    head = fleet.head
    statement = (directory / STATEMENT).read_text(encoding="utf-8")
    release = parse_release(statement)
    archive = f"{release.bundle}.tar.gz"
    have = f"sha256sum {DEPOT_DIRECTORY}/{archive} 2>/dev/null || :"
    if not _run(remote, head.name, have).startswith(release.bundle):
        receive = _RECEIVE.format(directory=DEPOT_DIRECTORY, name=archive, sha256=release.bundle)
        data = base64.b64encode((directory / archive).read_bytes()).decode("ascii")
        _run(remote, head.name, receive, stdin=data, timeout_s=_COPY_S)
    files = {
        f"{DEPOT_DIRECTORY}/{SIGNATURE}": Placed(text=(directory / SIGNATURE).read_text("utf-8")),
        f"{DEPOT_DIRECTORY}/{STATEMENT}": Placed(text=statement),
    }
    _place(remote, head.name, files | depot_files(head.address, port))
    _run(remote, head.name, f"systemctl daemon-reload; systemctl enable --now {DEPOT_UNIT}")
    return f"http://{head.address}:{port}"


def enrol(
    fleet: Fleet, names: Iterable[str], settings: BootSettings, remote: Remote, store_dir: Path
) -> dict[str, str]:
    """Give the nodes program, key and config, and start it; returns why, for nodes it failed on."""
    key = ensure_signing_key(store_dir / "secrets", settings.stack)
    signers = allowed_signers(key, settings.stack)
    munge_key = ensure_munge_key(store_dir / "secrets").read_text(encoding="utf-8")
    enable = f"systemctl daemon-reload; systemctl enable {UNIT}"

    def one(name: str) -> str:
        files = node_boot_files(name, settings, signers=signers, munge_key=munge_key)
        try:
            _place(remote, fleet.node(name).name, files)
            _run(remote, name, enable)
            start(remote, name)
        except RemoteError as error:
            return str(error)
        return ""

    wanted = list(names)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        found = dict(zip(wanted, pool.map(one, wanted), strict=True))
    return {name: why for name, why in found.items() if why}


def start(remote: Remote, name: str) -> None:
    """Have an enrolled node pull and apply again; what it said before is forgotten."""
    _run(remote, name, f"systemctl stop {UNIT}; rm -f {STATUS}; systemctl start {UNIT}")


def start_over(remote: Remote, name: str) -> None:
    """Have a drained node apply again as after a boot: it may reboot, and is out until it is right.

    A node that cannot be reached says so when it is asked for its status.
    """
    with suppress(RemoteError):
        _run(remote, name, f"systemctl stop {UNIT}; rm -f {IN_SERVICE}")
        start(remote, name)


def collect(remote: Remote, names: Iterable[str]) -> dict[str, BootStatus]:
    """Ask the nodes for their status."""
    wanted = list(names)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        return {status.node: status for status in pool.map(lambda n: _status(remote, n), wanted)}


def follow(
    remote: Remote,
    names: Iterable[str],
    bundle: str,
    clock: Clock,
    progress: Progress,
    *,
    timeout_s: float,
) -> dict[str, BootStatus]:
    """Wait until every node is done with the bundle; returns what each says at the end.

    A node that refuses or fails goes on trying, and is waited for: what it lacks may come.
    """
    found: dict[str, BootStatus] = {}
    open_, deadline_s = list(names), clock.monotonic_s() + timeout_s
    total, pause_s = len(open_), _FIRST_POLL_S
    while True:
        found |= collect(remote, open_)
        open_ = [name for name in open_ if not found[name].done_with(bundle)]
        progress(_line(found, open_, total))
        if not open_ or clock.monotonic_s() >= deadline_s:
            return found
        clock.sleep(min(pause_s, deadline_s - clock.monotonic_s()))
        pause_s = min(pause_s * _POLL_GROWTH, _LONGEST_POLL_S)


def parse_status(node: str, text: str) -> BootStatus:
    """Read a status file; one that makes no sense is silence, never success."""
    try:
        data: Mapping[str, Any] = json.loads(text)
        return BootStatus(
            node=node,
            state=str(data["state"]),
            message=str(data["message"]),
            bundle=str(data["bundle"]),
            in_service=data["in_service"] is True,
            attempt=int(data["attempt"]),
            changed=data["changed"],
        )
    except (ValueError, KeyError, TypeError) as error:
        return BootStatus(node=node, state="silent", message=f"no readable status ({error!r})")


def _status(remote: Remote, node: str) -> BootStatus:
    try:
        done = remote.run(node, f"cat {STATUS}", timeout_s=20)
    except RemoteError as error:
        return BootStatus(node=node, state="silent", message=error.what)
    return parse_status(node, done.stdout)


def _line(found: Mapping[str, BootStatus], open_: list[str], total: int) -> str:
    """`boot 6/8; gpu-3 failed: …`."""
    parts = [f"boot {total - len(open_)}/{total}"]
    for name in open_[:3]:
        status = found[name]
        parts.append(f"{name} {status.state}" + (f": {status.message}" if status.message else ""))
    return "; ".join(parts)


def _place(remote: Remote, node: str, files: Mapping[str, Placed]) -> None:
    content = json.dumps({path: (file.mode, file.text) for path, file in files.items()})
    _run(remote, node, f"/usr/bin/python3 -c {shlex.quote(_PLACE)}", stdin=content)


def _run(
    remote: Remote, node: str, command: str, *, stdin: str = "", timeout_s: float = _COMMAND_S
) -> str:
    done = remote.run(node, command, timeout_s=timeout_s, stdin=stdin)
    if not done.ok:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        what = f"a step of its preparation ended with {done.rc}: {said}"
        raise RemoteError(what, where=node)
    return done.stdout
