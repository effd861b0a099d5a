"""Placement groups and capacity reservations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from papercloud.provider.kind import EC2_TAGS, Call, Kind, Ready
from papercloud.provider.kinds.network import Ec2Kind

CAPACITY: Final[Mapping[str, Kind]] = {
    "aws:ec2/placementGroup:PlacementGroup": Ec2Kind(
        service="ec2",
        create_by=Call(operation="CreatePlacementGroup", found="PlacementGroup.GroupName"),
        find_by=Call(
            operation="DescribePlacementGroups", by="GroupNames", found="PlacementGroups.0"
        ),
        end_by=Call(operation="DeletePlacementGroup", by="GroupName"),
        rename={
            "name": "GroupName",
            "placementGroupId<": "GroupId",
            "arn<": "GroupArn",
        },
        name="name",
        tag_type="placement-group",
        ready=Ready(path="State", good=("available",), dead=("deleted",)),
        ends_slowly=True,
    ),
    "aws:ec2/capacityReservation:CapacityReservation": Ec2Kind(
        service="ec2",
        create_by=Call(
            operation="CreateCapacityReservation",
            found="CapacityReservation.CapacityReservationId",
        ),
        find_by=Call(
            operation="DescribeCapacityReservations",
            by="CapacityReservationIds",
            found="CapacityReservations.0",
        ),
        end_by=Call(operation="CancelCapacityReservation", by="CapacityReservationId"),
        update_by=(Call(operation="ModifyCapacityReservation", by="CapacityReservationId"),),
        rename={"arn<": "CapacityReservationArn", "instanceCount<": "TotalInstanceCount"},
        replace=frozenset({"instanceMatchCriteria"}),
        tag_type="capacity-reservation",
        tagging=EC2_TAGS,
        ready=Ready(
            path="State",
            good=("active",),
            bad=("failed", "unsupported"),
            dead=("cancelled", "expired"),
        ),
    ),
}
