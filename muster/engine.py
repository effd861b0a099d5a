"""The Pulumi command line: stacks, locks of dead processes, and the verbs we run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from muster import shell
from muster.errors import CommandError, MusterError

_QUICK_S = 120.0
_PREVIEW_S = 900.0
_TOLD_CHARACTERS = 400
_CLOCK_STEP_S = 2.0
"""Tolerance between a process's start, in clock ticks since boot, and the wall clock."""
_PARALLEL = 8
"""Resources in work at once: 8 boots in flight keep the machine's load near 8."""


class Engine:
    """Runs `pulumi` for one project directory."""

    def __init__(self, project: Path, environ: Mapping[str, str] | None = None) -> None:
        self._project = project
        self._environ = dict(os.environ if environ is None else environ)

    def ensure_stack(self, stack: str) -> None:
        """Select the stack, making it if it is new."""
        self._must("stack", "select", "--create", stack, "--non-interactive")

    def stack_exists(self, stack: str) -> bool:
        """Is there state for this stack?"""
        listed = json.loads(self._must("stack", "ls", "--json").stdout)
        return any(entry["name"].rsplit("/", maxsplit=1)[-1] == stack for entry in listed)

    def clear_dead_lock(self, stack: str) -> str | None:
        """Remove the lock that a killed `pulumi` of this machine left; returns what was done.

        Only a file backend has lock files. A lock of another machine, or of a process that still
        runs, is left alone.
        """
        locks = [_read_lock(path) for path in self._lock_files(stack)]
        dead = [lock for lock in locks if lock and holder_is_dead(lock)]
        if not dead or len(dead) != len(locks):
            return None
        self._must("cancel", "--yes", "--stack", stack, "--non-interactive")
        pids = ", ".join(str(lock["pid"]) for lock in dead)
        return f"cleared the stack's lock, left by a pulumi that is gone (pid {pids})"

    def up(self, stack: str, *, yes: bool) -> int:
        """Run `pulumi up` on this terminal; returns its exit status."""
        flags = ["--refresh", "--parallel", str(_PARALLEL)]
        return self._watch("up", "--stack", stack, *flags, *_unattended(yes=yes))

    def destroy(self, stack: str, *, yes: bool) -> int:
        """Run `pulumi destroy` on this terminal; returns its exit status."""
        flags = ["--parallel", str(_PARALLEL)]
        return self._watch("destroy", "--stack", stack, *flags, *_unattended(yes=yes))

    def preview(self, stack: str) -> int:
        """Run `pulumi preview --diff` on this terminal; returns its exit status."""
        return self._watch("preview", "--stack", stack, "--diff", "--non-interactive")

    def preview_document(self, stack: str) -> object:
        """Return what `pulumi preview --json` prints; a program that fails is told in it.

        Raises:
            MusterError: it printed no JSON, or did not end in time.

        """
        words = ("preview", "--json", "--stack", stack, "--non-interactive")
        argv = self._argv(*words)
        done = shell.run(argv, timeout_s=_PREVIEW_S, env=self._environ, cwd=self._project)
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            told = " ".join((done.stderr or done.stdout).split())[-_TOLD_CHARACTERS:]
            what = f"`pulumi preview --json` printed no preview: {told or 'nothing'}"
            raise MusterError(what, hint="Run `muster doctor`.") from error

    def is_present(self) -> bool:
        """Is there a Pulumi to run?"""
        return shutil.which(self._argv()[0], path=self._environ.get("PATH")) is not None

    def export(self, stack: str) -> dict[str, Any]:
        """Return the stack's state."""
        exported = self._must("stack", "export", "--stack", stack).stdout
        state: dict[str, Any] = json.loads(exported)
        return state

    def replace(self, stack: str, urn: str) -> int:
        """Run an `up` that replaces one resource and redoes what depends on it."""
        flags = ["--replace", urn, "--parallel", str(_PARALLEL)]
        return self._watch("up", "--stack", stack, *flags, *_unattended(yes=True))

    def _argv(self, *words: str) -> list[str]:
        # The wrapper beside our own Python sets the project's backend and puts its packages first.
        beside = Path(sys.executable).parent / "pulumi"
        return [str(beside) if beside.exists() else "pulumi", *words]

    def _must(self, *words: str) -> shell.Completed:
        try:
            return shell.must_run(
                self._argv(*words), timeout_s=_QUICK_S, env=self._environ, cwd=self._project
            )
        except CommandError as error:
            raise MusterError(error.what, hint=error.hint or "Run `muster doctor`.") from error

    def _watch(self, *words: str) -> int:
        return shell.pass_through(self._argv(*words), env=self._environ, cwd=self._project)

    def _lock_files(self, stack: str) -> list[Path]:
        about = self._must("whoami", "--json", "--verbose")
        url = urlsplit(json.loads(about.stdout)["url"])
        if url.scheme != "file":
            return []
        locks = Path(url.netloc + url.path) / ".pulumi" / "locks" / "organization"
        return sorted(locks.glob(f"*/{stack}/*.json"))


def _unattended(*, yes: bool) -> Sequence[str]:
    return ("--yes", "--skip-preview") if yes else ()


def _read_lock(path: Path) -> dict[str, Any] | None:
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return lock if isinstance(lock, dict) and isinstance(lock.get("pid"), int) else None


def holder_is_dead(lock: Mapping[str, Any]) -> bool:
    """Is the process that took a lock, on this machine, no more? A zombie works on nothing."""
    if lock.get("hostname") != socket.gethostname():
        return False
    try:
        process = psutil.Process(lock["pid"])
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        started_s = process.create_time()
    except psutil.NoSuchProcess:
        return True
    # The number may have been given to a process that began after the lock was taken.
    return started_s > datetime.fromisoformat(lock["timestamp"]).timestamp() + _CLOCK_STEP_S
