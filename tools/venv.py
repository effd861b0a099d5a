"""Does `.venv` hold exactly the packages of the lock file, and this project?

The hash of the lock is kept as a stamp in `.venv`, written last: a second call does nothing, and an
interrupted one is taken up again. Run as `python3 -m tools.venv` from the project's folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import time
import venv
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
LOCK = "requirements-dev.lock"

_STAMP = "muster-setup"
_PROGRESS_EVERY_S = 5.0
_INSTALL_LIMIT_S = 1800.0
_LINES_KEPT = 15


class SetupError(Exception):
    """What went wrong and what to do, on one line."""


def say(line: str) -> None:
    """Write one line where progress goes."""
    print(f"venv: {line}", file=sys.stderr, flush=True)


def stamp_text(project: Path) -> str:
    """Where the project is (scripts in `.venv` hold that path), and what should be installed."""
    digest = hashlib.sha256()
    for name in (LOCK, "pyproject.toml"):
        digest.update((project / name).read_bytes())
    return f"{project}\n{digest.hexdigest()}\n"


def moved(stamp: str, project: Path) -> bool:
    """Was the environment made for a project in another place?"""
    return bool(stamp) and stamp.splitlines()[0] != str(project)


def package_count(lock: str) -> int:
    """How many packages the lock file pins."""
    return sum("==" in line for line in lock.splitlines() if line[:1].isalnum())


def progress_lines(output: Iterable[str], total: int) -> Iterable[str]:
    """What to say of pip's output: how many packages it has got, now and then."""
    said_s = time.monotonic()
    got = 0
    fetching = True
    for line in output:
        got += line.startswith("Collecting ")
        if line.startswith("Installing collected packages") and got:
            fetching = False
            yield f"{got} of {total} packages fetched, installing them"
        elif fetching and got and time.monotonic() - said_s >= _PROGRESS_EVERY_S:
            said_s = time.monotonic()
            yield f"{got} of {total} packages fetched"


def _runs(python: Path) -> bool:
    try:
        done = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _create(folder: Path) -> None:
    say(f"making {folder} with Python {sys.version.split()[0]}")
    try:
        venv.EnvBuilder(clear=True, symlinks=True, with_pip=True).create(folder)
    except (subprocess.CalledProcessError, OSError) as error:
        what = f"{folder} cannot be made ({error})"
        raise SetupError(f"{what}. On Debian: apt-get install python3-venv.") from error


def _pip(python: Path, *arguments: str, total: int) -> None:
    argv = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    log = python.parent.parent / "pip.log"
    with (
        log.open("w+") as errors,
        subprocess.Popen(
            [*argv, "--progress-bar", "off", *arguments],
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        for line in progress_lines(process.stdout or (), total):
            say(line)
        process.wait(_INSTALL_LIMIT_S)
        errors.seek(0)
        tail = " | ".join(errors.read().split("\n")[-_LINES_KEPT:]).strip(" |")
    if process.returncode != 0:
        raise SetupError(f"pip failed with status {process.returncode}: {tail}")


def set_up(project: Path) -> None:
    """Bring `.venv` to what the lock says, if it is not there yet.

    Raises:
        SetupError: the environment cannot be made, or pip failed.

    """
    folder = project / ".venv"
    python, stamp = folder / "bin" / "python", folder / _STAMP
    has = stamp.read_text() if stamp.is_file() else ""
    wanted = stamp_text(project)
    if has == wanted and _runs(python):
        return
    if moved(has, project) or not _runs(python):
        _create(folder)
    total = package_count((project / LOCK).read_text())
    say(f"installing the {total} packages of {LOCK} (about a minute, once)")
    _pip(python, "--require-hashes", "-r", LOCK, total=total)
    _pip(python, "--no-deps", "--no-build-isolation", "--editable", ".", total=1)
    stamp.write_text(wanted)


def main() -> int:
    """Set up under a lock: two calls at once do not mix their files."""
    guard = PROJECT / ".cache" / "setup.lock"
    guard.parent.mkdir(exist_ok=True)
    with guard.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            set_up(PROJECT)
        except (SetupError, OSError, subprocess.TimeoutExpired) as error:
            say(str(error))
            return 1
        except KeyboardInterrupt:
            say("interrupted; the next call goes on")
            return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
