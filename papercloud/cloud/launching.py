"""The one way in which instances begin, whoever asks: capacity, quota, reservations, interfaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from moto.core.types import Base64EncodedString

from papercloud.cloud import boots, interfaces
from papercloud.cloud.asked import Asked, check
from papercloud.cloud.calls import not_modelled
from papercloud.cloud.capacity import allowed_by_quota, free_places
from papercloud.cloud.codes import PaperError
from papercloud.cloud.placement import find as find_group
from papercloud.cloud.reservation_book import Reservation, free_in, open_for, reservations
from papercloud.cloud.resource_groups import members_of
from papercloud.cloud.world import World

# Other ways to launch; moto's would begin instances without capacity, quota or interfaces.
not_modelled("ec2", "CreateFleet", "RequestSpotInstances", "RequestSpotFleet")


@dataclass(frozen=True, slots=True)
class Seat:
    """Room for some instances, in a reservation or outside of all."""

    reservation: str | None
    places: int


def launch(world: World, wanted: Asked, *, least: int, most: int) -> Any:
    """Start between `least` and `most` instances; return moto's reservation with all of them.

    Raises:
        PaperError: with EC2's code: a rule is broken, or there is not room for `least`.

    """
    zone = zone_of(world, wanted)
    check(world, wanted, zone)
    quota = allowed_by_quota(world, wanted.type, wanted.market)
    if quota < least:
        what = (
            "You have requested more vCPU capacity than your current vCPU limit allows for the "
            "instance bucket that the specified instance type belongs to."
        )
        raise PaperError("VcpuLimitExceeded", what)
    seats = _seats(world, wanted, zone)
    room = min(most, quota, sum(seat.places for seat in seats))
    if room < least:
        raise _no_room(wanted, zone)
    if _free_addresses(world, wanted) < least * interfaces.addresses(wanted):
        raise PaperError("InsufficientFreeAddressesInSubnet", "Not enough free addresses in subnet")
    made = _run(world, wanted, zone, room)
    for instance, reservation in zip(made.instances, _spread(seats), strict=False):
        _finish(world, wanted, instance, reservation)
    return made


def zone_of(world: World, wanted: Asked) -> str:
    """Return the zone of a launch: its subnet's, or the one it names."""
    backend = world.backend("ec2")
    if wanted.subnet:
        return str(backend.get_subnet(wanted.subnet).availability_zone)
    named = (wanted.values.get("Placement") or {}).get("AvailabilityZone")
    return str(named or f"{backend.region_name}a")


def _seats(world: World, wanted: Asked, zone: str) -> list[Seat]:
    target = wanted.reservation.get("CapacityReservationTarget") or {}
    if target.get("CapacityReservationId"):
        return [_targeted(world, wanted, target["CapacityReservationId"])]
    if target.get("CapacityReservationResourceGroupArn"):
        members = members_of(world, target["CapacityReservationResourceGroupArn"])
        found = [reservations(world)[member] for member in members if member in reservations(world)]
        fitting = [one for one in found if one.type == wanted.type and one.zone == zone]
        return [Seat(one.id, free_in(world, one)) for one in fitting]
    preference = wanted.reservation.get("CapacityReservationPreference", "open")
    seats = []
    if preference in {"open", "capacity-reservations-only"} and not wanted.market:
        seats = [Seat(one.id, free_in(world, one)) for one in open_for(world, wanted.type, zone)]
    if preference != "capacity-reservations-only":
        seats.append(Seat(None, free_places(world, wanted.type, zone)))
    return seats


def _full() -> PaperError:
    """Say it in the words that users of EC2 quote."""
    what = (
        "The requested reservation does not have sufficient compatible and available capacity "
        "for this request."
    )
    return PaperError("ReservationCapacityExceeded", what)


def _targeted(world: World, wanted: Asked, reservation_id: str) -> Seat:
    found: Reservation | None = reservations(world).get(reservation_id)
    if found is None:
        what = f"The capacity reservation '{reservation_id}' does not exist"
        raise PaperError("InvalidCapacityReservationId.NotFound", what)
    if found.block != (wanted.market == "capacity-block"):
        what = f"'{reservation_id}' and the market type '{wanted.market}' do not fit"
        raise PaperError("InvalidParameterCombination", what)
    if found.type != wanted.type or found.zone != zone_of(world, wanted):
        what = f"'{reservation_id}' is for {found.type} in {found.zone}"
        raise PaperError("InvalidParameterCombination", what)
    state = found.state(world.now())
    if state != "active":
        what = f"The capacity reservation '{reservation_id}' is {state}"
        raise PaperError("InvalidCapacityReservationState", what)
    free = free_in(world, found)
    if not free:
        raise _full()
    return Seat(reservation_id, free)


def _no_room(wanted: Asked, zone: str) -> PaperError:
    if wanted.reservation.get("CapacityReservationTarget"):
        return _full()
    what = (
        f"We currently do not have sufficient {wanted.type} capacity in the Availability Zone you "
        f"requested ({zone}). Our system will be working on provisioning additional capacity."
    )
    return PaperError("InsufficientInstanceCapacity", what)


def _free_addresses(world: World, wanted: Asked) -> int:
    if not wanted.subnet:
        return 1_000_000
    return int(world.backend("ec2").get_subnet(wanted.subnet).available_ip_address_count)


def _spread(seats: Iterable[Seat]) -> Iterable[str | None]:
    for seat in seats:
        for _ in range(seat.places):
            yield seat.reservation


def _run(world: World, wanted: Asked, zone: str, count: int) -> Any:
    """Let moto make the instances, each with its primary interface only."""
    values, first = wanted.values, interfaces.primary(wanted)
    user_data = values.get("UserData")
    if isinstance(user_data, str):
        user_data = Base64EncodedString(user_data)
    template = {}
    if wanted.template:
        template = {"LaunchTemplateId": wanted.template[0], "Version": wanted.template[1]}
    mappings = [dict(row) for row in values.get("BlockDeviceMappings") or () if row.get("Ebs")]
    more = {"block_device_mappings": mappings} if mappings else {}
    return world.backend("ec2").run_instances(
        values["ImageId"],
        count,
        user_data,
        [],
        instance_type=wanted.type,
        is_instance_type_default=False,
        region_name=world.backend("ec2").region_name,
        placement=None if wanted.subnet else zone,
        subnet_id=wanted.subnet,
        key_name=values.get("KeyName"),
        security_group_ids=list(first.get("Groups") or values.get("SecurityGroupIds") or ()),
        private_ip=first.get("PrivateIpAddress") if count == 1 else None,
        associate_public_ip=bool(first.get("AssociatePublicIpAddress")),
        tags={kind: wanted.tags(kind) for kind in ("instance", "volume")},
        ebs_optimized=bool(values.get("EbsOptimized")),
        disable_api_termination=bool(values.get("DisableApiTermination")),
        instance_initiated_shutdown_behavior=values.get("InstanceInitiatedShutdownBehavior"),
        launch_template=template,
        metadata_options=values.get("MetadataOptions") or {},
        **more,
    )


def _finish(world: World, wanted: Asked, instance: Any, reservation: str | None) -> None:
    """Add what moto does not know to one of its instances."""
    instance.lifecycle = wanted.market or None
    instance.launch_time = world.now()
    instance.capacity_reservation_id = reservation
    target = wanted.reservation.get("CapacityReservationTarget")
    preference = wanted.reservation.get("CapacityReservationPreference", "open")
    instance.capacity_reservation_specification = (
        {"CapacityReservationTarget": dict(target)}
        if target
        else {"CapacityReservationPreference": preference}
    )
    if wanted.group:
        group = find_group(
            world,
            name=wanted.group.get("GroupName", ""),
            group_id=str(wanted.group.get("GroupId", "")),
        )
        if group:
            instance.placement.group_name, instance.placement.group_id = group.name, group.id
    interfaces.attach(world, wanted, instance)
    profile = wanted.values.get("IamInstanceProfile") or {}
    if profile:
        world.backend("ec2").associate_iam_instance_profile(
            instance_id=instance.id,
            iam_instance_profile_name=profile.get("Name"),
            iam_instance_profile_arn=profile.get("Arn"),
        )
    boots.begin(world, wanted, instance)
