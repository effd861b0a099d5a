"""Instance types, zones and images: moto's, and those of the catalog and the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from moto.ec2.models.instance_types import INSTANCE_TYPES, InstanceType, InstanceTypeBackend

from muster.catalog import load_catalog
from muster.catalog.model import InstanceType as CatalogType
from papercloud.cloud.calls import Call, handles
from papercloud.cloud.world import REGION, World


@cache
def know_catalog_types() -> None:
    """Add the catalog's AWS types that moto does not have; done once a process."""
    catalog = load_catalog()
    for name in catalog.types_of("aws"):
        if name not in INSTANCE_TYPES:
            INSTANCE_TYPES[name] = _described(catalog.types[name])
            InstanceTypeBackend.instance_types.append(InstanceType(name))


def facts(name: str) -> Mapping[str, Any] | None:
    """Return a type as DescribeInstanceTypes describes it; None for an unknown one."""
    know_catalog_types()
    found: Mapping[str, Any] | None = INSTANCE_TYPES.get(name)
    return found


def vcpus(name: str) -> int:
    """Return how many vCPUs a type has by default."""
    found = facts(name)
    return int(found["VCpuInfo"]["DefaultVCpus"]) if found else 0


def zone_ids() -> dict[str, str]:
    """Return the id of each zone by its name."""
    return {zone.name: zone.zone_id for zone in RegionsAndZonesBackend.zones[REGION]}


def zone_matches(pattern: str, zone: str) -> bool:
    """Does a pattern, for names or ids of zones, match the zone of this name?"""
    return fnmatchcase(zone, pattern) or fnmatchcase(zone_ids().get(zone, ""), pattern)


def row_for(rows: Mapping[str, Any], instance_type: str, zone: str) -> Any:
    """Return the value of the first row `type/zone` that matches; None if none does."""
    for pattern, value in rows.items():
        of_type, _, of_zone = pattern.partition("/")
        if fnmatchcase(instance_type, of_type) and zone_matches(of_zone or "*", zone):
            return value
    return None


def is_offered(world: World, instance_type: str, zone: str) -> bool:
    """Is the type sold in the zone?"""
    zones = world.scenario.offered.get(instance_type)
    return zones is None or any(zone_matches(pattern, zone) for pattern in zones)


@handles("ec2", "DescribeInstanceTypes")
def _describe_types(_call: Call) -> None:
    know_catalog_types()


@handles("ec2", "DescribeInstanceTypeOfferings")
def _describe_offerings(call: Call) -> dict[str, Any]:
    know_catalog_types()
    kind, filters = call.get("LocationType", "region"), call.filters()
    wanted_types, wanted_places = filters.get("instance-type", ["*"]), filters.get("location")
    found = [
        {"InstanceType": name, "LocationType": kind, "Location": place}
        for name in INSTANCE_TYPES
        if any(fnmatchcase(name, pattern) for pattern in wanted_types)
        for place in _places(call.world, name, kind)
        if not wanted_places or any(fnmatchcase(place, pattern) for pattern in wanted_places)
    ]
    return {"InstanceTypeOfferings": found}


def _places(world: World, name: str, kind: str) -> Iterator[str]:
    zones = [zone for zone in zone_ids() if is_offered(world, name, zone)]
    if kind == "region":
        yield from [REGION] if zones else []
    else:
        yield from zones if kind == "availability-zone" else [zone_ids()[zone] for zone in zones]


@handles("ec2", "DescribeImages")
def _describe_images(call: Call) -> dict[str, Any]:
    asked, rows = call.get("ImageIds") or (), []
    unknown = [image for image in asked if image not in call.world.scenario.images]
    if unknown:
        raise call.refuse("InvalidAMIID.NotFound", f"The image id '[{unknown[0]}]' does not exist")
    for filtered in call.filters():
        if filtered not in _IMAGE_FILTERS:
            what = f"paper cloud: images cannot be filtered by {filtered!r}"
            raise call.refuse("InvalidParameterValue", what)
    for image in asked or call.world.scenario.images:
        row = _image(call.world, image)
        if all(
            any(
                fnmatchcase(str(row.get(_IMAGE_FILTERS[name], "")), pattern) for pattern in patterns
            )
            for name, patterns in call.filters().items()
        ):
            rows.append(row)
    return {"Images": rows}


_IMAGE_FILTERS = {
    "image-id": "ImageId",
    "name": "Name",
    "architecture": "Architecture",
    "state": "State",
    "owner-id": "OwnerId",
    "root-device-name": "RootDeviceName",
    "root-device-type": "RootDeviceType",
    "virtualization-type": "VirtualizationType",
}


def _image(world: World, image_id: str) -> dict[str, Any]:
    image = world.scenario.images[image_id]
    boot = {"BootMode": image.boot_mode} if image.boot_mode else {}
    disk = {"VolumeSize": 8, "VolumeType": "gp3", "DeleteOnTermination": True, "Encrypted": False}
    return {
        "ImageId": image_id,
        "Name": image.name,
        "Architecture": image.architecture,
        "RootDeviceName": image.root_device,
        "RootDeviceType": "ebs",
        "BlockDeviceMappings": [{"DeviceName": image.root_device, "Ebs": disk}],
        "State": "available",
        "ImageType": "machine",
        "Public": True,
        "OwnerId": world.account,
        "VirtualizationType": "hvm",
        "Hypervisor": "xen",
        "CreationDate": "2026-01-01T00:00:00.000Z",
        **boot,
    }


def _described(found: CatalogType) -> dict[str, Any]:
    """Say what the catalog knows in the words of DescribeInstanceTypes; the rest stays out."""
    usage = {"onDemand": "on-demand", "spot": "spot", "capacityBlock": "capacity-block"}
    known: dict[str, Any] = {
        "InstanceType": found.name,
        "VCpuInfo": {"DefaultVCpus": found.vcpus},
        "MemoryInfo": {"SizeInMiB": found.memory_mib},
        "ProcessorInfo": {"SupportedArchitectures": [found.arch]},
        "SupportedUsageClasses": [usage[way] for way in found.purchase or ()],
        "NetworkInfo": _network(found),
    }
    if found.gpu_count:
        known["GpuInfo"] = {"Gpus": [{"Count": found.gpu_count, "Name": found.gpu_model}]}
    if found.boot_modes:
        known["SupportedBootModes"] = list(found.boot_modes)
    if found.local_disk_count and found.local_disk_gb:
        disks = {"Count": found.local_disk_count, "SizeInGB": found.local_disk_gb, "Type": "ssd"}
        known["InstanceStorageInfo"] = {"Disks": [disks]}
    return known


def _network(found: CatalogType) -> dict[str, Any]:
    cards = [{"NetworkCardIndex": index} for index in range(found.network_cards or 1)]
    for card in cards if found.enis_per_card else ():
        card["MaximumNetworkInterfaces"] = found.enis_per_card or 1
    known: dict[str, Any] = {
        "MaximumNetworkCards": len(cards),
        "NetworkCards": cards,
        "EfaSupported": bool(found.efa_interfaces),
    }
    if found.efa_interfaces:
        known["EfaInfo"] = {"MaximumEfaInterfaces": found.efa_interfaces}
    if found.ipv4_per_eni:
        known["Ipv4AddressesPerInterface"] = found.ipv4_per_eni
    return known
