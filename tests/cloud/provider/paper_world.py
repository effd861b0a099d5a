"""One resource of each modelled type, as a program gives them, made in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from papercloud.provider import schema
from papercloud.provider.account import Account
from papercloud.provider.kinds import KINDS
from papercloud.provider.lifecycle import Change, Lifecycle
from papercloud.provider.values import Properties

TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "ec2.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
)
READ: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}],
    }
)
IMAGE: Final = "ami-0123456789abcdef0"
TAGS: Final = {"owner": "me"}


class Made:
    """A resource that exists, and what the engine would ask about it."""

    def __init__(self, lifecycle: Lifecycle, name: str, inputs: Properties) -> None:
        self.lifecycle = lifecycle
        self.inputs = self.checked(inputs, name)
        self.id, self.state = lifecycle.create(self.inputs, 15)

    def __getitem__(self, output: str) -> Any:
        return self.state[output]

    def checked(self, inputs: Properties, name: str = "it") -> Properties:
        olds = getattr(self, "inputs", {})
        checked, mistakes = self.lifecycle.check(inputs, olds, name=name, seed=b"1")
        assert mistakes == [], mistakes
        return checked

    def refreshed(self) -> tuple[Properties, Properties]:
        found = self.lifecycle.read(self.id, self.state, self.inputs)
        assert found is not None, f"{self.id} is gone"
        return found

    def drift(self) -> Change:
        """What a preview after a refresh says."""
        state, seen = self.refreshed()
        return self.lifecycle.diff(seen, state, self.inputs)

    def change(self, inputs: Mapping[str, Any]) -> Change:
        news = self.checked({**self.inputs, **inputs})
        return self.lifecycle.diff(self.inputs, self.state, news)

    def update(self, inputs: Mapping[str, Any]) -> None:
        news = self.checked({**self.inputs, **inputs})
        self.state = self.lifecycle.update(self.id, self.state, news, 0)
        self.inputs = news

    def delete(self) -> None:
        self.lifecycle.delete(self.id, self.state, 0)

    def is_gone(self) -> bool:
        return self.lifecycle.read(self.id, self.state, self.inputs) is None


class PaperWorld:
    """Makes resources on demand, and what they need before them."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.made: dict[str, Made] = {}

    def lifecycle(self, token: str) -> Lifecycle:
        return Lifecycle(token=token, kind=KINDS[token], schema=schema.load(), account=self.account)

    def make(self, token: str, inputs: Properties, name: str) -> Made:
        made = Made(self.lifecycle(token), name, inputs)
        self.made[f"{token} {name}"] = made
        return made

    def __getitem__(self, token: str) -> Made:
        if (known := f"{token} it") not in self.made:
            self.make(token, EXAMPLES[token](self), "it")
        return self.made[known]


VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GATEWAY = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
NAT = "aws:ec2/natGateway:NatGateway"
TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
GROUP = "aws:autoscaling/group:Group"
SCHEDULE = "aws:autoscaling/schedule:Schedule"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
POLICY = "aws:iam/policy:Policy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
BUCKET = "aws:s3/bucket:Bucket"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ENCRYPTION = (
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
)
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
ZFS = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
EFS = "aws:efs/fileSystem:FileSystem"
MOUNT = "aws:efs/mountTarget:MountTarget"
CLUSTER = "aws:eks/cluster:Cluster"
NODES = "aws:eks/nodeGroup:NodeGroup"
ADDON = "aws:eks/addon:Addon"
ENTRY = "aws:eks/accessEntry:AccessEntry"
PARAMETER = "aws:ssm/parameter:Parameter"
LOGS = "aws:cloudwatch/logGroup:LogGroup"


def _template(world: PaperWorld) -> Properties:
    common = {
        "subnetId": world[SUBNET].id,
        "securityGroups": [world[SECURITY_GROUP].id],
        "deleteOnTermination": "true",
    }
    first = {"networkCardIndex": 0, "deviceIndex": 0, "associatePublicIpAddress": "false"}
    second = {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"}
    return {
        "imageId": IMAGE,
        "instanceType": "p5.48xlarge",
        "networkInterfaces": [{**common, **first}, {**common, **second}],
        "iamInstanceProfile": {"arn": world[PROFILE]["arn"]},
        "placement": {"groupName": world[PLACEMENT].id},
        "metadataOptions": {"httpTokens": "required", "httpEndpoint": "enabled"},
        "blockDeviceMappings": [
            {
                "deviceName": "/dev/sda1",
                "ebs": {"volumeSize": 500, "volumeType": "gp3", "encrypted": "true"},
            }
        ],
        "updateDefaultVersion": True,
        "disableApiTermination": True,
        "userData": "I2Nsb3VkLWNvbmZpZwo=",
        "tagSpecifications": [{"resourceType": "instance", "tags": TAGS}],
        "tags": TAGS,
    }


def _lustre(world: PaperWorld) -> Properties:
    return {
        "subnetIds": world[SUBNET].id,
        "securityGroupIds": [world[SECURITY_GROUP].id],
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": 4800,
        "perUnitStorageThroughput": 1000,
        "efaEnabled": True,
        "metadataConfiguration": {"mode": "AUTOMATIC"},
        "dataCompressionType": "LZ4",
        "fileSystemTypeVersion": "2.15",
        "skipFinalBackup": True,
        "tags": TAGS,
    }


def _zfs(world: PaperWorld) -> Properties:
    return {
        "subnetIds": [world[SUBNET].id],
        "deploymentType": "SINGLE_AZ_2",
        "storageCapacity": 256,
        "throughputCapacity": 160,
        "skipFinalBackup": True,
        "tags": TAGS,
    }


EXAMPLES: Final[Mapping[str, Callable[[PaperWorld], Properties]]] = {
    VPC: lambda _w: {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": True, "tags": TAGS},
    SUBNET: lambda w: {
        "vpcId": w[VPC].id,
        "cidrBlock": "10.0.0.0/18",
        "availabilityZoneId": "use2-az1",
        "mapPublicIpOnLaunch": False,
        "tags": TAGS,
    },
    GATEWAY: lambda w: {"vpcId": w[VPC].id, "tags": TAGS},
    EIP: lambda _w: {"domain": "vpc", "tags": TAGS},
    NAT: lambda w: {"subnetId": w[SUBNET].id, "allocationId": w[EIP].id, "tags": TAGS},
    TABLE: lambda w: {
        "vpcId": w[VPC].id,
        "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": w[GATEWAY].id}],
        "tags": TAGS,
    },
    ROUTE: lambda w: {
        "routeTableId": w.make(TABLE, {"vpcId": w[VPC].id}, "private").id,
        "destinationCidrBlock": "0.0.0.0/0",
        "natGatewayId": w[NAT].id,
    },
    ASSOCIATION: lambda w: {"routeTableId": w[TABLE].id, "subnetId": w[SUBNET].id},
    ENDPOINT: lambda w: {
        "vpcId": w[VPC].id,
        "serviceName": "com.amazonaws.us-east-2.ssm",
        "vpcEndpointType": "Interface",
        "subnetIds": [w[SUBNET].id],
        "securityGroupIds": [w[SECURITY_GROUP].id],
        "privateDnsEnabled": True,
        "tags": TAGS,
    },
    SECURITY_GROUP: lambda w: {"vpcId": w[VPC].id, "revokeRulesOnDelete": True, "tags": TAGS},
    INGRESS: lambda w: {
        "securityGroupId": w[SECURITY_GROUP].id,
        "referencedSecurityGroupId": w[SECURITY_GROUP].id,
        "ipProtocol": "-1",
        "tags": TAGS,
    },
    EGRESS: lambda w: {
        "securityGroupId": w[SECURITY_GROUP].id,
        "cidrIpv4": "0.0.0.0/0",
        "ipProtocol": "tcp",
        "fromPort": 443,
        "toPort": 443,
        "description": "https",
    },
    PLACEMENT: lambda _w: {"strategy": "cluster", "tags": TAGS},
    RESERVATION: lambda _w: {
        "availabilityZone": "us-east-2a",
        "instanceCount": 2,
        "instancePlatform": "Linux/UNIX",
        "instanceType": "g6e.48xlarge",
        "instanceMatchCriteria": "targeted",
        "endDateType": "unlimited",
        "tags": TAGS,
    },
    TEMPLATE: _template,
    INSTANCE: lambda w: {
        "launchTemplate": {"id": w[TEMPLATE].id, "version": str(w[TEMPLATE]["latestVersion"])},
        "disableApiTermination": True,
        "forceDestroy": True,
        "tags": TAGS,
    },
    GROUP: lambda w: {
        "minSize": 0,
        "maxSize": 2,
        "desiredCapacity": 2,
        "vpcZoneIdentifiers": [w[SUBNET].id],
        "launchTemplate": {"id": w[TEMPLATE].id, "version": str(w[TEMPLATE]["latestVersion"])},
        "suspendedProcesses": ["AZRebalance"],
        "protectFromScaleIn": True,
        "forceDelete": True,
        "waitForCapacityTimeout": "10s",
        "tags": [{"key": "owner", "value": "me", "propagateAtLaunch": True}],
    },
    SCHEDULE: lambda w: {
        "autoscalingGroupName": w[GROUP].id,
        "scheduledActionName": "drain",
        "minSize": 0,
        "maxSize": 0,
        "desiredCapacity": 0,
        "startTime": "2030-01-01T00:00:00Z",
    },
    ROLE: lambda _w: {"assumeRolePolicy": TRUST, "description": "nodes", "tags": TAGS},
    ROLE_POLICY: lambda w: {"role": w[ROLE].id, "policy": READ},
    POLICY: lambda _w: {"policy": READ, "tags": TAGS},
    ATTACHMENT: lambda w: {"role": w[ROLE].id, "policyArn": w[POLICY]["arn"]},
    PROFILE: lambda w: {"role": w[ROLE].id, "tags": TAGS},
    BUCKET: lambda _w: {"forceDestroy": True, "tags": TAGS},
    BLOCK: lambda w: {"bucket": w[BUCKET].id, "blockPublicAcls": True, "blockPublicPolicy": True},
    ENCRYPTION: lambda w: {
        "bucket": w[BUCKET].id,
        "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}],
    },
    VERSIONING: lambda w: {
        "bucket": w[BUCKET].id,
        "versioningConfiguration": {"status": "Enabled"},
    },
    LUSTRE: _lustre,
    LINK: lambda w: {
        "fileSystemId": w[LUSTRE].id,
        "fileSystemPath": "/data",
        "dataRepositoryPath": f"s3://{w[BUCKET].id}/data",
        "batchImportMetaDataOnCreate": True,
        "importedFileChunkSize": 1024,
        "s3": {
            "autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
            "autoExportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]},
        },
        "tags": TAGS,
    },
    ZFS: _zfs,
    EFS: lambda _w: {
        "encrypted": True,
        "throughputMode": "elastic",
        "lifecyclePolicies": [{"transitionToIa": "AFTER_30_DAYS"}],
        "tags": TAGS,
    },
    MOUNT: lambda w: {
        "fileSystemId": w[EFS].id,
        "subnetId": w[SUBNET].id,
        "securityGroups": [w[SECURITY_GROUP].id],
    },
    CLUSTER: lambda w: {
        "roleArn": w[ROLE]["arn"],
        "version": "1.33",
        "vpcConfig": {"subnetIds": [w[SUBNET].id], "endpointPrivateAccess": True},
        "accessConfig": {"authenticationMode": "API"},
        "tags": TAGS,
    },
    NODES: lambda w: {
        "clusterName": w[CLUSTER].id,
        "nodeRoleArn": w[ROLE]["arn"],
        "subnetIds": [w[SUBNET].id],
        "scalingConfig": {"desiredSize": 1, "minSize": 0, "maxSize": 2},
        "launchTemplate": {"id": w[TEMPLATE].id, "version": str(w[TEMPLATE]["latestVersion"])},
        "labels": {"pool": "train"},
        "taints": [{"key": "gpu", "value": "true", "effect": "NO_SCHEDULE"}],
        "tags": TAGS,
    },
    ADDON: lambda w: {
        "clusterName": w[CLUSTER].id,
        "addonName": "vpc-cni",
        "resolveConflictsOnUpdate": "PRESERVE",
        "tags": TAGS,
    },
    ENTRY: lambda w: {"clusterName": w[CLUSTER].id, "principalArn": w[ROLE]["arn"], "tags": TAGS},
    PARAMETER: lambda _w: {"name": "/muster/image", "type": "String", "value": "a", "tags": TAGS},
    LOGS: lambda _w: {"retentionInDays": 30, "tags": TAGS},
}
