"""Late consistency: what EC2 has just made is not found yet by the next calls that name it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from papercloud.cloud.codes import PaperError
from papercloud.cloud.world import World

# AWS' code for each kind of id that is not found.
_NOT_FOUND = {
    "vpc": "InvalidVpcID.NotFound",
    "subnet": "InvalidSubnetID.NotFound",
    "sg": "InvalidGroup.NotFound",
    "sgr": "InvalidSecurityGroupRuleId.NotFound",
    "rtb": "InvalidRouteTableID.NotFound",
    "igw": "InvalidInternetGatewayID.NotFound",
    "lt": "InvalidLaunchTemplateId.NotFound",
    "i": "InvalidInstanceID.NotFound",
    "cr": "InvalidCapacityReservationId.NotFound",
    "nat": "NatGatewayNotFound",
    "eipalloc": "InvalidAllocationID.NotFound",
    "vpce": "InvalidVpcEndpointId.NotFound",
}
_ID = re.compile(rf"\b({'|'.join(sorted(_NOT_FOUND, key=len, reverse=True))})-[0-9a-f]{{8,17}}\b")
_MAKES = ("Create", "Run", "Allocate", "Authorize")


class Births:
    """When each id was first seen."""

    def __init__(self) -> None:
        self.at: dict[str, datetime] = {}


def remember(world: World, action: str, body: str) -> None:
    """Note the new ids in the answer to a call that makes something."""
    if world.scenario.visible_after and action.startswith(_MAKES):
        births = world.state(Births).at
        for found in _ID.finditer(body):
            births.setdefault(found.group(), world.now())


def too_early(world: World, params: Any) -> PaperError | None:
    """Return the error for a call that names something too new to be seen by everyone."""
    births = world.state(Births).at
    late = timedelta(seconds=world.scenario.visible_after)
    for text in _texts(params) if late and births else ():
        born = births.get(text)
        if born and world.now() - born < late:
            code = _NOT_FOUND[text.rsplit("-", 1)[0]]
            return PaperError(code, f"The ID '{text}' does not exist")
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
