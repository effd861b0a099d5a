"""Which nodes does a Slurm host list expression name? Pure."""

from __future__ import annotations

import re

from muster.errors import UnknownOutcomeError

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_NODES = 100_000
_NOTHING = frozenset({"", "(null)", "None", "none"})


class HostListError(UnknownOutcomeError):
    """An expression of a form that we do not know: better no answer than a wrong one."""


def expand(expression: str) -> tuple[str, ...]:
    """Return the names in "gpu-[1-3,07],head", in order; nothing for Slurm's "(null)".

    Raises:
        HostListError: not an expression that Slurm prints.

    """
    if expression.strip() in _NOTHING:
        return ()
    found: list[str] = []
    for part in _split(expression.strip()):
        found.extend(_expand_part(part))
        if len(found) > _MAX_NODES:
            what = f"host list names more than {_MAX_NODES} nodes"
            raise HostListError(what)
    return tuple(found)


def _split(expression: str) -> list[str]:
    """Split at the commas that are not within brackets."""
    parts, depth, current = [], 0, ""
    for character in expression:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    parts.append(current)
    if depth != 0 or not all(parts):
        what = f"host list {expression!r} is not of a form that Slurm prints"
        raise HostListError(what)
    return parts


def _expand_part(part: str) -> list[str]:
    """Expand the first bracket, then what follows it."""
    bracket = _BRACKET.search(part)
    if bracket is None:
        if "[" in part or "]" in part:
            what = f"host list part {part!r} has an open bracket"
            raise HostListError(what)
        return [part]
    tails = _expand_part(part[bracket.end() :])
    head = part[: bracket.start()]
    return [f"{head}{number}{tail}" for number in _numbers(bracket.group(1)) for tail in tails]


def _numbers(text: str) -> list[str]:
    found: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            what = f"host list range {item!r} is not a number or a range"
            raise HostListError(what)
        first, last = match.group(1), match.group(2) or match.group(1)
        if not 0 <= int(last) - int(first) <= _MAX_NODES:
            what = f"host list range {item!r} runs backwards or is too long"
            raise HostListError(what)
        width = len(first) if first.startswith("0") else 0
        found.extend(f"{n:0{width}d}" for n in range(int(first), int(last) + 1))
    return found
