"""The calls for on-demand capacity reservations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.capacity import free_places
from papercloud.cloud.codes import PaperError
from papercloud.cloud.reservation_book import Reservation, free_in, reservations
from papercloud.cloud.tags import of_resource, tag_resource, tags_match
from papercloud.cloud.types import facts, is_offered, zone_ids
from papercloud.cloud.world import World


@handles("ec2", "CreateCapacityReservation")
def _create(call: Call) -> dict[str, Any]:
    world, kind = call.world, call.get("InstanceType")
    by_id = {zone_id: name for name, zone_id in zone_ids().items()}
    zone = call.get("AvailabilityZone") or by_id.get(call.get("AvailabilityZoneId", ""), "")
    if zone not in zone_ids():
        raise call.refuse("InvalidParameterValue", f"Invalid availability zone: [{zone}]")
    if facts(kind) is None:
        raise call.refuse("InvalidParameterValue", f"Invalid value '{kind}' for InstanceType")
    if not is_offered(world, kind, zone):
        raise call.refuse("Unsupported", f"{kind} is not supported in {zone}")
    if free_places(world, kind, zone) < int(call.get("InstanceCount")):
        raise _no_room(kind, zone)
    found = Reservation(
        id=world.new_id("cr"),
        type=kind,
        zone=zone,
        count=int(call.get("InstanceCount")),
        made=world.now(),
        begins=world.now() + timedelta(seconds=world.scenario.cr_pending_s),
        ends=call.get("EndDate"),
        match=call.get("InstanceMatchCriteria", "open"),
        platform=call.get("InstancePlatform"),
        tenancy=call.get("Tenancy", "default"),
        ebs_optimized=bool(call.get("EbsOptimized")),
        placement_group=call.get("PlacementGroupArn"),
    )
    reservations(world)[found.id] = found
    tag_resource(world, found.id, call.tags("capacity-reservation"))
    return {"CapacityReservation": described(world, found)}


@handles("ec2", "DescribeCapacityReservations")
def _describe(call: Call) -> dict[str, Any]:
    named, filters = call.get("CapacityReservationIds") or (), call.filters()
    for reservation_id in named:
        _existing(call, reservation_id)
    rows = [
        described(call.world, found)
        for found in reservations(call.world).values()
        if (not named or found.id in named) and tags_match(call.world, found.id, filters)
    ]
    return {"CapacityReservations": [row for row in rows if _kept(row, filters)]}


@handles("ec2", "ModifyCapacityReservation")
def _modify(call: Call) -> dict[str, Any]:
    found = _existing(call, call.get("CapacityReservationId"))
    if found.block or found.state(call.world.now()) not in {"active", "pending"}:
        what = f"The capacity reservation '{found.id}' cannot be modified in its state"
        raise call.refuse("InvalidCapacityReservationState", what)
    count = call.get("InstanceCount")
    if count is not None:
        more = int(count) - found.count
        if more > free_places(call.world, found.type, found.zone):
            raise _no_room(found.type, found.zone)
        found.count = int(count)
    if call.get("EndDateType") == "unlimited":
        found.ends = None
    found.ends = call.get("EndDate", found.ends)
    found.match = call.get("InstanceMatchCriteria", found.match)
    return {"Return": True}


@handles("ec2", "CancelCapacityReservation")
def _cancel(call: Call) -> dict[str, Any]:
    found = _existing(call, call.get("CapacityReservationId"))
    if found.block or found.state(call.world.now()) not in {"active", "pending", "scheduled"}:
        what = f"The capacity reservation '{found.id}' cannot be cancelled in its state"
        raise call.refuse("InvalidCapacityReservationState", what)
    found.cancelled = True
    return {"Return": True}


def described(world: World, found: Reservation) -> dict[str, Any]:
    """Return a reservation as DescribeCapacityReservations shows it."""
    optional = {"EndDate": found.ends, "PlacementGroupArn": found.placement_group}
    return {
        "CapacityReservationId": found.id,
        "CapacityReservationArn": world.arn("ec2", f"capacity-reservation/{found.id}"),
        "OwnerId": world.account,
        "InstanceType": found.type,
        "InstancePlatform": found.platform,
        "AvailabilityZone": found.zone,
        "AvailabilityZoneId": zone_ids()[found.zone],
        "Tenancy": found.tenancy,
        "TotalInstanceCount": found.count,
        "AvailableInstanceCount": free_in(world, found),
        "EbsOptimized": found.ebs_optimized,
        "EphemeralStorage": False,
        "State": found.state(world.now()),
        "StartDate": found.begins,
        "EndDateType": "limited" if found.ends else "unlimited",
        "InstanceMatchCriteria": found.match,
        "CreateDate": found.made,
        "ReservationType": "capacity-block" if found.block else "default",
        "Tags": of_resource(world, found.id),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _kept(row: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    keys = {
        "instance-type": "InstanceType",
        "state": "State",
        "availability-zone": "AvailabilityZone",
        "reservation-type": "ReservationType",
    }
    return all(row[key] in filters[name] for name, key in keys.items() if name in filters)


def _existing(call: Call, reservation_id: str) -> Reservation:
    found = reservations(call.world).get(reservation_id)
    if found is None:
        what = f"The capacity reservation '{reservation_id}' does not exist"
        raise call.refuse("InvalidCapacityReservationId.NotFound", what)
    return found


def _no_room(kind: str, zone: str) -> PaperError:
    what = f"Insufficient capacity for {kind} in {zone}."
    return PaperError("InsufficientInstanceCapacity", what)
