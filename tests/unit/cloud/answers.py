"""A gateway that answers for a small account, for tests to change in one place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from muster.clock import SystemClock
from muster.cloud.asking import Bounds
from muster.cloud.gateway import RecordedGateway
from muster.cloud.reading import read_cloud
from muster.plan.cloud_view import CloudView
from muster.plan.rules.model import View
from muster.progress import silent

REGION = "us-east-2"
VPC = "vpc-0123456789abcdef0"
SUBNET = "subnet-0123456789abcdef0"
FS = "fs-0123456789abcdef0"
HELD = "cr-0123456789abcdef0"
OWN = [{"Key": "muster:stack", "Value": "test"}]
NODE = [*OWN, {"Key": "muster:pool", "Value": "train"}]
ENDS = datetime(2026, 12, 1, 11, 30, tzinfo=UTC)


def refusal(code: str, message: str = "no") -> ClientError:
    """Return an error of AWS."""
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


def account(**changes: Any) -> RecordedGateway:
    """Return an account by operation; each answer or error may be replaced."""
    answers = {**_ANSWERS, **changes}
    return RecordedGateway(REGION, {(_SERVICES.get(n, "ec2"), n): a for n, a in answers.items()})


def read(found: View, gateway: RecordedGateway) -> CloudView:
    """Read what the account says of a stack."""
    bounds = Bounds(clock=SystemClock(), limit_s=30, progress=silent)
    return read_cloud(found.plan, gateway, bounds)


def interface(name: str, **more: Any) -> dict[str, Any]:
    """Return an interface in the subnet, with two addresses."""
    addresses = [{"PrivateIpAddress": "10.0.0.9"}, {"PrivateIpAddress": "10.0.0.10"}]
    usual = {"NetworkInterfaceId": name, "SubnetId": SUBNET, "Groups": []}
    return {**usual, "PrivateIpAddresses": addresses, **more}


def instance(name: str, **more: Any) -> dict[str, Any]:
    """Return a running p5."""
    options = {"CoreCount": 96, "ThreadsPerCore": 2}
    return {"InstanceId": name, "InstanceType": "p5.48xlarge", "CpuOptions": options, **more}


def reservation(**more: Any) -> dict[str, Any]:
    """Return an active reservation of p5."""
    usual = {
        "CapacityReservationId": HELD,
        "OwnerId": "123456789012",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZoneId": "use2-az1",
        "State": "active",
        "Tenancy": "default",
        "TotalInstanceCount": 8,
        "AvailableInstanceCount": 3,
    }
    return {**usual, **more}


_SERVICES = {
    "get_caller_identity": "sts",
    "describe_file_systems": "fsx",
    "describe_mount_targets": "efs",
    "list_group_resources": "resource-groups",
    "head_bucket": "s3",
    "get_bucket_tagging": "s3",
    "get_service_quota": "service-quotas",
    "simulate_principal_policy": "iam",
}


def _attribute(parameters: Any) -> dict[str, Any]:
    name = parameters["Attribute"]
    return {name[0].upper() + name[1:]: {"Value": True}}


def _simulated(parameters: Any) -> dict[str, Any]:
    allowed = [{"EvalActionName": a, "EvalDecision": "allowed"} for a in parameters["ActionNames"]]
    return {"EvaluationResults": allowed}


_IMAGE = {
    "ImageId": "ami-0123456789abcdef0",
    "State": "available",
    "Architecture": "x86_64",
    "BootMode": "uefi-preferred",
    "RootDeviceName": "/dev/sda1",
    "BlockDeviceMappings": [
        {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
        {"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 64}},
    ],
}
_TYPE = {
    "InstanceType": "p5.48xlarge",
    "SupportedUsageClasses": ["on-demand", "capacity-block"],
    "SupportedBootModes": ["uefi"],
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
    "PlacementGroupInfo": {"SupportedStrategies": ["cluster"]},
    "NetworkInfo": {
        "MaximumNetworkCards": 32,
        "EfaSupported": True,
        "EfaInfo": {"MaximumEfaInterfaces": 32},
    },
}
_FSX = {
    "FileSystemId": FS,
    "FileSystemType": "LUSTRE",
    "Lifecycle": "AVAILABLE",
    "VpcId": VPC,
    "SubnetIds": [SUBNET],
    "NetworkInterfaceIds": ["eni-fs"],
    "StorageCapacity": 9600,
    "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "EfaEnabled": True},
}
_GROUP = {
    "GroupId": "sg-fs",
    "GroupName": "storage",
    "IpPermissions": [
        {
            "IpProtocol": "tcp",
            "FromPort": 988,
            "ToPort": 1023,
            "IpRanges": [{"CidrIp": "10.0.0.0/16"}],
            "UserIdGroupPairs": [{"GroupId": "sg-own"}],
        },
        {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "IpRanges": [{"CidrIp": "::"}]},
    ],
    "IpPermissionsEgress": [],
}
_SELF = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-own"}]}
_OWN_GROUP = {
    "GroupId": "sg-own",
    "GroupName": "test-fabric",
    "Tags": OWN,
    "IpPermissions": [_SELF],
    "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}],
}
_ANSWERS: dict[str, Any] = {
    "get_caller_identity": {
        "Account": "123456789012",
        "Arn": "arn:aws:sts::123456789012:assumed-role/builder/session",
    },
    "describe_instance_type_offerings": {
        "InstanceTypeOfferings": [{"InstanceType": "p5.48xlarge", "Location": "use2-az1"}]
    },
    "describe_instance_types": {"InstanceTypes": [_TYPE]},
    "describe_capacity_reservations": {
        "CapacityReservations": [
            reservation(),
            reservation(CapacityReservationId="cr-1", State="expired"),
        ]
    },
    "describe_placement_groups": {"PlacementGroups": [{"GroupArn": "arn:own", "Tags": OWN}]},
    "describe_instances": {
        "Reservations": [
            {"Instances": [instance("i-own", Tags=NODE, CapacityReservationId=HELD)]},
            {"Instances": [instance("i-block", InstanceLifecycle="capacity-block")]},
            {"Instances": [instance("i-spot", InstanceLifecycle="spot", CpuOptions={})]},
        ]
    },
    "list_group_resources": {
        "ResourceIdentifiers": [
            {"Identifier": {"ResourceArn": f"arn:aws:ec2:x:1:capacity-reservation/{HELD}"}},
            {"Identifier": {"ResourceArn": "arn:aws:ec2:x:1:instance/i-1"}},
        ]
    },
    "describe_subnets": {
        "Subnets": [
            {
                "SubnetId": SUBNET,
                "VpcId": VPC,
                "AvailabilityZoneId": "use2-az1",
                "CidrBlock": "10.0.0.0/20",
                "AvailableIpAddressCount": 4000,
                "MapPublicIpOnLaunch": False,
            }
        ]
    },
    "describe_vpcs": {"Vpcs": [{"VpcId": VPC, "CidrBlock": "10.0.0.0/16"}]},
    "describe_internet_gateways": {"InternetGateways": []},
    "describe_vpc_attribute": _attribute,
    "describe_vpc_endpoints": {
        "VpcEndpoints": [
            {
                "VpcId": VPC,
                "ServiceName": "com.amazonaws.us-east-2.ssm",
                "NetworkInterfaceIds": ["eni-endpoint"],
                "Tags": OWN,
            }
        ]
    },
    "describe_route_tables": {
        "RouteTables": [
            {
                "Associations": [{"Main": True}],
                "Routes": [
                    {"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local"},
                    {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"},
                ],
            }
        ]
    },
    "describe_network_interfaces": {
        "NetworkInterfaces": [
            interface("eni-own", Attachment={"InstanceId": "i-own"}),
            interface("eni-other", Attachment={"InstanceId": "i-block"}),
            interface("eni-fs", Groups=[{"GroupId": "sg-fs"}]),
            interface("eni-endpoint", SubnetId="subnet-other"),
        ]
    },
    "describe_addresses": {"Addresses": [{"TagSet": []}, {"Tags": OWN}]},
    "describe_security_groups": {"SecurityGroups": [_GROUP, _OWN_GROUP]},
    "describe_file_systems": {"FileSystems": [_FSX]},
    "describe_images": {"Images": [_IMAGE]},
    "head_bucket": {"ResponseMetadata": {"HTTPHeaders": {"x-amz-bucket-region": "us-west-2"}}},
    "get_bucket_tagging": {"TagSet": OWN},
    "get_service_quota": {"Quota": {"Value": 640.0}},
    "simulate_principal_policy": _simulated,
    "run_instances": refusal("DryRunOperation", "would have succeeded"),
}
