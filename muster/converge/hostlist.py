"""How Slurm writes many node names in short: gpu-[1-8,10]. `muster.schedulers` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

_NUMBERED = re.compile(r"^(?P<prefix>.*?)(?P<number>0|[1-9][0-9]*)$")


def compress(names: Iterable[str]) -> str:
    """Write names as a host list; order is by prefix, then number.

    Numbers with leading zeros are left as they are: their width is part of the name.
    """
    plain: set[str] = set()
    numbers: dict[str, set[int]] = {}
    for name in names:
        match = _NUMBERED.match(name)
        if match is None or match["prefix"].endswith("0"):
            plain.add(name)
        else:
            numbers.setdefault(match["prefix"], set()).add(int(match["number"]))
    parts = [_bracketed(prefix, sorted(found)) for prefix, found in sorted(numbers.items())]
    return ",".join([*sorted(plain), *parts])


def _bracketed(prefix: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]}"
    ranges = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        ranges.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return f"{prefix}[{','.join(ranges)}]"
