"""The roles on every platform: they converge, then change nothing, and read back what they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.converge.inventory import Inventory
from muster.converge.result import PlaybookResult
from tests.lab.software.conftest import Platforms
from tests.lab.software.plays import inventory, role_plays, run
from tests.lab.software.uses import ROLES, uses

pytestmark = pytest.mark.lab


class Converged:
    """The platforms after the first run."""

    def __init__(self, platforms: Platforms, work: Path) -> None:
        self.platforms = platforms
        self.work = work
        self.uses = uses()
        self.inventory: Inventory = inventory(platforms, self.uses)

    def play(self, tasks_from: str = "main", *, check: bool = False) -> PlaybookResult:
        return run(role_plays(ROLES, tasks_from), self.inventory, self.work, check=check)


@pytest.fixture(scope="module")
def converged(platforms: Platforms, tmp_path_factory: pytest.TempPathFactory) -> Converged:
    made = Converged(platforms, tmp_path_factory.mktemp("software"))
    first = made.play()
    assert first.ok, "\n".join(map(str, first.failures))
    assert first.changed > 0
    return made


def test_every_role_that_a_platform_needs_ran_there(converged: Converged) -> None:
    assert "software_nvidia_fabric" in converged.inventory["all"]["children"]
    for platform in ("mi300x-roce", "cpu"):
        assert not any(use.role.startswith("nvidia") for use in converged.uses[platform])


def test_validate_passes_on_every_platform(converged: Converged) -> None:
    result = converged.play("validate")
    assert result.ok, "\n".join(map(str, result.failures))


def test_second_run_changes_nothing_and_neither_does_a_dry_run(converged: Converged) -> None:
    assert converged.play().changed_tasks == ()
    assert converged.play(check=True).changed_tasks == ()
