"""Single instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import EC2_TAGS, Call, Kind, Ready
from papercloud.provider.kinds.network import Ec2Kind
from papercloud.provider.naming import at


@dataclass(frozen=True, kw_only=True)
class Instance(Ec2Kind):
    """An instance, guarded from its end where the program says so."""

    def why_gone(self, account: Account, resource_id: str) -> str:
        """A launch that failed tells why in the reason of its state."""
        answer = account.call("ec2", "DescribeInstances", InstanceIds=[resource_id])
        return str(at(answer, "Reservations.0.Instances.0.StateReason.Message") or "")

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take the guard away only where `forceDestroy` is set, as the real provider does."""
        if state.get("forceDestroy"):
            for guard in ("DisableApiTermination", "DisableApiStop"):
                account.call(
                    "ec2",
                    "ModifyInstanceAttribute",
                    InstanceId=resource_id,
                    **{guard: {"Value": False}},
                )
        super().delete(account, resource_id, state)


_MODIFY: Final = Call(operation="ModifyInstanceAttribute", by="InstanceId")

INSTANCES: Final[Mapping[str, Kind]] = {
    "aws:ec2/instance:Instance": Instance(
        service="ec2",
        create_by=Call(
            operation="RunInstances",
            found="Instances.0.InstanceId",
            fixed={"MinCount": 1, "MaxCount": 1},
        ),
        find_by=Call(
            operation="DescribeInstances", by="InstanceIds", found="Reservations.0.Instances.0"
        ),
        also_find=(
            Call(
                operation="DescribeInstanceAttribute",
                by="InstanceId",
                fixed={"Attribute": "disableApiTermination"},
            ),
        ),
        end_by=Call(operation="TerminateInstances", by="InstanceIds"),
        set_by=dict.fromkeys(
            ("disableApiTermination", "disableApiStop", "sourceDestCheck"), _MODIFY
        ),
        rename={
            "ami": "ImageId",
            "availabilityZone": "Placement.AvailabilityZone",
            "hostId": "Placement.HostId",
            "tenancy": "Placement.Tenancy",
            "placementGroup": "Placement.GroupName",
            "placementGroupId": "Placement.GroupId",
            "placementPartitionNumber": "Placement.PartitionNumber",
            "iamInstanceProfile>": "IamInstanceProfile.Name",
            "iamInstanceProfile<": "none",
            "instanceState<": "State.Name",
            "launchTemplate.id>": "LaunchTemplateId",
            "launchTemplate.name>": "LaunchTemplateName",
            "monitoring>": "Monitoring.Enabled",
            "monitoring<": "none",
            "privateDns<": "PrivateDnsName",
            "privateIp": "PrivateIpAddress",
            "publicDns<": "PublicDnsName",
            "publicIp<": "PublicIpAddress",
            "primaryNetworkInterfaceId<": "NetworkInterfaces.0.NetworkInterfaceId",
            "networkInterfaces<": "none",
            "secondaryPrivateIps<": "none",
            "capacityReservationSpecification<": "none",
            "securityGroups<": "none",
            "vpcSecurityGroupIds>": "SecurityGroupIds",
            "vpcSecurityGroupIds<": "SecurityGroups.*.GroupId",
        },
        ours=frozenset({"forceDestroy", "userDataReplaceOnChange"}),
        tag_type="instance",
        tagging=EC2_TAGS,
        arn_type="instance",
        ready=Ready(
            path="State.Name",
            good=("running",),
            bad=("stopped",),
            dead=("shutting-down", "terminated"),
        ),
        wait_s=600,
        ends_slowly=True,
    ),
}
