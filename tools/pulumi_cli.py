"""Which Pulumi CLI does this project run, and with which defaults?

An installed CLI that is new enough is taken as it is; otherwise one is built (`pulumi_build`). Then
`<venv>/bin/pulumi` is written: the real CLI with this project's defaults (`pulumi_wrapper.sh`).

Run as `.venv/bin/python -m tools.pulumi_cli` from the project's folder.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.pulumi_build import Say, ToolchainError, ask, built_cli, find_go, parse_version

OLDEST = (3, 250)  # the Python SDK is pinned to this minor; the engine must not be older
INSTALL_LINE = "curl -fsSL https://get.pulumi.com | sh"
MARK = b"# Written by muster's tools/pulumi_cli.py; edits are lost."

_BODY = Path(__file__).resolve().parent / "pulumi_wrapper.sh"
_HEAD_BYTES = 400


def _is_wrapper(path: Path) -> bool:
    """Is this file a wrapper of ours? To ask it for its version would go round in a circle."""
    with path.open("rb") as file:
        return MARK in file.read(_HEAD_BYTES)


def installed_cli(environ: Mapping[str, str], say: Say) -> Path | None:
    """The first CLI that is new enough and has its Python language host.

    Looked for on PATH, then where the official installer puts it: the shell that ran the installer
    does not have that folder on its PATH yet.
    """
    official = Path(environ.get("HOME") or Path.home()) / ".pulumi" / "bin"
    folders = [*filter(None, environ.get("PATH", "").split(os.pathsep)), str(official)]
    for folder in dict.fromkeys(folders):
        cli = Path(folder).absolute() / "pulumi"
        if not os.access(cli, os.X_OK) or not cli.is_file() or _is_wrapper(cli):
            continue
        flaw = _flaw(cli, environ=environ, folders=folders)
        if not flaw:
            return cli
        say(f"{cli} is not used: {flaw}")
    return None


def _flaw(cli: Path, *, environ: Mapping[str, str], folders: list[str]) -> str:
    """Why this CLI will not do; empty where it will."""
    answer = ask([str(cli), "version"], env={**environ, "PULUMI_SKIP_UPDATE_CHECK": "1"})
    version = parse_version(answer)
    if version is None:
        return "`pulumi version` gives no version"
    if version[0] != OLDEST[0] or version < OLDEST:
        return f"it is {answer}, and {OLDEST[0]}.{OLDEST[1]} or later is needed"
    beside = os.pathsep.join([str(cli.resolve().parent), *folders])
    if shutil.which("pulumi-language-python", path=beside) is None:
        return "it has no Python language host (pulumi-language-python)"
    return ""


def choose_cli(environ: Mapping[str, str], say: Say) -> Path:
    """The installed CLI, or one built from source.

    Raises:
        ToolchainError: neither can be had; the message has the official install line.

    """
    cli = installed_cli(environ, say)
    if cli is not None:
        return cli
    how = f"Install Pulumi {OLDEST[0]}.{OLDEST[1]} or later with `{INSTALL_LINE}`, then repeat"
    go = find_go(environ)
    if go is None:
        raise ToolchainError(f"neither Pulumi nor Go (1.21 or later) is on this machine. {how}.")
    try:
        return built_cli(environ, go=go, say=say)
    except ToolchainError as error:
        raise ToolchainError(f"{error}. {how}.") from error


def wrapper_text(*, project: Path, venv: Path, cli: Path) -> str:
    """The wrapper script: where this checkout is, then the part that is the same for all."""
    shebang, _, body = _BODY.read_text().partition("\n")
    places = {"muster_project": project, "muster_venv": venv, "muster_cli": cli}
    lines = [f"{name}={shlex.quote(str(place))}" for name, place in places.items()]
    return "\n".join([shebang, MARK.decode(), *lines, body])


def write_wrapper(*, project: Path, venv: Path, cli: Path) -> bool:
    """Put the wrapper into the virtual environment, in one step; was it not there yet?"""
    target = venv / "bin" / "pulumi"
    text = wrapper_text(project=project, venv=venv, cli=cli)
    if target.is_file() and target.read_text(errors="replace") == text:
        return False
    fresh = target.with_name(f".pulumi.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(target)
    return True


def main() -> int:
    """Choose the CLI and write the wrapper."""
    project = Path(__file__).resolve().parent.parent

    def say(line: str) -> None:
        print(f"pulumi: {line}", file=sys.stderr, flush=True)

    try:
        cli = choose_cli(os.environ, say)
        if write_wrapper(project=project, venv=Path(sys.prefix), cli=cli):
            say(f"using {cli}")
    except (ToolchainError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; what was there before is unchanged")
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
