"""Numbers as a person reads them."""

from __future__ import annotations

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_PREFIXES = {"B/s": _LARGE, "B": _LARGE, "bit/s": _LARGE, "FLOP/s": _LARGE, "s": _SMALL}
_RATIO = "deviation"


def scale_for(value: float, unit: str) -> tuple[float, str]:
    """Return what to divide by, and the unit with its prefix: (1e6, "MB/s")."""
    for factor, prefix in _PREFIXES.get(unit, ()):
        if abs(value) >= factor:
            return factor, prefix + unit
    return 1.0, unit


def is_ratio(unit: str) -> bool:
    """Is it a part of something else, as "deviation from the fleet's median"?"""
    return unit.startswith(_RATIO)


def readable(value: float, unit: str) -> str:
    """Write a value with three digits and a fitting prefix, as "4.79 MB/s"."""
    if is_ratio(unit):
        return against(1 + value, 1.0)
    factor, scaled_unit = scale_for(value, unit)
    return f"{number(value / factor)} {scaled_unit}".rstrip()


def number(value: float) -> str:
    """Write a number with three digits, whole where it is whole."""
    if value == int(value) and abs(value) < 1e6:  # noqa: PLR2004 - a plain bound on digits
        return str(int(value))
    digits = f"{value:.3g}"
    return f"{value:.0f}" if "e+" in digits and abs(value) < 1e6 else digits  # noqa: PLR2004


def against(value: float, reference: float) -> str:
    """Say how far a value is from its reference, as "+1.2 %"; empty where that has no sense."""
    if reference <= 0:
        return ""
    percent = (value / reference - 1) * 100
    digits = 0 if abs(percent) >= 10 else 1  # noqa: PLR2004 - one digit after the point below 10 %
    text = f"{percent:+.{digits}f}"
    text = text[1:] if float(text) == 0 else text
    return f"{text.replace('-', '−')} %"  # noqa: RUF001 - the minus sign lines up with the plus
