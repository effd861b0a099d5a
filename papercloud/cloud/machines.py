"""What stands behind an instance: nothing by default, or a machine that something else boots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """An instance that was asked for; `interfaces` counts those that have an address."""

    instance_id: str
    instance_type: str
    pool_tags: Mapping[str, str]
    user_data: str
    interfaces: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine that runs.

    `addresses` has one private IPv4 address per interface that has one, the primary first; None is
    the cloud's own choice. `console` is what GetConsoleOutput returns, with cloud-init's block of
    host keys. `network_nodes` is its place in the network, the top first; empty: the cloud's own.
    """

    addresses: tuple[str, ...] | None
    console: str
    network_nodes: tuple[str, ...] = ()


class Machines(Protocol):
    """Boots machines for instances of the types that it offers."""

    def offers(self, instance_type: str) -> bool:
        """Say whether launches of this type come here."""
        ...

    def start(self, launch: Launch) -> Machine:
        """Boot one, in a thread: the instance is pending until this returns.

        Any exception makes the instance terminated, with its message as the reason.
        """
        ...

    def stop(self, instance_id: str) -> None:
        """End the machine of an instance that was terminated."""
        ...
