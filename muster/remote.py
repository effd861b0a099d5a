"""Running a command on a node: one protocol, a real form over OpenSSH and a recorded one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from muster import shell
from muster.errors import CommandError, RemoteError
from muster.fleet import Fleet
from muster.shell import Completed
from muster.ssh import as_root, flags, node_options

_SSH_FAILED = 255
"""Exit status of ssh itself when it could not connect (ssh(1), EXIT STATUS)."""


def control_directory(store: Path) -> Path:
    """Where the sockets of a stack's shared connections are: short, private, one per store."""
    name = hashlib.sha256(str(store.resolve()).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"muster-{os.getuid()}-{name}"


class Remote(Protocol):
    """What acceptance, schedulers and health need of a node."""

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        """Run a POSIX shell command line on a node by name; the caller judges `rc`.

        Raises:
            RemoteError: the node could not be asked (no connection, host key, time).

        """
        ...


class SshRemote:
    """OpenSSH with one shared connection per node, host keys always verified."""

    def __init__(self, fleet: Fleet, control_dir: Path) -> None:
        """`control_dir` holds connection sockets; keep its path short (a socket has 108 bytes)."""
        self._fleet = fleet
        self._control_dir = control_dir

    def argv(self, node: str) -> list[str]:
        """Return the ssh command line up to and with the destination."""
        access, host = self._fleet.ssh, self._fleet.node(node)
        self._control_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        socket = host.serial if access.known_by == "serial" else "%C"
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "5",
            "ControlMaster": "auto",
            # Of one machine only: a successor may have the address of the one before.
            "ControlPath": f"{self._control_dir}/{socket}",
            "ControlPersist": "60",
            "IdentitiesOnly": "yes",
            "LogLevel": "ERROR",
            "PreferredAuthentications": "publickey",
            "ServerAliveCountMax": "3",
            "ServerAliveInterval": "5",
            "StrictHostKeyChecking": "yes",
            **node_options(access, host),
        }
        start = ["ssh", "-F", "none", "-i", access.key_file, "-p", str(access.port)]
        return [*start, *flags(options), f"{access.user}@{host.host}"]

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        """Run a shell command line on a node, as root; see `Remote.run`."""
        line = as_root(self._fleet.ssh, command)
        try:
            done = shell.run([*self.argv(node), "--", line], timeout_s=timeout_s, stdin=stdin)
        except CommandError as error:
            raise RemoteError(error.what, where=node) from error
        if done.rc == _SSH_FAILED:
            what = f"ssh could not reach it: {done.stderr.strip() or 'no message'}"
            raise RemoteError(what, where=node)
        return done


def close_connections(control_dir: Path) -> None:
    """End the shared connections whose sockets are in a directory, and remove it."""
    if not control_dir.is_dir():
        return
    for socket in control_dir.iterdir():
        # The host name is not used: the socket says which connection is meant.
        shell.run(["ssh", "-F", "none", "-S", str(socket), "-O", "exit", "any"], timeout_s=5)
        socket.unlink(missing_ok=True)
    control_dir.rmdir()


class RecordedRemote:
    """Answers from a table, for tests: `{(node, command): Completed or an error to raise}`."""

    def __init__(self, answers: Mapping[tuple[str, str], Completed | RemoteError]) -> None:
        self._answers = dict(answers)
        self.asked: list[tuple[str, str]] = []

    def run(self, node: str, command: str, *, timeout_s: float, stdin: str = "") -> Completed:
        """Return the recorded answer; an unrecorded question is an error."""
        del timeout_s, stdin
        self.asked.append((node, command))
        answer = self._answers.get((node, command))
        if answer is None:
            what = f"nothing recorded for `{command}`"
            raise RemoteError(what, where=node)
        if isinstance(answer, RemoteError):
            raise answer
        return answer
