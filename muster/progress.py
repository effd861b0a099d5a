"""How long work says where it is: one short line of text at a time."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Called with a line such as "converge 12/40: slurmd : Install the unit"; must return at once."""


def silent(_line: str) -> None:
    """Drop the line."""
