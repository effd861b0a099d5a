"""Looking at what exists: images, subnets, zones. A wrong id stops the program with one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi

from muster.errors import UsageError


def look(
    ask: Callable[..., Any], what: str, where: str, parent: pulumi.Resource, **query: Any
) -> Any:
    """Ask AWS through the parent's provider, and wait for the answer.

    Raises:
        UsageError: there is no such thing, or AWS could not be asked.

    """
    try:
        return ask(**query, opts=pulumi.InvokeOptions(parent=parent))
    except Exception as error:  # noqa: BLE001 - the SDK raises nothing narrower
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "Check the id, the region (aws:region) and your credentials."
        raise UsageError(f"{what} could not be looked up: {said}", where=where, hint=hint) from None
