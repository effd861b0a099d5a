"""How is the Pulumi CLI built where only Go and a module proxy are at hand?

The CLI and its Python language host are compiled from Go modules, whose hashes stand in `go.sum`,
into a cache that all checkouts of a user share. A build has a folder of its own, which is renamed
into place once the result has run: a kill at any moment leaves the cache as it was.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Say = Callable[[str], None]

VERSION = "3.250.0"
# Later hosts are modules of their own that are not released; this is the last one inside `sdk/v3`.
# Newer engines still speak its protocol.
LANGUAGE_VERSION = "3.78.0"
OLDEST_GO = (1, 21)  # the first that fetches the Go release that go.mod asks for

_TOOLS = Path(__file__).resolve().parent
_SDK = "github.com/pulumi/pulumi/sdk/v3"
_BUILD_LIMIT_S = 3600.0
_ASK_LIMIT_S = 120.0
_PROGRESS_EVERY_S = 15.0
_OUTPUT_LINES_KEPT = 5


class ToolchainError(Exception):
    """What lacks and what to do about it, on one line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """One binary to compile: where its go.mod is, its package, and how its version is set."""

    module: Path
    package: str
    version: str
    tags: str

    @property
    def name(self) -> str:
        """The file name of the binary."""
        return self.package.rsplit("/", 1)[-1]


PROGRAMS = (
    Program(
        module=_TOOLS / "pulumi-language-python",
        package=f"{_SDK}/python/cmd/pulumi-language-python",
        version=LANGUAGE_VERSION,
        tags="",
    ),
    Program(
        module=_TOOLS / "pulumi",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        version=VERSION,
        tags="osusergo,grpcnotrace",
    ),
)
SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")


def parse_version(text: str) -> tuple[int, int] | None:
    """Major and minor of the first version in `text`, such as `v3.250.0` or `go1.26.8`."""
    found = re.search(r"(?<![\d.])(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def ask(argv: list[str], *, env: Mapping[str, str], cwd: Path | None = None) -> str:
    """Standard output of a quick command; empty where it cannot run or fails."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_LIMIT_S,
            check=False,
            env=dict(env),
            cwd=cwd,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where built CLIs are kept: the user's cache directory."""
    cache = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(cache) / "muster" / "pulumi"


def find_go(environ: Mapping[str, str]) -> str | None:
    """The Go compiler on PATH, or where its own archive puts it, if it is new enough."""
    path = os.pathsep.join([environ.get("PATH", ""), "/usr/local/go/bin"])
    go = shutil.which("go", path=path)
    version = parse_version(ask([go, "version"], env=environ)) if go else None
    return go if version and version >= OLDEST_GO else None


@contextmanager
def _sole_builder(cache: Path, say: Say) -> Iterator[None]:
    """Hold the cache's lock; the kernel lets go of it however this process ends."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process builds the Pulumi CLI; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built_cli(environ: Mapping[str, str], *, go: str, say: Say) -> Path:
    """The CLI from the cache; built first where it is not there yet.

    Raises:
        ToolchainError: a module cannot be fetched or compiled, or the result does not run.

    """
    cache = cache_folder(environ)
    cli = cache / VERSION / "pulumi"
    if cli.exists():
        return cli
    with _sole_builder(cache, say):
        if cli.exists():
            return cli
        for left_over in cache.glob("building-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix="building-", dir=cache))
        try:
            _build_all(folder, go=go, environ=environ, say=say)
            folder.chmod(0o755)
            folder.rename(cli.parent)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return cli


def _build_all(folder: Path, *, go: str, environ: Mapping[str, str], say: Say) -> None:
    env = {**environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    say(f"no Pulumi CLI found: building {VERSION} from Go modules (about 5 minutes, once per user)")
    for program in PROGRAMS:
        _compile(program, folder / program.name, go=go, env=env, say=say)
    sdk = ask([go, "list", "-m", "-f", "{{.Dir}}", _SDK], env=env, cwd=PROGRAMS[-1].module)
    if not sdk:
        raise ToolchainError(f"`go list -m {_SDK}` does not say where the module's files are")
    for script in SCRIPTS:
        target = folder / Path(script).name
        shutil.copyfile(Path(sdk) / script, target)
        target.chmod(0o755)
    with tempfile.TemporaryDirectory() as home:  # even `version` writes logs
        version = ask([str(folder / "pulumi"), "version"], env={**env, "PULUMI_HOME": home})
    if version != f"v{VERSION}":
        what = f"the Pulumi CLI was built but `pulumi version` says {version!r}, not v{VERSION}"
        raise ToolchainError(what)


def _compile(program: Program, target: Path, *, go: str, env: Mapping[str, str], say: Say) -> None:
    """Run `go build -v`, which names each package on a line of its own as it is compiled."""
    stamp = f"-s -w -X {_SDK}/go/common/version.Version=v{program.version}"
    argv = [go, "build", "-v", "-trimpath", "-buildvcs=false", "-tags", program.tags]
    argv += ["-ldflags", stamp, "-o", str(target), program.package]
    started_s = time.monotonic()
    last_lines: list[str] = []
    with subprocess.Popen(
        argv,
        cwd=program.module,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        limit = threading.Timer(_BUILD_LIMIT_S, process.kill)
        limit.start()
        try:
            last_lines = _follow(process, program.name, say=say)
        finally:
            limit.cancel()
            process.kill()
    if process.returncode != 0:
        tail = " | ".join(last_lines)
        what = f"`go build {program.package}` failed after {time.monotonic() - started_s:.0f} s"
        raise ToolchainError(f"{what}: {tail or 'no output'}")


def _follow(process: subprocess.Popen[str], name: str, *, say: Say) -> list[str]:
    """Say how far the build is, now and then; give back the last lines that Go wrote."""
    started_s = said_s = time.monotonic()
    fetched = compiled = 0
    kept: list[str] = []
    for line in process.stderr or ():
        fetched += line.startswith("go: downloading")
        compiled += not line.startswith("go: ")
        kept = [*kept, line.strip()][-_OUTPUT_LINES_KEPT:]
        now_s = time.monotonic()
        if now_s - said_s >= _PROGRESS_EVERY_S:
            said_s = now_s
            done = f"{fetched} modules fetched, {compiled} packages built"
            say(f"{name}: {done}, {now_s - started_s:.0f} s")
    process.wait()
    return kept
