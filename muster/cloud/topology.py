"""Where instances sit, asked of an API that is throttled and answers late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muster.clock import Clock
from muster.cloud.calls import CloudError, call, in_batches
from muster.cloud.gateway import Gateway
from muster.fabric.placement import Placement, place_instances
from muster.progress import Progress

_IDS_A_CALL = 100
_UNKNOWN_ID = "InvalidInstanceID.NotFound"


def read_placement(
    gateway: Gateway,
    ids: Sequence[str],
    clock: Clock,
    progress: Progress,
    *,
    limit_s: float,
    pause_s: float,
) -> Placement:
    """Ask until every instance is placed or the time is over; a refusal is a reason, no error."""
    end_s = clock.monotonic_s() + limit_s
    found = place_instances(ids, ())
    while True:
        try:
            rows = [row for batch in in_batches(ids, _IDS_A_CALL) for row in _ask(gateway, batch)]
        except CloudError as error:
            why = dict.fromkeys(found.unplaced, str(error))
            return Placement(places=found.places, unplaced=why)
        found = place_instances(ids, rows)
        if not found.unplaced or clock.monotonic_s() >= end_s:
            return found
        progress(f"placement: {len(found.places)} of {len(ids)} nodes")
        clock.sleep(pause_s)


def _ask(gateway: Gateway, ids: Sequence[str]) -> list[Mapping[str, Any]]:
    """Ask for some; one unknown id refuses a whole call, so the rest is asked in halves."""
    try:
        pages = list(call(gateway, "ec2", "describe_instance_topology", InstanceIds=list(ids)))
    except CloudError as error:
        if error.code != _UNKNOWN_ID:
            raise
        if len(ids) == 1:
            return []
        middle = len(ids) // 2
        return [*_ask(gateway, ids[:middle]), *_ask(gateway, ids[middle:])]
    return [row for page in pages for row in page.get("Instances", ())]
