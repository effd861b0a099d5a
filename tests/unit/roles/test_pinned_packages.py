"""Exact packages: what is refused, what is done, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.roles.modules import load

packages = load("pinned_packages")
masked = load("masked_units")
HELD = "hold\tinstalled\tdriver\t2.0-1\n"
WANTED = {"driver": "2.0-1"}


class FakeApt:
    """dpkg and apt-get over a small set of packages."""

    def __init__(self, answer: str = "", simulation: str = "", status: int = 0) -> None:
        self.answer = answer
        self.simulation = simulation
        self.status = status
        self.asked: list[list[str]] = []

    def __call__(self, command: list[str], **given: Any) -> tuple[int, str, str]:
        self.asked.append(command)
        if command[0] == "dpkg-query":
            return 0, self.answer, ""
        if command[:2] == ["dpkg", "--compare-versions"]:
            return (0 if command[2] < command[4] else 1), "", ""
        if "--simulate" in command:
            return self.status, self.simulation, "E: Version '9' for 'driver' was not found"
        if command[:2] == ["apt-get", "install"]:
            self.answer = HELD.replace("hold", "install")
        if command[:2] == ["dpkg", "--set-selections"]:
            self.answer = HELD
        return 0, "", ""

    def names(self) -> list[str]:
        return [" ".join(command[:2]) for command in self.asked]


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_LOCK", tmp_path / "lock")
    monkeypatch.setattr(packages, "_UPDATES", tmp_path / "updates")


def apply(fake: FakeApt, *, downgrade: bool = False, check: bool = False) -> list[str]:
    apt = packages.Apt(fake, 1, allow_downgrade=downgrade)
    done: list[str] = packages.apply(apt, WANTED, allow_downgrade=downgrade, check=check)
    return done


@pytest.mark.parametrize("version", ["", "latest", "*", "1.0 || rm", None])
def test_a_package_without_an_exact_version_is_refused(version: str | None) -> None:
    with pytest.raises(packages.RefusedError, match="exact version"):
        packages.wanted_of([{"name": "driver", "version": version}])


def test_what_is_installed_and_held_is_left_alone() -> None:
    fake = FakeApt(HELD)
    assert apply(fake) == []
    assert fake.names() == ["dpkg-query --show"]


def test_what_is_missing_is_installed_and_held() -> None:
    fake = FakeApt(simulation="Inst driver (2.0-1 stable [amd64])\nInst new-dependency (1 x)\n")
    assert apply(fake) == ["driver is not installed, 2.0-1 expected"]
    assert fake.names()[-3:] == ["apt-get install", "dpkg --set-selections", "dpkg-query --show"]


def test_a_lost_hold_is_put_back_without_an_installation() -> None:
    fake = FakeApt(HELD.replace("hold", "install"))
    assert apply(fake) == ["driver 2.0-1 is not held"]
    assert "apt-get install" not in fake.names()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Inst libc6 [2.36] (2.37 stable [amd64])", "libc6 2.36 would change"),
        ("Remv slurmd [23.11]", "slurmd would be removed"),
    ],
)
def test_other_packages_are_never_touched(line: str, said: str) -> None:
    fake = FakeApt(simulation=f"Inst driver (2.0-1)\n{line}\n")
    with pytest.raises(packages.RefusedError, match=said):
        apply(fake)
    assert "apt-get install" not in fake.names()


def test_a_downgrade_is_refused_unless_allowed() -> None:
    newer = HELD.replace("2.0-1", "3.0-1")
    with pytest.raises(packages.RefusedError, match=r"3\.0-1 is installed, 2\.0-1 is older"):
        apply(FakeApt(newer))
    allowed = FakeApt(newer)
    apply(allowed, downgrade=True)
    assert any("--allow-downgrades" in command for command in allowed.asked)


def test_a_version_that_nobody_offers_is_named_after_the_lists_were_read_anew() -> None:
    fake = FakeApt(status=100)
    with pytest.raises(packages.RefusedError, match=r"cannot install driver=2\.0-1: E: Version"):
        apply(fake)
    assert "apt-get update" in fake.names()


def test_check_mode_only_asks() -> None:
    fake = FakeApt()
    assert apply(fake, check=True) == ["driver is not installed, 2.0-1 expected"]
    assert set(fake.names()) == {"dpkg-query --show", "apt-get --simulate"}


def test_an_installation_that_was_cut_off_is_finished_first() -> None:
    fake = FakeApt(HELD.replace("installed", "half-configured"))
    (packages._UPDATES).mkdir()
    (packages._UPDATES / "0001").touch()
    assert apply(fake) == ["driver 2.0-1 is only half installed"]
    order = fake.names()
    assert order.index("dpkg --force-confold") < order.index("apt-get --simulate")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "driver is not installed, 2.0-1 expected"),
        (HELD.replace("2.0-1", "1.9-1"), "driver 1.9-1 is installed, 2.0-1 expected"),
        (HELD.replace("installed", "unpacked"), "driver 2.0-1 is only half installed"),
        (HELD.replace("hold", "install"), "driver 2.0-1 is not held"),
        (HELD.replace("hold\tinstalled", "deinstall\tconfig-files"), "driver is not installed"),
    ],
)
def test_each_difference_is_named(answer: str, said: str) -> None:
    (found,) = packages.faults(WANTED, packages.parse_dpkg(answer))
    assert said in found


def test_an_answer_that_was_cut_short_is_refused() -> None:
    with pytest.raises(packages.RefusedError, match="cannot read"):
        packages.parse_dpkg("hold\tinstalled\tdri")


def test_rpm_packages_are_held_only_by_a_lock_on_that_version() -> None:
    locked = packages.parse_versionlock("driver-0:2.0-1.*\nother-3:1-1.*\n")
    text = "driver\t0:2.0-1\nother\t3:2-1\npackage more is not installed\n"
    found = packages.parse_rpm(text, locked)
    wanted = {"driver": "2.0-1", "other": "3:2-1", "more": "1"}
    assert packages.faults(wanted, found) == [
        "more is not installed, 1 expected",
        "other 3:2-1 is not held",
    ]


@given(st.text(alphabet="abInstRemv []()\n:.-", max_size=80))
def test_any_simulation_can_be_read(text: str) -> None:
    for step in packages.parse_simulation(text):
        assert step.action in {"Inst", "Remv", "Purg"}


UNITS = "Id=a.timer\nLoadState={}\nActiveState={}\n"


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (UNITS.format("loaded", "active"), "a.timer is loaded, masked expected"),
        (UNITS.format("masked", "active"), "a.timer is masked but still active"),
        ("", "a.timer is unknown, masked expected"),
        ("Id=a.timer\nLoadSt", "a.timer is unknown, masked expected"),
    ],
)
def test_a_unit_that_may_run_is_named(shown: str, said: str) -> None:
    assert masked.faults(shown, ["a.timer"]) == [said]


def test_masked_units_that_rest_are_fine() -> None:
    assert masked.faults(UNITS.format("masked", "inactive"), ["a.timer"]) == []


def test_only_units_that_run_are_stopped() -> None:
    shown = f"{UNITS.format('loaded', 'active')}\n{UNITS.format('not-found', 'inactive')}"
    shown = shown.replace("a.timer", "b.timer", 1)
    assert masked.running(shown, ["b.timer", "a.timer", "c.timer"]) == ["b.timer"]
