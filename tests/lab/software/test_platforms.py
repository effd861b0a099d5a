"""The roles on every platform: they converge, then change nothing, and read back what they did."""

from __future__ import annotations

import pytest

from muster.lab.fakehw.platforms import PLATFORMS
from tests.lab.software.conftest import Converged
from tests.lab.software.plays import software
from tests.lab.software.uses import ROLES

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_every_role_has_a_platform_that_needs_it(converged: Converged) -> None:
    groups = converged.inventory["all"]["children"]
    assert {f"software_{role}" for role in ROLES} == set(groups)
    assert {play["hosts"] for play in software()} >= set(groups)


def test_no_platform_has_roles_of_hardware_that_it_lacks(converged: Converged) -> None:
    roles = {name: {use.role for use in converged.uses[name]} for name in PLATFORMS}
    assert not [r for name in ("mi300x-roce", "cpu") for r in roles[name] if "nvidia" in r]
    assert "rocm" in roles["mi300x-roce"]
    assert {"efa", "nvidia_fabric"} <= roles["h100-efa"]
    assert not {"efa", "nvidia_fabric", "doca_ofed"} & roles["l40s-ethernet"]


def test_validate_passes_on_every_platform_after_its_reboot(converged: Converged) -> None:
    result = converged.validate()
    assert result.ok, "\n".join(map(str, result.failures))


def test_second_run_changes_nothing_and_neither_does_a_dry_run(converged: Converged) -> None:
    assert converged.converge().changed_tasks == ()
    dry = converged.converge(check=True)
    assert dry.ok, "\n".join(map(str, dry.failures))
    assert dry.changed_tasks == ()
