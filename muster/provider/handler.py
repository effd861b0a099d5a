"""What one resource type does, in plain Python values; nothing here knows of Pulumi."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from muster.progress import Progress

Properties = dict[str, Any]


class Unknown:
    """A value that a preview cannot know yet."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a diff found: `keys` differ, of which `replaces` cannot be changed in place."""

    keys: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


class InitFailedError(Exception):
    """The resource exists but is not right: its outputs are kept, and the next `up` tries again."""

    def __init__(self, resource_id: str, outputs: Properties, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.resource_id = resource_id
        self.outputs = outputs
        self.reasons = tuple(reasons)


class Handler(ABC):
    """One resource type. State is the inputs plus what `create` and `update` compute."""

    resource_type: ClassVar[str]
    computed: ClassVar[tuple[str, ...]]
    """Outputs that are not inputs."""
    kept_on_update: ClassVar[frozenset[str]] = frozenset()
    """Computed outputs that an update never changes."""
    replace_on: ClassVar[frozenset[str]] = frozenset()
    """Inputs that cannot be changed in place."""
    not_compared: ClassVar[frozenset[str]] = frozenset()
    """Inputs whose change alone needs no action on this resource."""

    def diff(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
        """Compare the state with new inputs; unknown inputs count as changed."""
        compared = [key for key in new if key not in self.not_compared]
        keys = [k for k in compared if new[k] is UNKNOWN or old.get(k) != new[k]]
        inputs_of_old = set(old) - set(self.computed) - self.not_compared
        keys += sorted(inputs_of_old - set(new))
        keys += self.damage(old)
        return Change(
            keys=tuple(keys), replaces=tuple(key for key in keys if key in self.replace_on)
        )

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """Name the outputs that say the real thing is broken (as a refresh saw), so mend it."""
        del state
        return []

    def preview(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Properties:
        """What the state will be, as far as it can be known before the work is done."""
        known = {k: old[k] for k in self.kept_on_update if old and k in old}
        return {**dict.fromkeys(self.computed, UNKNOWN), **known, **new}

    @abstractmethod
    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Make it, or finish what a killed create began; returns its id and whole state."""

    @abstractmethod
    def read(self, resource_id: str, state: Properties) -> Properties | None:
        """Look at the real thing; returns the state as it is, or None where it is gone."""

    @abstractmethod
    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Change or mend it in place; returns the whole state."""

    @abstractmethod
    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Remove it; removing what is gone already is no error."""
