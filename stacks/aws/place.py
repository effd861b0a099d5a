"""Where a stack stands and how its resources are called."""

from __future__ import annotations

from dataclasses import dataclass, field

from muster.plan.policies import STACK_TAG

POOL_TAG = "muster:pool"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A stack in a region."""

    stack: str
    region: str
    tags: dict[str, str] = field(default_factory=dict)
    """The spec's own."""
    root_devices: dict[str, str] = field(default_factory=dict)
    """The name that each image gives its root disk."""

    def name(self, *words: str) -> str:
        """Return the name of a resource; Pulumi adds random digits where AWS sees it."""
        return "-".join((self.stack, *words))

    def tagged(self, name: str, pool: str = "") -> dict[str, str]:
        """Return the tags of a resource; those that muster finds it by cannot be overridden."""
        own = {"Name": name, STACK_TAG: self.stack}
        return {**self.tags, **own, **({POOL_TAG: pool} if pool else {})}
