"""Real labs for tests: names of their own, swept when the run that made them died."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from muster.errors import MusterError
from muster.files import append_line
from muster.lab import doctor, teardown, testing
from muster.lab.paths import lab_root
from muster.lab.testing import TrialLab

PROJECT = Path(__file__).parents[2]
_NUMBERS = itertools.count()


def _sweep() -> None:
    """Remove the labs of test runs that died; never one of a person or of a run that lives."""
    for record in _records().glob("*.txt"):
        if Path(f"/proc/{record.stem}").exists():
            continue
        for name in record.read_text(encoding="utf-8").split():
            teardown.remove_lab(name)
        record.unlink()


def _records() -> Path:
    """Where each test run writes the names of its labs, in a file named by its pid."""
    return lab_root() / "test-runs"


@pytest.fixture(scope="session", autouse=True)
def _lab_can_run() -> None:
    try:
        doctor.require(nodes=5)
    except MusterError as error:
        pytest.skip(f"no lab on this machine: {error}")
    _sweep()


@contextmanager
def _names() -> Iterator[Callable[[], str]]:
    """Give lab names that are this run's own; what was made under them is removed at the end."""
    digest = hashlib.sha256(f"{PROJECT}/{os.getpid()}".encode()).hexdigest()[:4]
    given: list[str] = []

    def name() -> str:
        given.append(f"t{digest}{next(_NUMBERS)}")
        append_line(_records() / f"{os.getpid()}.txt", given[-1])
        return given[-1]

    yield name
    for lab in given:
        teardown.remove_lab(lab)
    (_records() / f"{os.getpid()}.txt").unlink(missing_ok=True)


@pytest.fixture(scope="session")
def naming_labs() -> Callable[[], AbstractContextManager[Callable[[], str]]]:
    """Hand out lab names for a while of one's own: for a lab that several modules share."""
    return _names


@pytest.fixture(scope="module")
def lab_names() -> Iterator[Callable[[], str]]:
    """Give lab names for one module.

    Removed at the end of each module: a lab that idles takes time from what the next one measures.
    """
    with _names() as name:
        yield name


@pytest.fixture(scope="module")
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
