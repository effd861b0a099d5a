"""Calls as data, and what answers them: handlers of our own first, moto for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from papercloud.cloud.codes import PaperError, sends
from papercloud.cloud.world import REGION, Tick, World


@dataclass(frozen=True, slots=True)
class Call:
    """One call: parameters are named as in botocore's model."""

    service: str
    action: str
    params: Mapping[str, Any]
    world: World
    region: str = REGION

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Return a parameter."""
        return self.params.get(name, otherwise)

    @property
    def backend(self) -> Any:
        """What moto keeps of the service in the region of the call."""
        return self.world.backend(self.service, self.region)

    def refuse(self, code: str, message: str) -> PaperError:
        """Return the error to raise; only codes that AWS sends are possible.

        Raises:
            ValueError: AWS does not answer this call with this code.

        """
        if not sends(self.service, self.action, code):
            raise ValueError(f"{self.service} never answers {self.action} with {code!r}")
        return PaperError(code, message)

    def tags(self, resource: str) -> dict[str, str]:
        """Return the tags that EC2's TagSpecifications give to a kind of resource."""
        return {
            tag["Key"]: tag.get("Value", "")
            for row in self.get("TagSpecifications") or ()
            if row.get("ResourceType") == resource
            for tag in row.get("Tags") or ()
        }

    def filters(self) -> dict[str, list[str]]:
        """Return EC2's filters by name."""
        return {row["Name"]: list(row.get("Values") or ()) for row in self.get("Filters") or ()}


Handler = Callable[[Call], Mapping[str, Any] | None]
"""Returns the answer; raises a PaperError; None hands the call on to moto."""

_HANDLERS: dict[tuple[str, str], Handler] = {}
_REFUSED: dict[str, frozenset[str]] = {}
_KEPT: set[tuple[str, str]] = set()
_TICKS: list[Tick] = []


def handles(service: str, *actions: str) -> Callable[[Handler], Handler]:
    """Register what answers the actions of a service."""

    def register(handler: Handler) -> Handler:
        for action in actions:
            if (service, action) in _HANDLERS:
                raise ValueError(f"{service}:{action} has two handlers")
            _HANDLERS[service, action] = handler
        return handler

    return register


def only_handlers(service: str, *but: str) -> None:
    """Keep a service from moto, so that nothing acts on a second, hidden state; `but` may pass."""
    _REFUSED[service] = frozenset(but)


def not_modelled(service: str, *actions: str) -> None:
    """Keep some actions from moto, whose way would go past the rules that hold here."""
    _KEPT.update((service, action) for action in actions)


def ticks(tick: Tick) -> Tick:
    """Register what happens as time passes."""
    _TICKS.append(tick)
    return tick


def pass_time(world: World) -> None:
    """Let everything happen that is due by now."""
    for tick in _TICKS:
        tick(world)


def is_ours(service: str, action: str) -> bool:
    """Does a handler here know this action?"""
    return (service, action) in _HANDLERS


def refused(service: str, action: str) -> bool:
    """Is the action unknown here and kept from moto?"""
    kept = service in _REFUSED and action not in _REFUSED[service]
    return (kept or (service, action) in _KEPT) and not is_ours(service, action)


def answer(call: Call) -> Mapping[str, Any] | None:
    """Answer a call by its handler; None where moto is to answer."""
    handler = _HANDLERS.get((call.service, call.action))
    return handler(call) if handler else None


def handled() -> Iterable[tuple[str, str]]:
    """Return the service and action of every handler."""
    return sorted(_HANDLERS)
