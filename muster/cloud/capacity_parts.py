"""What AWS says of instance types, reservations and running instances, as parts of a view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from muster.cloud.sheet import POOL_TAG, Sheet, part, tags_of
from muster.plan.cloud_view import Instance, Reservation, TypeFacts, Unread

_OPEN = {"active", "scheduled", "pending"}


def offers(sheet: Sheet) -> dict[str, frozenset[str]]:
    """Return the zones that offer each type."""
    zones: dict[str, set[str]] = defaultdict(set)
    for offer in sheet["offers"]:
        zones[offer["InstanceType"]].add(offer["Location"])
    return {name: frozenset(found) for name, found in zones.items()}


def types(sheet: Sheet) -> dict[str, TypeFacts]:
    """Return what AWS says of each type."""
    return {found["InstanceType"]: _type(found) for found in sheet["types"]}


def _type(found: Mapping[str, Any]) -> TypeFacts:
    network = found["NetworkInfo"]
    efa = network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 1)
    return TypeFacts(
        usage=frozenset(found.get("SupportedUsageClasses", ())),
        network_cards=network["MaximumNetworkCards"],
        efa_interfaces=efa if network.get("EfaSupported") else 0,
        strategies=frozenset(found.get("PlacementGroupInfo", {}).get("SupportedStrategies", ())),
        boot_modes=frozenset(found.get("SupportedBootModes", ())),
        arches=frozenset(found["ProcessorInfo"]["SupportedArchitectures"]),
    )


def reservations(sheet: Sheet, account: str) -> dict[str, Reservation]:
    """Return every reservation that the account sees, by id."""
    own = part(lambda: _group_arns(sheet))
    return {
        found["CapacityReservationId"]: _reservation(found, own, account)
        for found in sheet["reservations"]
    }


def _group_arns(sheet: Sheet) -> set[str]:
    return {str(group.get("GroupArn")) for group in sheet["placement_groups"]}


def _reservation(found: Mapping[str, Any], own: set[str] | Unread, account: str) -> Reservation:
    group = found.get("PlacementGroupArn") or ""
    return Reservation(
        type=found["InstanceType"],
        zone_id=found.get("AvailabilityZoneId", ""),
        state=found["State"],
        block=found.get("ReservationType") == "capacity-block",
        tenancy=found.get("Tenancy", "default"),
        available=found["AvailableInstanceCount"],
        total=found["TotalInstanceCount"],
        starts=found.get("StartDate"),
        ends=found.get("EndDate"),
        placement_group=group,
        own_group=None if isinstance(own, Unread) else group in own,
        shared=found.get("OwnerId", account) != account,
    )


def held(every: Mapping[str, Reservation]) -> dict[str, Reservation]:
    """Return the reservations that can hold instances, now or soon."""
    return {name: found for name, found in every.items() if found.state in _OPEN}


def group_members(sheet: Sheet, arn: str) -> tuple[str, ...] | None:
    """Return the reservations of a resource group; None where there is no such group."""
    listed = sheet[f"group {arn}"]
    arns = [item["Identifier"]["ResourceArn"] for item in listed]
    found = tuple(a.rpartition("/")[2] for a in arns if ":capacity-reservation/" in a)
    return found or None


def instances(sheet: Sheet) -> tuple[Instance, ...]:
    """Return all instances that run or start."""
    return tuple(_instances(sheet))


def _instances(sheet: Sheet) -> Iterator[Instance]:
    for launch in sheet["instances"]:
        for found in launch["Instances"]:
            pool = tags_of(found).get(POOL_TAG, "") if sheet.is_own(found) else ""
            yield Instance(
                type=found["InstanceType"],
                vcpus=_vcpus(found),
                market=_market(found),
                pool=pool,
                reservation=found.get("CapacityReservationId") or "",
            )


def _vcpus(found: Mapping[str, Any]) -> int | None:
    """Count threads; None where AWS does not say."""
    options = found.get("CpuOptions") or {}
    cores, threads = options.get("CoreCount"), options.get("ThreadsPerCore")
    return cores * threads if cores and threads else None


def _market(found: Mapping[str, Any]) -> Literal["onDemand", "spot", "block"]:
    way = found.get("InstanceLifecycle")
    if way == "capacity-block":
        return "block"
    return "spot" if way == "spot" else "onDemand"
