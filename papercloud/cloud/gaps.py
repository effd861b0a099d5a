"""Everything that answers in moto's place; importing a module registers its handlers."""

from __future__ import annotations

from importlib import import_module

_MODULES = (
    "access_entries",
    "addons",
    "associations",
    "blocks",
    "boots",
    "caller_policies",
    "cluster_security_groups",
    "clusters",
    "elastic_file_systems",
    "file_systems",
    "groups",
    "instances",
    "managed_policies",
    "placement",
    "pricing",
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
