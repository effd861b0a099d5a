"""The environment of a simulated cloud, for a test that talks to it from its own process."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest


def use(monkeypatch: pytest.MonkeyPatch, environ: Mapping[str, str]) -> None:
    """Set what differs.

    What the simulated cloud has set itself, it also takes back; a second owner of the same
    variable would put it back after that.
    """
    for name, value in environ.items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
