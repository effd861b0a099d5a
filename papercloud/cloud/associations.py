"""Data repository associations: a bucket that fills a path of a Lustre file system."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.file_systems import existing, file_systems, fsx_tags, tag_rows
from papercloud.cloud.world import World

_MOST = 8
"""Associations of one file system (FSx user guide, quotas)."""
_SHOWN = (
    "FileSystemPath", "DataRepositoryPath", "BatchImportMetaDataOnCreate",
    "ImportedFileChunkSize", "S3",
)  # fmt: skip


@dataclass(kw_only=True, slots=True)
class Association:
    """A path of a file system and the bucket that fills it."""

    id: str
    file_system: str
    arn: str
    made: datetime
    available_at: datetime
    shown: dict[str, Any]


@dataclass
class _Book:
    by_id: dict[str, Association] = field(default_factory=dict)


def _associations(world: World) -> dict[str, Association]:
    """Return those whose file system still exists."""
    book, there = world.state(_Book), file_systems(world)
    book.by_id = {key: one for key, one in book.by_id.items() if one.file_system in there}
    return book.by_id


@handles("fsx", "CreateDataRepositoryAssociation")
def _create(call: Call) -> dict[str, Any]:
    system = existing(call, call.get("FileSystemId"))
    path, bucket = call.get("FileSystemPath") or "/", str(call.get("DataRepositoryPath"))
    if system.kind != "LUSTRE" or system.shown["StorageType"] == "INTELLIGENT_TIERING":
        raise call.refuse("UnsupportedOperation", "This file system takes no associations.")
    if not bucket.startswith("s3://"):
        raise call.refuse("BadRequest", "The data repository path must begin with s3://.")
    there = [one for one in _associations(call.world).values() if one.file_system == system.id]
    if len(there) >= _MOST:
        raise call.refuse("ServiceLimitExceeded", f"A file system has at most {_MOST}.")
    if any(one.shown["FileSystemPath"] == path for one in there):
        raise call.refuse("BadRequest", f"The path {path} has an association already.")
    made_id = call.world.new_id("dra")
    found = Association(
        id=made_id,
        file_system=system.id,
        arn=call.world.arn("fsx", f"association/{system.id}/{made_id}", call.region),
        made=call.world.now(),
        available_at=max(call.world.now(), system.available_at)
        + timedelta(seconds=call.world.scenario.fsx_create_s),
        shown={key: call.get(key) for key in _SHOWN if call.get(key) is not None}
        | {"FileSystemPath": path},
    )
    _associations(call.world)[made_id] = found
    fsx_tags(call.world, found.arn).update(
        {row["Key"]: row.get("Value", "") for row in call.get("Tags") or ()}
    )
    return {"Association": _described(call.world, found)}


@handles("fsx", "DescribeDataRepositoryAssociations")
def _describe(call: Call) -> dict[str, Any]:
    named = call.get("AssociationIds") or ()
    wanted = {row["Name"]: row["Values"] for row in call.get("Filters") or ()}
    found = [_existing(call, one) for one in named] or list(_associations(call.world).values())
    systems = wanted.get("file-system-id")
    kept = [one for one in found if not systems or one.file_system in systems]
    return {"Associations": [_described(call.world, one) for one in kept]}


@handles("fsx", "UpdateDataRepositoryAssociation")
def _update(call: Call) -> dict[str, Any]:
    found = _existing(call, call.get("AssociationId"))
    for key in ("ImportedFileChunkSize", "S3"):
        if call.get(key) is not None:
            found.shown[key] = call.get(key)
    return {"Association": _described(call.world, found)}


@handles("fsx", "DeleteDataRepositoryAssociation")
def _delete(call: Call) -> dict[str, Any]:
    found = _existing(call, call.get("AssociationId"))
    del _associations(call.world)[found.id]
    kept = bool(call.get("DeleteDataInFileSystem"))
    return {"AssociationId": found.id, "Lifecycle": "DELETING", "DeleteDataInFileSystem": kept}


def _existing(call: Call, association_id: str) -> Association:
    found = _associations(call.world).get(association_id)
    if found is None:
        what = f"Data repository association '{association_id}' does not exist."
        raise call.refuse("DataRepositoryAssociationNotFound", what)
    return found


def _described(world: World, found: Association) -> dict[str, Any]:
    ready = world.now() >= found.available_at
    return {
        "AssociationId": found.id,
        "ResourceARN": found.arn,
        "FileSystemId": found.file_system,
        "Lifecycle": "AVAILABLE" if ready else "CREATING",
        "CreationTime": found.made,
        "Tags": tag_rows(world, found.arn),
        **found.shown,
    }
