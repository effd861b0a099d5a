"""`python -m papercloud serve` and `python -m papercloud run -- COMMAND`."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer

from muster.errors import MusterError
from muster.shell import pass_through
from papercloud.cloud.scenario import Scenario
from papercloud.server import BANNER, PaperCloud

app = typer.Typer(add_completion=False, no_args_is_help=True, help=f"{BANNER} AWS on loopback.")

ScenarioFile = Annotated[Path | None, typer.Option("--scenario", help="JSON or YAML file.")]


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 0,
    scenario: ScenarioFile = None,
) -> None:
    """Serve until interrupted; prints the lines to export."""
    with PaperCloud(_scenario(scenario), port=port) as cloud:
        typer.echo(f"# {BANNER}; interrupt to end it. In another shell:", err=True)
        typer.echo(f"export AWS_ENDPOINT_URL={cloud.endpoint}")
        typer.echo("export AWS_ACCESS_KEY_ID=paper AWS_SECRET_ACCESS_KEY=paper")
        typer.echo("export AWS_DEFAULT_REGION=us-east-2 MUSTER_PAPERCLOUD=1")
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        ended.wait()


@app.command(context_settings={"ignore_unknown_options": True})
def run(
    command: Annotated[list[str], typer.Argument(help="After --, the program to run.")],
    scenario: ScenarioFile = None,
    state: Annotated[Path | None, typer.Option(help="Keeps Pulumi's state here.")] = None,
) -> None:
    """Run a program against a new simulated cloud, and end with its exit status."""
    with (
        tempfile.TemporaryDirectory(prefix="papercloud-") as scratch,
        PaperCloud(_scenario(scenario)) as cloud,
    ):
        typer.echo(f"# {BANNER}: {cloud.endpoint}", err=True)
        status = pass_through(command, env=cloud.environ(state or Path(scratch)))
    raise typer.Exit(status)


def _scenario(path: Path | None) -> Scenario:
    return Scenario.read(path) if path else Scenario()


def main() -> None:
    """Run the command line; a failure is one line."""
    try:
        app()
    except MusterError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
