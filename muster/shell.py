"""The only caller of subprocess: every program gets a timeout, and its output is kept."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.errors import CommandError

_TAIL_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """What a program did. `rc` is its exit status, or minus the signal that ended it."""

    argv: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Did it exit with 0?"""
        return self.rc == 0

    @property
    def command(self) -> str:
        """The command line, quoted so that it can be pasted into a shell."""
        return shlex.join(self.argv)


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a program to its end, whatever its exit status; the caller judges `rc`.

    Raises:
        CommandError: the program does not exist, or ran past `timeout_s` (it is then killed).

    """
    try:
        done = subprocess.run(
            list(argv),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=None if env is None else dict(env),
            cwd=cwd,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        what = f"`{shlex.join(argv)}` did not end within {timeout_s:g} s"
        raise CommandError(what) from error
    except OSError as error:
        what = f"`{argv[0]}` could not be started: {error.strerror}"
        raise CommandError(what, hint="Run `muster doctor`.") from error
    return Completed(argv=tuple(argv), rc=done.returncode, stdout=done.stdout, stderr=done.stderr)


def must_run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a program that has to succeed.

    Raises:
        CommandError: as `run`, or a non-zero exit status; the message has the end of its output.

    """
    done = run(argv, timeout_s=timeout_s, stdin=stdin, env=env, cwd=cwd)
    if done.ok:
        return done
    tail = (done.stderr.strip() or done.stdout.strip())[-_TAIL_CHARACTERS:]
    what = f"`{done.command}` failed with status {done.rc}: {tail}"
    raise CommandError(what)
