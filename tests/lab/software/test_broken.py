"""Every broken state is named by the role that it belongs to, on real nodes with fake hardware.

Faults go in rounds of one per platform and one run of Ansible: the roles that judge them are the
only plays. After the last round everything is mended, and every role passes again.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from muster.converge.result import PlaybookResult
from muster.lab.fakehw.faults import FAULTS, Fault, patched
from muster.lab.fakehw.node.machine import STATE
from muster.lab.fakehw.platforms import PLATFORMS
from tests.lab.software.conftest import Converged
from tests.lab.software.platforms import Platforms
from tests.lab.software.plays import inventory, judging_play, run
from tests.lab.software.uses import uses

pytestmark = [pytest.mark.lab, pytest.mark.slow]

Round = dict[str, tuple[str, Fault]]
"""Name and fault by platform."""


def rounds() -> list[Round]:
    """Return rounds in which no platform has more than one fault."""
    found: list[Round] = []
    for name, fault in FAULTS.items():
        place = next((r for r in found if fault.platform not in r), None)
        if place is None:
            found.append(place := {})
        place[fault.platform] = (name, fault)
    return found


class Judgement:
    """What validation said while each fault was there."""

    def __init__(self, converged: Converged) -> None:
        self.platforms: Platforms = converged.platforms
        self.work: Path = converged.work
        self.said: dict[str, str] = {}

    def judge(self, faults: Round) -> None:
        states = {platform: self._break(platform, f) for platform, (_, f) in faults.items()}
        result = self._validate(faults)
        for platform, (name, fault) in faults.items():
            self.said[name] = "; ".join(str(f) for f in result.failures if f.host == platform)
            if fault.mend:
                self.platforms.ssh(platform, fault.mend)
            if fault.patch:
                self.platforms.state(platform, states[platform])

    def _break(self, platform: str, fault: Fault) -> dict[str, object]:
        path = self.platforms.root(platform) / STATE
        state: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
        if fault.command:
            self.platforms.ssh(platform, fault.command)
        if fault.patch:
            self.platforms.state(platform, patched(copy.deepcopy(state), fault.patch))
        return state

    def _validate(self, faults: Mapping[str, tuple[str, Fault]]) -> PlaybookResult:
        """Run for each platform the one role that its fault is for."""
        judges = {
            platform: [use for use in uses()[platform] if use.role == fault.role]
            for platform, (_, fault) in faults.items()
        }
        hosts = inventory(self.platforms, judges)
        for platform, (_, fault) in faults.items():
            hosts["all"]["hosts"][platform]["judged_role"] = fault.role
        return run(judging_play(), hosts, self.work)


@pytest.fixture(scope="module")
def judgement(converged: Converged) -> Judgement:
    made = Judgement(converged)
    for faults in rounds():
        made.judge(faults)
    return made


@pytest.mark.parametrize("name", FAULTS)
def test_broken_state_is_named(judgement: Judgement, name: str) -> None:
    assert FAULTS[name].says in judgement.said[name]


def test_all_is_well_again_after_every_fault_is_mended(
    judgement: Judgement, converged: Converged
) -> None:
    assert set(judgement.said) == set(FAULTS)
    result = converged.validate()
    assert result.ok, "\n".join(map(str, result.failures))


def test_every_platform_has_faults() -> None:
    assert {fault.platform for fault in FAULTS.values()} == set(PLATFORMS)
