"""How each kind of file system is mounted, as its guide says."""

from __future__ import annotations

from typing import Any

import pytest

from muster.catalog.nodes import load_node_facts
from muster.cloud.calls import CloudError
from muster.cloud.gateway import RecordedGateway
from muster.cloud.mounts import read_mounts
from muster.fleet import Mount
from muster.plan.aws.fleet import FleetWish
from tests.unit.cloud.aws_fleet import REGION, inputs

OPTIONS = load_node_facts().mount_options
FSX = {
    "FileSystems": [
        {
            "FileSystemId": "fs-1",
            "DNSName": "fs-1.fsx.us-east-2.amazonaws.com",
            "LustreConfiguration": {"MountName": "abcdefgh"},
        }
    ]
}


def mounts(kind: str, address: str, answer: Any = None) -> tuple[Mount, ...]:
    given = {"mount": "/data", "kind": kind, "address": address}
    wish = FleetWish.model_validate({**inputs("i-1"), "storage": [given]})
    gateway = RecordedGateway(REGION, {("fsx", "describe_file_systems"): answer})
    return read_mounts(gateway, wish, OPTIONS)


@pytest.mark.parametrize("address", ["fs-1", "fs-1.fsx.us-east-2.amazonaws.com"])
def test_lustre_is_mounted_by_the_name_that_fsx_gave_it(address: str) -> None:
    [found] = mounts("fsxLustre", address, FSX)
    assert found.source == "fs-1.fsx.us-east-2.amazonaws.com@tcp:/abcdefgh"
    assert (found.kind, found.path) == ("lustre", "/data")


def test_openzfs_is_mounted_at_its_root_volume() -> None:
    [found] = mounts("fsxOpenZfs", "fs-1", FSX)
    assert (found.source, found.kind) == ("fs-1.fsx.us-east-2.amazonaws.com:/fsx", "nfs4")


@pytest.mark.parametrize("address", ["fs-2", "fs-2.efs.us-east-2.amazonaws.com"])
def test_efs_needs_no_question(address: str) -> None:
    [found] = mounts("efs", address)
    assert (found.source, found.kind) == ("fs-2.efs.us-east-2.amazonaws.com:/", "nfs4")
    assert "hard" in found.options.split(",")


def test_a_file_system_that_is_not_there_is_named() -> None:
    with pytest.raises(CloudError, match="/data: FSx has no file system fs-9"):
        mounts("fsxLustre", "fs-9", {"FileSystems": []})
