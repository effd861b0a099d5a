"""File systems are made, changed and gone late, and wrong ones are refused."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from papercloud.cloud.scenario import Scenario
from papercloud.server import PaperCloud
from tests.unit.papercloud.cloud.clouds import MovedClock, client, code_of, subnet

LUSTRE: dict[str, Any] = {
    "FileSystemType": "LUSTRE",
    "StorageCapacity": 4800,
    "StorageType": "SSD",
    "LustreConfiguration": {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 1000,
        "EfaEnabled": True,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    },
}


def make(cloud: PaperCloud, **change: Any) -> dict[str, Any]:
    asked = {**LUSTRE, "SubnetIds": [subnet(cloud)], **change}
    return dict(client(cloud, "fsx").create_file_system(**asked)["FileSystem"])


def state(cloud: PaperCloud, file_system: str) -> str:
    found = client(cloud, "fsx").describe_file_systems(FileSystemIds=[file_system])
    return str(found["FileSystems"][0]["Lifecycle"])


def test_a_file_system_is_created_late_updated_late_and_gone_late() -> None:
    clock = MovedClock()
    scenario = Scenario(fsx_create_s=60, fsx_update_s=30, fsx_delete_s=20)
    with PaperCloud(scenario, clock=clock) as cloud:
        fsx, made = client(cloud, "fsx"), make(cloud)
        one = made["FileSystemId"]
        assert (made["Lifecycle"], bool(made["LustreConfiguration"]["MountName"])) == (
            "CREATING", True,
        )  # fmt: skip
        clock.sleep(61)
        assert state(cloud, one) == "AVAILABLE"
        fsx.update_file_system(FileSystemId=one, StorageCapacity=9600)
        assert state(cloud, one) == "UPDATING"
        clock.sleep(31)
        assert state(cloud, one) == "AVAILABLE"
        fsx.delete_file_system(FileSystemId=one)
        assert state(cloud, one) == "DELETING"
        clock.sleep(21)
        with pytest.raises(ClientError) as failed:
            state(cloud, one)
        assert code_of(failed.value) == "FileSystemNotFound"


@pytest.mark.parametrize(
    "change",
    [
        {"StorageCapacity": 5000},
        {"StorageCapacity": 2400},
        {"LustreConfiguration": {**LUSTRE["LustreConfiguration"], "PerUnitStorageThroughput": 300}},
        {"LustreConfiguration": {"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": 125}},
        {"StorageType": "INTELLIGENT_TIERING"},
        {
            "FileSystemType": "OPENZFS",
            "OpenZFSConfiguration": {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 100},
        },
    ],
)
def test_a_file_system_of_impossible_sizes_is_refused(change: dict[str, Any]) -> None:
    with PaperCloud() as cloud:
        with pytest.raises(ClientError) as failed:
            make(cloud, **change)
        assert code_of(failed.value) == "BadRequest"


def test_a_file_system_never_shrinks() -> None:
    with PaperCloud() as cloud:
        one = make(cloud)["FileSystemId"]
        with pytest.raises(ClientError) as failed:
            client(cloud, "fsx").update_file_system(FileSystemId=one, StorageCapacity=2400)
        assert code_of(failed.value) == "BadRequest"


def test_a_bucket_fills_a_path_once() -> None:
    with PaperCloud() as cloud:
        fsx, one = client(cloud, "fsx"), make(cloud)["FileSystemId"]
        asked = {
            "FileSystemId": one,
            "FileSystemPath": "/data",
            "DataRepositoryPath": "s3://bucket/data",
            "S3": {"AutoImportPolicy": {"Events": ["NEW", "CHANGED"]}},
        }
        made = fsx.create_data_repository_association(**asked)["Association"]
        with pytest.raises(ClientError) as failed:
            fsx.create_data_repository_association(**asked)
        assert code_of(failed.value) == "BadRequest"
        found = fsx.describe_data_repository_associations()["Associations"]
        assert [(row["Lifecycle"], row["S3"]) for row in found] == [("AVAILABLE", asked["S3"])]
        fsx.delete_data_repository_association(AssociationId=made["AssociationId"])
        assert not fsx.describe_data_repository_associations()["Associations"]


def test_the_root_volume_of_openzfs_can_be_found() -> None:
    with PaperCloud() as cloud:
        zfs = {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 64}
        made = make(cloud, FileSystemType="OPENZFS", StorageCapacity=64, OpenZFSConfiguration=zfs)
        volumes = client(cloud, "fsx").describe_volumes()["Volumes"]
    assert [row["VolumeId"] for row in volumes] == [made["OpenZFSConfiguration"]["RootVolumeId"]]


def test_tags_of_a_file_system_can_be_changed() -> None:
    with PaperCloud() as cloud:
        fsx = client(cloud, "fsx")
        arn = make(cloud, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])[
            "ResourceARN"
        ]
        fsx.untag_resource(ResourceARN=arn, TagKeys=["a"])
        fsx.tag_resource(ResourceARN=arn, Tags=[{"Key": "c", "Value": "3"}])
        found = {
            row["Key"]: row["Value"] for row in fsx.list_tags_for_resource(ResourceARN=arn)["Tags"]
        }
    assert found == {"b": "2", "c": "3"}
