"""How verbs speak: progress on standard error, results on standard output, JSON when asked."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

from muster.progress import Progress

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
StackName = Annotated[str, typer.Argument(metavar="STACK", help="Stack, as in Pulumi.STACK.yaml.")]


def print_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


class ProgressLine:
    """One moving line on a terminal; plain lines where the output is kept in a log."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._last = ""

    def __enter__(self) -> Progress:
        """Begin; returns the function to call with each line."""
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()
        return self._show

    def __exit__(self, *_error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def _show(self, line: str) -> None:
        if self._status is not None:
            self._status.update(line)
        elif line != self._last:
            self._console.print(line, markup=False, soft_wrap=True)
        self._last = line
