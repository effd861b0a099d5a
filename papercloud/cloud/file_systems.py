"""FSx file systems: made late, changed late, gone late."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from papercloud.cloud.calls import Call, handles, only_handlers
from papercloud.cloud.file_system_rules import mistake_in
from papercloud.cloud.world import World

only_handlers("fsx")

_CONFIGURATION = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}


@dataclass(kw_only=True, slots=True)
class FileSystem:
    """A file system; `shown` is what a description shows beside its state."""

    id: str
    kind: str
    made: datetime
    available_at: datetime
    shown: dict[str, Any]
    updating_until: datetime | None = None
    gone_at: datetime | None = None

    def lifecycle(self, now: datetime) -> str:
        """Return AWS' word for its state at a time."""
        if self.gone_at is not None:
            return "DELETING"
        if now < self.available_at:
            return "CREATING"
        return "UPDATING" if self.updating_until and now < self.updating_until else "AVAILABLE"


@dataclass
class _Book:
    by_id: dict[str, FileSystem] = field(default_factory=dict)
    by_token: dict[str, str] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)


def file_systems(world: World) -> dict[str, FileSystem]:
    """Return those that exist or are not gone yet, by id."""
    book = world.state(_Book)
    for found in tuple(book.by_id.values()):
        if found.gone_at is not None and found.gone_at <= world.now():
            del book.by_id[found.id]
    return book.by_id


def existing(call: Call, file_system_id: str) -> FileSystem:
    """Return a file system, or raise AWS' error."""
    found = file_systems(call.world).get(file_system_id)
    if found is None:
        raise call.refuse("FileSystemNotFound", f"File system '{file_system_id}' does not exist.")
    return found


def fsx_tags(world: World, arn: str) -> dict[str, str]:
    """Return the tags of something of FSx; changing them changes the tags."""
    return world.state(_Book).tags.setdefault(arn, {})


def tag_rows(world: World, arn: str) -> list[dict[str, str]]:
    """Return the tags of something of FSx as AWS lists them."""
    return [{"Key": key, "Value": value} for key, value in fsx_tags(world, arn).items()]


@handles("fsx", "CreateFileSystem")
def _create(call: Call) -> dict[str, Any]:
    book, token = call.world.state(_Book), call.get("ClientRequestToken") or ""
    if token and token in book.by_token:
        return {"FileSystem": described(call.world, existing(call, book.by_token[token]))}
    kind = call.get("FileSystemType")
    if kind not in _CONFIGURATION:
        raise call.refuse(
            "BadRequest", f"paper cloud: file systems of type {kind} are not modelled"
        )
    mistake = mistake_in(call.params)
    if mistake:
        raise call.refuse("BadRequest", mistake)
    wait = timedelta(seconds=call.world.scenario.fsx_create_s)
    found = FileSystem(
        id=call.world.new_id("fs"),
        kind=kind,
        made=call.world.now(),
        available_at=call.world.now() + wait,
        shown={},
    )
    found.shown = _shown(call, found)
    book.by_id[found.id] = found
    if token:
        book.by_token[token] = found.id
    rows = call.get("Tags") or ()
    fsx_tags(call.world, found.shown["ResourceARN"]).update(
        {row["Key"]: row.get("Value", "") for row in rows}
    )
    return {"FileSystem": described(call.world, found)}


@handles("fsx", "DescribeFileSystems")
def _describe(call: Call) -> dict[str, Any]:
    named = call.get("FileSystemIds") or ()
    known = file_systems(call.world)
    found = [existing(call, one) for one in named] if named else list(known.values())
    return {"FileSystems": [described(call.world, one) for one in found]}


@handles("fsx", "UpdateFileSystem")
def _update(call: Call) -> dict[str, Any]:
    found = existing(call, call.get("FileSystemId"))
    state = found.lifecycle(call.world.now())
    if state not in {"AVAILABLE", "UPDATING"}:
        raise call.refuse("BadRequest", f"The file system is {state} and cannot be changed.")
    capacity = call.get("StorageCapacity")
    if capacity is not None and capacity < found.shown.get("StorageCapacity", 0):
        raise call.refuse("BadRequest", "The storage capacity cannot be decreased.")
    key = _CONFIGURATION[found.kind]
    for name in ("StorageCapacity", "FileSystemTypeVersion"):
        if call.get(name) is not None:
            found.shown[name] = call.get(name)
    found.shown[key] = {**found.shown[key], **(call.get(key) or {})}
    seconds = call.world.scenario.fsx_update_s
    found.updating_until = call.world.now() + timedelta(seconds=seconds)
    return {"FileSystem": described(call.world, found)}


@handles("fsx", "DeleteFileSystem")
def _delete(call: Call) -> dict[str, Any]:
    found = existing(call, call.get("FileSystemId"))
    if found.lifecycle(call.world.now()) == "CREATING":
        raise call.refuse("BadRequest", "A file system cannot be deleted while it is created.")
    wait = timedelta(seconds=call.world.scenario.fsx_delete_s)
    found.gone_at = found.gone_at or call.world.now() + wait
    return {"FileSystemId": found.id, "Lifecycle": "DELETING"}


@handles("fsx", "TagResource", "UntagResource")
def _tag(call: Call) -> dict[str, Any]:
    tags = fsx_tags(call.world, call.get("ResourceARN"))
    tags.update({row["Key"]: row.get("Value", "") for row in call.get("Tags") or ()})
    for key in call.get("TagKeys") or ():
        tags.pop(key, None)
    return {}


@handles("fsx", "ListTagsForResource")
def _list_tags(call: Call) -> dict[str, Any]:
    return {"Tags": tag_rows(call.world, call.get("ResourceARN"))}


@handles("fsx", "DescribeVolumes")
def _volumes(call: Call) -> dict[str, Any]:
    """Describe the root volume of each OpenZFS file system: what nodes mount."""
    wanted = {row["Name"]: row["Values"] for row in call.get("Filters") or ()}
    named, of_systems = call.get("VolumeIds") or (), wanted.get("file-system-id")
    rows = [
        _volume(call.world, found)
        for found in file_systems(call.world).values()
        if found.kind == "OPENZFS" and (not of_systems or found.id in of_systems)
    ]
    return {"Volumes": [row for row in rows if not named or row["VolumeId"] in named]}


def described(world: World, found: FileSystem) -> dict[str, Any]:
    """Return a file system as DescribeFileSystems shows it."""
    tags = tag_rows(world, found.shown["ResourceARN"])
    return {**found.shown, "Lifecycle": found.lifecycle(world.now()), "Tags": tags}


def _shown(call: Call, found: FileSystem) -> dict[str, Any]:
    key = _CONFIGURATION[found.kind]
    subnets = list(call.get("SubnetIds") or ())
    network = call.world.backend("ec2", call.region).get_subnet(subnets[0])
    count = len(subnets) if found.kind == "OPENZFS" else 1
    shown: dict[str, Any] = {
        "OwnerId": call.world.account,
        "CreationTime": found.made,
        "FileSystemId": found.id,
        "FileSystemType": found.kind,
        "StorageType": call.get("StorageType", "SSD"),
        "VpcId": network.vpc_id,
        "SubnetIds": subnets,
        "NetworkInterfaceIds": [call.world.new_id("eni") for _ in range(count)],
        "DNSName": f"{found.id}.fsx.{call.region}.amazonaws.com",
        "KmsKeyId": call.get("KmsKeyId") or call.world.arn("kms", "key/paper-fsx", call.region),
        "ResourceARN": call.world.arn("fsx", f"file-system/{found.id}", call.region),
        key: _configuration(call, found),
    }
    for name in ("StorageCapacity", "NetworkType"):
        if call.get(name) is not None:
            shown[name] = call.get(name)
    if found.kind == "LUSTRE":
        shown["FileSystemTypeVersion"] = call.get("FileSystemTypeVersion", "2.15")
    return shown


def _configuration(call: Call, found: FileSystem) -> dict[str, Any]:
    given = dict(call.get(_CONFIGURATION[found.kind]) or {})
    common = {"WeeklyMaintenanceStartTime": "1:05:00", "CopyTagsToBackups": False}
    if found.kind == "OPENZFS":
        given.pop("RootVolumeConfiguration", None)
        volume = call.world.new_id("fsvol")
        return {**common, "AutomaticBackupRetentionDays": 0, "RootVolumeId": volume, **given}
    for name in ("ImportPath", "ExportPath", "ImportedFileChunkSize", "AutoImportPolicy"):
        given.pop(name, None)
    own: dict[str, Any] = {
        "DeploymentType": "SCRATCH_1",
        "MountName": found.id[-8:],
        "DataCompressionType": "NONE",
        "LogConfiguration": {"Level": "DISABLED"},
    }
    if given.get("DeploymentType", "").startswith("PERSISTENT"):
        own |= {"AutomaticBackupRetentionDays": 0, "EfaEnabled": False}
    return {**common, **own, **given}


def _volume(world: World, found: FileSystem) -> dict[str, Any]:
    state = found.lifecycle(world.now())
    volume = found.shown["OpenZFSConfiguration"]["RootVolumeId"]
    return {
        "VolumeId": volume,
        "FileSystemId": found.id,
        "Name": "fsx",
        "VolumeType": "OPENZFS",
        "Lifecycle": "AVAILABLE" if state == "UPDATING" else state,
        "CreationTime": found.made,
        "ResourceARN": world.arn("fsx", f"volume/{found.id}/{volume}"),
        "OpenZFSConfiguration": {"VolumePath": "/fsx"},
    }
