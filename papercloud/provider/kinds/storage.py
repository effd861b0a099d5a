"""FSx and EFS file systems."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import Call, Kind, Ready, Tagging
from papercloud.provider.naming import match
from papercloud.provider.schema import Schema
from papercloud.provider.values import Properties

_FSX_TAGS: Final = Tagging(add="TagResource", remove="UntagResource", by="ResourceARN", by_arn=True)
_FSX_READY: Final = Ready(path="Lifecycle", good=("AVAILABLE",), bad=("FAILED", "MISCONFIGURED"))
_EFS_READY: Final = Ready(
    path="LifeCycleState", good=("available",), bad=("error",), dead=("deleted",)
)


@dataclass(frozen=True, kw_only=True)
class FsxFileSystem(Kind):
    """A file system of FSx; what is special to its make lies in a structure of its own."""

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Say whether a last backup is wanted."""
        request: Properties = {"FileSystemId": resource_id}
        shape = account.model("fsx", "DeleteFileSystem").input_shape
        options = {"SkipFinalBackup": bool(state.get("skipFinalBackup"))}
        member = str(match(self.flatten, shape.members))
        if state.get("deleteOptions"):
            options["Options"] = state["deleteOptions"]
        request[member] = options
        account.call("fsx", "DeleteFileSystem", **request)


@dataclass(frozen=True, kw_only=True)
class EfsKind(Kind):
    """EFS answers no DNS name: it follows from the id."""

    def outputs(
        self,
        account: Account,
        resource_id: str,
        found: Mapping[str, Any],
        kinds: Mapping[str, Any],
        schema: Schema,
    ) -> Properties:
        """Compose the DNS name."""
        dns = f"{found['FileSystemId']}.efs.{account.region}.amazonaws.com"
        return {
            **super().outputs(account, resource_id, found, kinds, schema),
            "dnsName": dns,
        }


@dataclass(frozen=True, kw_only=True)
class EfsFileSystem(EfsKind):
    """The API wants a token that the SDK may leave out."""

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """Make one up."""
        return super().request(account, {"creationToken": str(uuid.uuid4()), **inputs})


def _shrinks(old: Any, new: Any) -> bool:
    """Storage never shrinks in place."""
    return isinstance(old, (int, float)) and (new is None or new < old)


def _fsx(kind: str, structure: str, replace: frozenset[str], **names: str) -> FsxFileSystem:
    return FsxFileSystem(
        service="fsx",
        create_by=Call(
            operation="CreateFileSystem",
            found="FileSystem.FileSystemId",
            fixed={"FileSystemType": kind},
        ),
        find_by=Call(operation="DescribeFileSystems", by="FileSystemIds", found="FileSystems.0"),
        end_by=None,
        update_by=(Call(operation="UpdateFileSystem", by="FileSystemId"),),
        rename={"arn<": "ResourceARN", **names},
        flatten=structure,
        ours=frozenset({"skipFinalBackup", "finalBackupTags", "deleteOptions"}),
        replace=replace,
        replace_if={"storageCapacity": _shrinks},
        tagging=_FSX_TAGS,
        ready=_FSX_READY,
        ends_slowly=True,
    )


STORAGE: Final[Mapping[str, Kind]] = {
    "aws:fsx/lustreFileSystem:LustreFileSystem": _fsx(
        "LUSTRE", "LustreConfiguration", frozenset({"storageType"})
    ),
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem": _fsx(
        "OPENZFS", "OpenZFSConfiguration", frozenset({"storageType", "rootVolumeConfiguration"})
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Kind(
        service="fsx",
        create_by=Call(
            operation="CreateDataRepositoryAssociation", found="Association.AssociationId"
        ),
        find_by=Call(
            operation="DescribeDataRepositoryAssociations",
            by="AssociationIds",
            found="Associations.0",
        ),
        end_by=Call(operation="DeleteDataRepositoryAssociation", by="AssociationId"),
        update_by=(Call(operation="UpdateDataRepositoryAssociation", by="AssociationId"),),
        rename={"arn<": "ResourceARN"},
        ours=frozenset({"deleteDataInFilesystem"}),
        tagging=_FSX_TAGS,
        ready=_FSX_READY,
        ends_slowly=True,
    ),
    "aws:efs/fileSystem:FileSystem": EfsFileSystem(
        service="efs",
        create_by=Call(operation="CreateFileSystem", found="FileSystemId"),
        find_by=Call(operation="DescribeFileSystems", by="FileSystemId", found="FileSystems.0"),
        also_find=(Call(operation="DescribeLifecycleConfiguration", by="FileSystemId"),),
        end_by=Call(operation="DeleteFileSystem", by="FileSystemId"),
        update_by=(Call(operation="UpdateFileSystem", by="FileSystemId"),),
        set_by={
            "lifecyclePolicies": Call(operation="PutLifecycleConfiguration", by="FileSystemId")
        },
        rename={"arn<": "FileSystemArn", "sizeInBytes<": "none"},
        tagging=Tagging(add="TagResource", remove="UntagResource", by="ResourceId"),
        ready=_EFS_READY,
        ends_slowly=True,
    ),
    "aws:efs/mountTarget:MountTarget": EfsKind(
        service="efs",
        create_by=Call(operation="CreateMountTarget", found="MountTargetId"),
        find_by=Call(operation="DescribeMountTargets", by="MountTargetId", found="MountTargets.0"),
        also_find=(Call(operation="DescribeMountTargetSecurityGroups", by="MountTargetId"),),
        end_by=Call(operation="DeleteMountTarget", by="MountTargetId"),
        update_by=(Call(operation="ModifyMountTargetSecurityGroups", by="MountTargetId"),),
        alone=True,
        ready=_EFS_READY,
        ends_slowly=True,
    ),
}
