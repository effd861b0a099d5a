"""Actions of IAM that bringing a stack up needs, by what the stack makes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from muster.catalog.citing import load_cited
from muster.catalog.model import Entry

_HERE = Path(__file__).parent

Action = Annotated[str, Field(pattern=r"^[a-z0-9]+:[A-Z][A-Za-z]+$")]
Actions = Annotated[tuple[Action, ...], Field(min_length=1)]


class Permissions(Entry):
    """All of permissions.yaml."""

    source: str
    always: Actions
    network: Actions
    subnet: Actions
    nat: Actions
    endpoints: Actions
    nodes: Actions
    placement: Actions
    fsx: Actions
    repository: Actions
    efs: Actions
    buckets: Actions
    kubernetes: Actions


@cache
def load_permissions(directory: Path = _HERE) -> Permissions:
    """Read and check the actions.

    Raises:
        CatalogError: something that is no action, or no listed source.

    """
    path = directory / "permissions.yaml"
    return load_cited(Permissions, path, lambda found: [(found.source, "")])
