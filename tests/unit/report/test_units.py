"""Numbers as people read them."""

from __future__ import annotations

import pytest

from muster.report.units import against, readable


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (4.79e6, "B/s", "4.79 MB/s"),
        (48.2e9, "B/s", "48.2 GB/s"),
        (0.0, "B/s", "0 B/s"),
        (310.0, "W", "310 W"),
        (1234567.0, "", "1.23e+06"),
        (123456.7, "things", "123457 things"),
        (0.0004, "s", "400 µs"),
        (5.81e-07, "s", "581 ns"),
        (12.0, "s", "12 s"),
        (-0.8, "deviation from the fleet's median", "−80 %"),  # noqa: RUF001
    ],
)
def test_value_has_three_digits_and_a_fitting_prefix(value: float, unit: str, text: str) -> None:
    assert readable(value, unit) == text


@pytest.mark.parametrize(
    ("value", "reference", "text"),
    [
        (0.2, 1.0, "−80 %"),  # noqa: RUF001
        (1.012, 1.0, "+1.2 %"),
        (1.0, 1.0, "0.0 %"),
        (0.9999, 1.0, "0.0 %"),
        (1.0, 0.0, ""),
    ],
)
def test_deviation_is_signed_percent(value: float, reference: float, text: str) -> None:
    assert against(value, reference) == text
