"""Real labs for tests: names of their own, swept when the run that made them died."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.errors import MusterError
from muster.lab import doctor, teardown, testing
from muster.lab.paths import lab_root
from muster.lab.testing import TrialLab

PROJECT = Path(__file__).parents[2]


def _sweep() -> None:
    """Remove test labs whose maker is dead; never a lab that a person or another run has."""
    for owner in (lab_root() / "labs").glob("t*/owner.json"):
        record = json.loads(owner.read_text(encoding="utf-8"))
        if record["project"] == str(PROJECT) and not Path(f"/proc/{record['pid']}").exists():
            teardown.remove_lab(owner.parent.name)


@pytest.fixture(scope="session", autouse=True)
def _lab_can_run() -> None:
    try:
        doctor.require(nodes=5)
    except MusterError as error:
        pytest.skip(f"no lab on this machine: {error}")
    _sweep()


@pytest.fixture(scope="session")
def lab_names() -> Iterator[Callable[[], str]]:
    """Give lab names that are this run's own; what was made under them is removed at the end."""
    digest = hashlib.sha256(f"{PROJECT}/{os.getpid()}".encode()).hexdigest()[:4]
    given: list[str] = []

    def name() -> str:
        given.append(f"t{digest}{len(given)}")
        return given[-1]

    yield name
    for lab in given:
        teardown.remove_lab(lab)


@pytest.fixture(scope="session")
def make_lab(lab_names: Callable[[], str]) -> Callable[..., TrialLab]:
    """Make a lab: `make_lab(nodes=4, leaves=2, rails=2, head=True)`."""

    def make(
        *, nodes: int, leaves: int = 1, rails: int = 2, rate: int = 40, head: bool = True
    ) -> TrialLab:
        wish = testing.network_wish(
            lab_names(), nodes=nodes, leaves=leaves, rails=rails, rail_rate_mbit=rate
        )
        return testing.bring_up(wish, project=PROJECT, head=head)

    return make
