"""The clock: wrong, following none, or unknown, each is said."""

from __future__ import annotations

import pytest

from tests.unit.roles.modules import load

clock = load("clock_offset")
GOOD = (
    "0A000001,10.0.0.1,3,1790000000.1,0.000012,-0.000034,0.0001,1.5,"
    "0.0,0.1,0.0002,0.0003,64.2,Normal"
)


def test_a_clock_that_is_a_little_off_is_fine() -> None:
    assert clock.fault(f"{GOOD}\n", 0.01) == ("", pytest.approx(0.000046))


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (GOOD.replace("0.000012", "-0.25"), "0.250034 s off 10.0.0.1, at most 0.01 s expected"),
        (GOOD.replace("Normal", "Not synchronised"), "follows no other"),
        (GOOD.replace("-0.000034", "nan"), "nan s off"),
        (GOOD[:40], "the clock is unknown"),
        ("506 Cannot talk to daemon", "the clock is unknown"),
        ("", "the clock is unknown"),
    ],
)
def test_a_wrong_clock_is_named(shown: str, said: str) -> None:
    assert said in clock.fault(shown, 0.01)[0]
