"""What a launch asks for: a launch template with the request on top, and the rules it must pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from papercloud.cloud.codes import PaperError
from papercloud.cloud.placement import find as find_group
from papercloud.cloud.types import facts, is_offered
from papercloud.cloud.world import World

_IGNORED = {"MinCount", "MaxCount", "ClientToken", "DryRun", "LaunchTemplate", "TagSpecifications"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything that a launch asks for, in RunInstances' own words."""

    values: Mapping[str, Any]
    template: tuple[str, str] | None = None
    """Id and version of its launch template."""

    @property
    def type(self) -> str:
        """The instance type; AWS' own default where none is named."""
        return str(self.values.get("InstanceType") or "m1.small")

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """The interfaces as asked for; empty for one of AWS' making."""
        return list(self.values.get("NetworkInterfaces") or ())

    @property
    def subnet(self) -> str | None:
        """The subnet of the primary interface."""
        named = [row.get("SubnetId") for row in self.interfaces if row.get("SubnetId")]
        return self.values.get("SubnetId") or (named[0] if named else None)

    @property
    def market(self) -> str:
        """How it is bought: spot, capacity-block, or empty for on demand."""
        return str((self.values.get("InstanceMarketOptions") or {}).get("MarketType", ""))

    @property
    def reservation(self) -> Mapping[str, Any]:
        """CapacityReservationSpecification."""
        return self.values.get("CapacityReservationSpecification") or {}

    @property
    def group(self) -> Mapping[str, Any]:
        """Name or id of its placement group, if any."""
        placement = self.values.get("Placement") or {}
        return {key: placement[key] for key in ("GroupName", "GroupId") if placement.get(key)}

    def tags(self, resource: str) -> dict[str, str]:
        """Return the tags for a kind of resource."""
        return {
            tag["Key"]: tag.get("Value", "")
            for row in self.values.get("TagSpecifications") or ()
            if row.get("ResourceType") == resource
            for tag in row.get("Tags") or ()
        }

    def put(self, **values: Any) -> Asked:
        """Return it with some values in place of its own."""
        return Asked({**self.values, **values}, self.template)


def asked(world: World, request: Mapping[str, Any]) -> Asked:
    """Lay a request over the launch template that it names."""
    named = request.get("LaunchTemplate")
    own = {key: value for key, value in request.items() if key not in _IGNORED and value != []}
    if not named:
        return Asked({**own, "TagSpecifications": request.get("TagSpecifications") or []})
    # moto raises AWS' own errors for an unknown template or version.
    version = world.backend("ec2")._get_template_from_args(dict(named))  # noqa: SLF001  # no other way
    data = version.data
    tags = [*(data.get("TagSpecifications") or []), *(request.get("TagSpecifications") or [])]
    merged = {**data, **own, "TagSpecifications": tags}
    return Asked(merged, (version.template.id, str(version.number)))


Rule = Callable[[World, Asked, str], PaperError | None]


def check(world: World, wanted: Asked, zone: str) -> None:
    """Refuse what EC2 would refuse whatever its capacity.

    Raises:
        PaperError: with EC2's code.

    """
    for rule in (_type, _image, _interfaces, _public_address, _group, _block):
        error = rule(world, wanted, zone)
        if error:
            raise error


def _type(world: World, wanted: Asked, zone: str) -> PaperError | None:
    if facts(wanted.type) is None:
        what = f"The instance type '{wanted.type}' does not exist"
        return PaperError("InvalidParameterValue", what)
    if not is_offered(world, wanted.type, zone):
        what = (
            f"Your requested instance type ({wanted.type}) is not supported in your requested "
            f"Availability Zone ({zone})."
        )
        return PaperError("Unsupported", what)
    return None


def _image(world: World, wanted: Asked, _zone: str) -> PaperError | None:
    image_id = str(wanted.values.get("ImageId") or "")
    if not image_id:
        return PaperError("MissingParameter", "The request must contain the parameter ImageId")
    image = world.scenario.images.get(image_id)
    if image is None:
        return PaperError("InvalidAMIID.NotFound", f"The image id '[{image_id}]' does not exist")
    able = (facts(wanted.type) or {}).get("ProcessorInfo", {}).get("SupportedArchitectures", [])
    if able and image.architecture not in able:
        what = (
            f"The architecture '{able[0]}' of the specified instance type does not match the "
            f"architecture '{image.architecture}' of the specified AMI."
        )
        return PaperError("InvalidParameterValue", what)
    return None


def _interfaces(_world: World, wanted: Asked, _zone: str) -> PaperError | None:
    seats = [(row.get("NetworkCardIndex", 0), row.get("DeviceIndex")) for row in wanted.interfaces]
    for card, device in seats:
        if device is None:
            return PaperError("MissingParameter", "The parameter deviceIndex is missing")
        if seats.count((card, device)) > 1:
            what = f"Two interfaces have network card {card} and device index {device}"
            return PaperError("InvalidParameterCombination", what)
    if seats and (0, 0) not in seats:
        return PaperError("InvalidParameterCombination", "No interface has card 0 and device 0")
    for row, seat in zip(wanted.interfaces, seats, strict=True):
        if seat == (0, 0) and row.get("InterfaceType") == "efa-only":
            return PaperError("InvalidParameterCombination", "The primary cannot be efa-only")
    return None


def _public_address(_world: World, wanted: Asked, _zone: str) -> PaperError | None:
    if len(wanted.interfaces) < 2:  # noqa: PLR2004  # one interface may have a public address
        return None
    if any(row.get("AssociatePublicIpAddress") for row in wanted.interfaces):
        what = (
            "The associatePublicIPAddress parameter cannot be specified when launching with "
            "multiple network interfaces."
        )
        return PaperError("InvalidParameterCombination", what)
    return None


def _group(world: World, wanted: Asked, _zone: str) -> PaperError | None:
    named = wanted.group
    if not named:
        return None
    found = find_group(
        world, name=named.get("GroupName", ""), group_id=str(named.get("GroupId", ""))
    )
    if found is None:
        what = f"The placement group '{next(iter(named.values()))}' is unknown."
        return PaperError("InvalidPlacementGroup.Unknown", what)
    return None


def _block(_world: World, wanted: Asked, _zone: str) -> PaperError | None:
    target = wanted.reservation.get("CapacityReservationTarget")
    if wanted.market == "capacity-block" and not target:
        what = "The market type capacity-block needs a capacity reservation as target"
        return PaperError("InvalidParameterCombination", what)
    return None
