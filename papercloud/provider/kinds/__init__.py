"""The resource types that the paper cloud models, by token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from papercloud.provider.kind import Kind
from papercloud.provider.kinds.buckets import BUCKETS
from papercloud.provider.kinds.capacity import CAPACITY
from papercloud.provider.kinds.groups import GROUPS
from papercloud.provider.kinds.identity import IDENTITY
from papercloud.provider.kinds.instances import INSTANCES
from papercloud.provider.kinds.kubernetes import KUBERNETES
from papercloud.provider.kinds.network import NETWORK
from papercloud.provider.kinds.notes import NOTES
from papercloud.provider.kinds.security import SECURITY
from papercloud.provider.kinds.storage import STORAGE
from papercloud.provider.kinds.templates import TEMPLATES

KINDS: Final[Mapping[str, Kind]] = {
    **NETWORK,
    **SECURITY,
    **CAPACITY,
    **TEMPLATES,
    **INSTANCES,
    **GROUPS,
    **IDENTITY,
    **BUCKETS,
    **STORAGE,
    **KUBERNETES,
    **NOTES,
}
