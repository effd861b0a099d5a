"""Which inputs replace: derived from the API, kept beside what CloudFormation says, for review.

To write the file anew: REWRITE_GOLDEN=1, then read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from papercloud.provider.account import Account
from papercloud.provider.kinds import KINDS
from papercloud.provider.naming import match
from papercloud.provider.schema import load

GOLDEN = Path(__file__).parent / "replaces.json"
CLOUDFORMATION = {
    "aws:ec2/vpc:Vpc": "AWS::EC2::VPC",
    "aws:ec2/subnet:Subnet": "AWS::EC2::Subnet",
    "aws:ec2/placementGroup:PlacementGroup": "AWS::EC2::PlacementGroup",
    "aws:ec2/capacityReservation:CapacityReservation": "AWS::EC2::CapacityReservation",
    "aws:ec2/launchTemplate:LaunchTemplate": "AWS::EC2::LaunchTemplate",
    "aws:ec2/natGateway:NatGateway": "AWS::EC2::NatGateway",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "AWS::EC2::VPCEndpoint",
    "aws:ec2/securityGroup:SecurityGroup": "AWS::EC2::SecurityGroup",
    "aws:autoscaling/group:Group": "AWS::AutoScaling::AutoScalingGroup",
    "aws:efs/fileSystem:FileSystem": "AWS::EFS::FileSystem",
    "aws:efs/mountTarget:MountTarget": "AWS::EFS::MountTarget",
    "aws:eks/cluster:Cluster": "AWS::EKS::Cluster",
    "aws:eks/nodeGroup:NodeGroup": "AWS::EKS::Nodegroup",
    "aws:eks/addon:Addon": "AWS::EKS::Addon",
    "aws:eks/accessEntry:AccessEntry": "AWS::EKS::AccessEntry",
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": (
        "AWS::FSx::DataRepositoryAssociation"
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": "AWS::FSx::FileSystem",
    "aws:iam/role:Role": "AWS::IAM::Role",
    "aws:iam/instanceProfile:InstanceProfile": "AWS::IAM::InstanceProfile",
}


def test_the_set_of_inputs_that_replace_is_the_reviewed_one(account: Account) -> None:
    found = {token: _compared(token, account) for token in sorted(KINDS)}
    if os.environ.get("REWRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def _compared(token: str, account: Account) -> dict[str, Any]:
    kind = KINDS[token]
    shape = account.model(kind.service, kind.create_by.operation).input_shape
    replaces, unmodelled = [], []
    for key in load().inputs(token):
        apart = kind.ours | kind.written_apart() | set(kind.set_by) | {"tags", "region"}
        if key not in apart and kind.names.target(key, shape) is None:
            unmodelled.append(key)
        elif key not in ("tags", "region") and not kind.carries(account, key):
            replaces.append(key)
    compared: dict[str, Any] = {"replaces": replaces, "not modelled": unmodelled}
    if token in CLOUDFORMATION:
        theirs = _create_only(CLOUDFORMATION[token], load().inputs(token))
        changed = set(load().inputs(token)) - set(unmodelled)
        compared["only CloudFormation replaces"] = sorted((theirs & changed) - set(replaces))
    return compared


def _create_only(name: str, inputs: Any) -> set[str]:
    """What CloudFormation cannot change in place, under the SDK's names, where they match."""
    schemas = pytest.importorskip("cfnlint.schema", reason="cfn-lint is not installed")
    schema = schemas.PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-2", name).schema
    tops = {path.split("/")[2] for path in schema.get("createOnlyProperties", [])}
    return {found for top in tops if (found := match(top, inputs))}
