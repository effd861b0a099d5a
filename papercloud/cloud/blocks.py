"""Capacity Blocks: what can be bought, what was bought, and how they end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from papercloud.cloud.boots import terminate
from papercloud.cloud.calls import Call, handles, ticks
from papercloud.cloud.reservation_book import (
    Reservation,
    free_in,
    held_instances,
    reservations,
)
from papercloud.cloud.reservations import described
from papercloud.cloud.scenario import BlockOffering
from papercloud.cloud.tags import tag_resource, tags_match
from papercloud.cloud.types import zone_ids
from papercloud.cloud.world import World


@dataclass
class _Sold:
    offerings: set[str] = field(default_factory=set)


@ticks
def end_instances(world: World) -> None:
    """End the instances of blocks that are about to end, as EC2 does."""
    for found in reservations(world).values():
        until = found.usable_until
        if until is not None and world.now() >= until:
            message = "The Capacity Block ends"
            held = held_instances(world, found.id)
            terminate(world, held, "Server.ScheduledStop", message)


@handles("ec2", "DescribeCapacityBlockOfferings")
def _offerings(call: Call) -> dict[str, Any]:
    rows = [row for row in call.world.scenario.block_offerings if _fits(call, row)]
    return {"CapacityBlockOfferings": [_offering(call.world, row) for row in rows]}


def _fits(call: Call, row: BlockOffering) -> bool:
    begins, ends = _span(call.world, row)
    earliest, latest = call.get("StartDateRange"), call.get("EndDateRange")
    return (
        row.id not in call.world.state(_Sold).offerings
        and call.get("InstanceType") in {None, row.type}
        and call.get("InstanceCount") in {None, row.count}
        and call.get("CapacityDurationHours") in {None, row.hours}
        and (earliest is None or begins >= earliest)
        and (latest is None or ends <= latest)
    )


@handles("ec2", "PurchaseCapacityBlock")
def _purchase(call: Call) -> dict[str, Any]:
    sold, wanted = call.world.state(_Sold).offerings, call.get("CapacityBlockOfferingId")
    rows = [row for row in call.world.scenario.block_offerings if row.id == wanted]
    if not rows or wanted in sold:
        what = f"The Capacity Block offering '{wanted}' does not exist or is no longer available"
        raise call.refuse("InvalidCapacityBlockOfferingId.NotFound", what)
    sold.add(wanted)
    row = rows[0]
    begins, ends = _span(call.world, row)
    found = Reservation(
        id=call.world.new_id("cr"),
        type=row.type,
        zone=row.zone,
        count=row.count,
        made=call.world.now(),
        begins=begins,
        ends=ends,
        block=True,
        match="targeted",
        platform=call.get("InstancePlatform", "Linux/UNIX"),
    )
    reservations(call.world)[found.id] = found
    tag_resource(call.world, found.id, call.tags("capacity-reservation"))
    return {
        "CapacityReservation": described(call.world, found),
        "CapacityBlocks": [_block(call.world, found)],
    }


@handles("ec2", "DescribeCapacityBlocks")
def _blocks(call: Call) -> dict[str, Any]:
    named, filters = call.get("CapacityBlockIds") or (), call.filters()
    found = [one for one in reservations(call.world).values() if one.block]
    return {
        "CapacityBlocks": [
            _block(call.world, one)
            for one in found
            if (not named or _block_id(one) in named) and tags_match(call.world, one.id, filters)
        ]
    }


@handles("ec2", "DescribeCapacityBlockStatus")
def _status(call: Call) -> dict[str, Any]:
    named = call.get("CapacityBlockIds") or ()
    found = [one for one in reservations(call.world).values() if one.block]
    return {
        "CapacityBlockStatuses": [
            _status_of(call.world, one) for one in found if not named or _block_id(one) in named
        ]
    }


def _status_of(world: World, found: Reservation) -> dict[str, Any]:
    free = free_in(world, found)
    return {
        "CapacityBlockId": _block_id(found),
        "InterconnectStatus": "ok",
        "TotalCapacity": found.count,
        "TotalAvailableCapacity": free,
        "TotalUnavailableCapacity": 0,
        "CapacityReservationStatuses": [
            {
                "CapacityReservationId": found.id,
                "TotalCapacity": found.count,
                "TotalAvailableCapacity": free,
                "TotalUnavailableCapacity": 0,
            }
        ],
    }


def _block(world: World, found: Reservation) -> dict[str, Any]:
    return {
        "CapacityBlockId": _block_id(found),
        "AvailabilityZone": found.zone,
        "AvailabilityZoneId": zone_ids()[found.zone],
        "CapacityReservationIds": [found.id],
        "StartDate": found.begins,
        "EndDate": found.ends,
        "CreateDate": found.made,
        "State": found.state(world.now()),
    }


def _block_id(found: Reservation) -> str:
    return f"cb-{found.id.removeprefix('cr-')}"


def _offering(world: World, row: BlockOffering) -> dict[str, Any]:
    begins, ends = _span(world, row)
    return {
        "CapacityBlockOfferingId": row.id,
        "InstanceType": row.type,
        "AvailabilityZone": row.zone,
        "InstanceCount": row.count,
        "StartDate": begins,
        "EndDate": ends,
        "CapacityBlockDurationHours": row.hours,
        "CapacityBlockDurationMinutes": row.hours * 60,
        "UpfrontFee": f"{row.upfront_usd:.4f}",
        "CurrencyCode": "USD",
        "Tenancy": "default",
    }


def _span(world: World, row: BlockOffering) -> tuple[datetime, datetime]:
    begins = world.scenario_set + timedelta(seconds=row.starts_in_s)
    return begins, begins + timedelta(hours=row.hours)
