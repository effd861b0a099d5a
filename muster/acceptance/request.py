"""What is asked of an acceptance run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from muster.acceptance.policy import AcceptancePolicy
from muster.catalog.model import Catalog, InstanceType
from muster.errors import UsageError
from muster.fleet import Fleet, Node


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """Lets an unknown or failed check through, for a reason and until a day."""

    check: str
    reason: str
    until: date


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptRequest:
    """A fleet, what its nodes should be, and how thoroughly they are to be proved.

    `wanted` is how many nodes must be accepted. `only` names the nodes to test; the others keep the
    verdict that they had. Services are units that must be active on every node.
    """

    fleet: Fleet
    catalog: Catalog
    policy: AcceptancePolicy
    wanted: int
    waivers: tuple[Waiver, ...] = ()
    only: frozenset[str] | None = None
    converge_failures: Mapping[str, str] = field(default_factory=dict)
    """Per node why the last converge failed there, "" where it did not; else it is not known."""
    shared_dir: str = "/shared"
    shared_marker: str = ".muster-fs-id"
    services: tuple[str, ...] = ("ssh", "munge", "slurmd", "chrony")
    disk_dir: str = "/var/tmp"  # noqa: S108 - the node's own disk, in a directory made there
    busy_wait_s: float = 60.0
    version: str = ""
    image_digest: str = ""

    def __post_init__(self) -> None:
        """Refuse a fleet whose nodes could not hand in what they found."""
        if not self.shared_dir:
            what = "the fleet has no shared file system, where tests leave what they found"
            hint = "Give the stack one under storage, or leave accept out of its stages."
            raise UsageError(what, where=self.fleet.stack, hint=hint)

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes to test."""
        chosen = self.only
        return tuple(n for n in self.fleet.nodes if chosen is None or n.name in chosen)

    def kind(self, node: Node) -> InstanceType:
        """Return the node's instance type.

        Raises:
            UsageError: the catalog has no such type.

        """
        if node.type not in self.catalog.types:
            what = f"type {node.type!r} of {node.name} is not in the catalog"
            raise UsageError(what, hint="Run `muster catalog show` for the types.")
        return self.catalog.types[node.type]


def current_waivers(waivers: Iterable[Waiver], today: date) -> dict[str, Waiver]:
    """Return those that still hold, by check."""
    return {waiver.check: waiver for waiver in waivers if today <= waiver.until}
