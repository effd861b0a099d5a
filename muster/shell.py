"""The only caller of subprocess: every program gets a timeout, and its output is kept."""

from __future__ import annotations

import os
import selectors
import shlex
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.errors import CommandError

_TAIL_CHARACTERS = 400
_TAIL_LINES = 200
_TICK_S = 1.0


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


def pass_through(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> int:
    """Run a program on this terminal, with its input and output, and return its exit status.

    For programs a person watches and can interrupt; there is no time limit. An interrupt (Ctrl-C)
    reaches the program itself, which ends in its own way; we wait for it.

    Raises:
        CommandError: the program could not be started.

    """
    try:
        process = subprocess.Popen(list(argv), env=None if env is None else dict(env), cwd=cwd)
    except OSError as error:
        what = f"`{argv[0]}` could not be started: {error.strerror}"
        raise CommandError(what, hint="Run `muster doctor`.") from error
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


def stream(
    argv: Sequence[str],
    *,
    timeout_s: float,
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a program and hand on each line of its output, errors included, as it comes.

    `on_tick` is called about once a second, output or not. `stdout` of the result has the last
    lines only.

    Raises:
        CommandError: as `run`.

    """
    tail: deque[str] = deque(maxlen=_TAIL_LINES)

    def keep(line: str) -> None:
        tail.append(line)
        on_line(line)

    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
        )
    except OSError as error:
        what = f"`{argv[0]}` could not be started: {error.strerror}"
        raise CommandError(what, hint="Run `muster doctor`.") from error
    with child:
        try:
            _pump(child, time.monotonic() + timeout_s, keep, on_tick)
        except BaseException:
            child.kill()
            raise
        if child.poll() is None:
            child.kill()
            what = f"`{shlex.join(argv)}` did not end within {timeout_s:g} s"
            raise CommandError(what)
    return Completed(argv=tuple(argv), rc=child.returncode, stdout="\n".join(tail), stderr="")


def _pump(
    child: subprocess.Popen[bytes],
    deadline_s: float,
    on_line: Callable[[str], None],
    on_tick: Callable[[], None],
) -> None:
    """Read until the program ends or the deadline passes."""
    if child.stdout is None:
        return
    rest, next_tick_s, open_ = b"", time.monotonic() + _TICK_S, True
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline_s and (open_ or child.poll() is None):
            if open_ and selector.select(timeout=_TICK_S):
                chunk = os.read(child.stdout.fileno(), 65536)
                open_ = bool(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    on_line(line.decode(errors="replace"))
            elif not open_:
                time.sleep(_TICK_S / 20)
            if time.monotonic() >= next_tick_s:
                on_tick()
                next_tick_s = time.monotonic() + _TICK_S
    if rest:
        on_line(rest.decode(errors="replace"))
