"""What AWS says of file systems, buckets and images, as parts of a view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from muster.cloud.network_parts import port_rules
from muster.cloud.sheet import STACK_TAG, Sheet, part
from muster.plan.aws.model import FileSystemPlan
from muster.plan.cloud_view import Bucket, FileSystem, Image, PortRule, Unread, Used

_KINDS = {"LUSTRE": "fsxLustre", "OPENZFS": "fsxOpenZfs"}


def file_system(sheet: Sheet, wanted: FileSystemPlan) -> FileSystem | None:
    """Return the file system of that id."""
    return _efs(sheet, wanted.id or "") if wanted.kind == "efs" else _fsx(sheet, wanted.id or "")


def _fsx(sheet: Sheet, name: str) -> FileSystem | None:
    zones = {s["SubnetId"]: s["AvailabilityZoneId"] for s in sheet["subnets"]}
    for found in sheet["fsx"]:
        if found["FileSystemId"] != name:
            continue
        subnets = found.get("SubnetIds", ())
        return FileSystem(
            kind=_KINDS.get(str(found["FileSystemType"])) or str(found["FileSystemType"]),
            lifecycle=found["Lifecycle"].lower(),
            vpc_id=found.get("VpcId", ""),
            zone_ids=frozenset(zones[subnet] for subnet in subnets if subnet in zones),
            efa=bool(found.get("LustreConfiguration", {}).get("EfaEnabled")),
            opens=_opens(sheet, set(found.get("NetworkInterfaceIds", ()))),
        )
    return None


def _efs(sheet: Sheet, name: str) -> FileSystem | None:
    found = sheet.first(f"efs {name}")
    if found is None:
        return None
    targets = sheet[f"targets {name}"]
    return FileSystem(
        kind="efs",
        lifecycle=found["LifeCycleState"].lower(),
        vpc_id=next((target["VpcId"] for target in targets if target.get("VpcId")), ""),
        zone_ids=frozenset(target["AvailabilityZoneId"] for target in targets),
        efa=False,
        opens=_opens(sheet, {target["NetworkInterfaceId"] for target in targets}),
    )


def _opens(sheet: Sheet, interfaces: set[str]) -> tuple[PortRule, ...] | Unread:
    return part(lambda: port_rules(sheet, _groups(sheet, interfaces)))


def _groups(sheet: Sheet, interfaces: set[str]) -> set[str]:
    found = [i for i in sheet["interfaces"] if i["NetworkInterfaceId"] in interfaces]
    return {group["GroupId"] for interface in found for group in interface["Groups"]}


def stored(sheet: Sheet) -> dict[str, Used]:
    """Add up what file systems of FSx take of each quota."""
    every: dict[str, int] = defaultdict(int)
    own: dict[str, int] = defaultdict(int)
    for found in sheet["fsx"]:
        of, amount = _share(found)
        if of:
            every[of] += amount
            own[of] += amount if sheet.is_own(found) else 0
    return {of: Used(total=total, own=own[of]) for of, total in every.items()}


def _share(found: Mapping[str, Any]) -> tuple[str, int]:
    """Return which quota a file system counts in, as in catalog/quotas.yaml, and how much."""
    if found["FileSystemType"] == "OPENZFS":
        return "openZfsMbps", found["OpenZFSConfiguration"]["ThroughputCapacity"]
    if found["FileSystemType"] != "LUSTRE" or found.get("StorageType") == "INTELLIGENT_TIERING":
        return "", 0
    deployment = found["LustreConfiguration"]["DeploymentType"]
    if deployment.startswith("SCRATCH"):
        return "lustreScratchGib", found["StorageCapacity"]
    if deployment != "PERSISTENT_2":
        return "", 0
    return "lustrePersistent2Gib", found["StorageCapacity"]


def bucket(sheet: Sheet, name: str, *, made: bool) -> Bucket | None:
    """Return the bucket of that name; None where nobody has it."""
    found = sheet.first(f"bucket {name}")
    if found is None:
        return None
    headers = found["ResponseMetadata"]["HTTPHeaders"]
    region = found.get("BucketRegion") or headers.get("x-amz-bucket-region", "")
    tags = {tag["Key"]: tag["Value"] for tag in sheet[f"tags {name}"]} if made else {}
    return Bucket(region=region, own=tags.get(STACK_TAG) == sheet.stack)


def image(sheet: Sheet, name: str) -> Image | None:
    """Return the image of that id; None where it is not there, or not for this account."""
    found = sheet.first(f"image {name}")
    return None if found is None else _image(found)


def _image(found: Mapping[str, Any]) -> Image:
    root = found.get("RootDeviceName")
    disks = found.get("BlockDeviceMappings", ())
    sizes = [
        d["Ebs"].get("VolumeSize") for d in disks if d.get("DeviceName") == root and "Ebs" in d
    ]
    return Image(
        state=found["State"],
        arch=found["Architecture"],
        boot_mode=found.get("BootMode") or "",
        root_gib=sizes[0] if sizes else None,
    )
