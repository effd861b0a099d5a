"""Which instance is which node: names that stay, whatever comes and goes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A live instance of a pool, and the node's name that it carries, if any."""

    id: str
    launched: str
    """ISO 8601 in UTC, so that it sorts by time."""
    name: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """Who is who in one pool."""

    names: Mapping[str, str]
    """Instance id by node name, in order of the ordinals."""
    free: tuple[str, ...]
    """Names that no instance has."""
    leftovers: tuple[str, ...]
    """Instances beyond the pool's size; those that go first stand first."""


def assign(pool: str, size: int, members: Iterable[Member]) -> Assignment:
    """Give the names <pool>-1 to <pool>-<size> to the members of a pool.

    Who has a name keeps it; of two with one name the older. The others take what is free in order
    of their launch, so that a lost node's successor gets its name.
    """
    wanted = [f"{pool}-{number}" for number in range(1, size + 1)]
    ordered = sorted(members, key=lambda member: (member.launched, member.id))
    names: dict[str, str] = dict.fromkeys(wanted, "")
    nameless = []
    for member in ordered:
        if names.get(member.name) == "":
            names[member.name] = member.id
        else:
            nameless.append(member)
    # Who was named beyond the size comes last, the highest ordinal first to go.
    nameless.sort(key=lambda member: _ordinal(pool, member.name))
    free = [name for name in wanted if not names[name]]
    for name, member in zip(free, nameless, strict=False):
        names[name] = member.id
    return Assignment(
        names={name: found for name, found in names.items() if found},
        free=tuple(free[len(nameless) :]),
        leftovers=tuple(member.id for member in reversed(nameless[len(free) :])),
    )


def _ordinal(pool: str, name: str) -> int:
    """Return the number in a name of this pool, 0 for any other."""
    number = name.removeprefix(f"{pool}-")
    return int(number) if number.isascii() and number.isdigit() and number != name else 0
