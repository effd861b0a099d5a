"""What policies are about: resources as a cloud is asked for them, and the policies they break."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Unknown:
    """A value that is not known before something else is built."""

    def __repr__(self) -> str:
        """Show as what it is."""
        return "<unknown>"


UNKNOWN = Unknown()


def is_list(value: Any) -> bool:
    """Is it a list on the wire?"""
    return isinstance(value, list | tuple)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """What is asked for; `taggable` says whether its type takes tags."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    taggable: bool = False

    def at(self, *path: str) -> Any:
        """Return a value by its path: None where it is not given, UNKNOWN where not known."""
        found: Any = self.inputs
        for key in path:
            if found is UNKNOWN:
                return UNKNOWN
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def each(self, *path: str) -> tuple[Any, ...]:
        """Return the members of a list; those that are not known are left out."""
        found = self.at(*path)
        return tuple(one for one in found if one is not UNKNOWN) if is_list(found) else ()

    @property
    def is_launched(self) -> bool:
        """Does a launch template say what this instance is?"""
        return self.at("launchTemplate") is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Break:
    """A policy that a resource breaks: what is wrong, and what to do."""

    policy: str
    type: str
    name: str
    what: str
    do: str

    def __str__(self) -> str:
        """Return one line."""
        kind = self.type.rsplit(":", 1)[-1]
        return f"policy {self.policy}: {kind} {self.name}: {self.what}. {self.do}"
