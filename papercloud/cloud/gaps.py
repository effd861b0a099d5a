"""Everything that answers in moto's place; importing a module registers its handlers."""

from __future__ import annotations

from importlib import import_module

_MODULES = (
    "blocks",
    "boots",
    "groups",
    "instances",
    "placement",
    "quotas",
    "reservations",
    "resource_groups",
    "schedules",
    "tags",
    "topology",
    "types",
)


def load() -> None:
    """Register all handlers; once is enough."""
    for name in _MODULES:
        import_module(f"papercloud.cloud.{name}")
