"""Security groups and their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import EC2_TAGS, Call, Kind
from papercloud.provider.kinds.network import Ec2Kind
from papercloud.provider.naming import at
from papercloud.provider.values import Properties

_RULE_FIELDS: Final = {
    "ipProtocol": "IpProtocol",
    "fromPort": "FromPort",
    "toPort": "ToPort",
    "cidrIpv4": "CidrIpv4",
    "cidrIpv6": "CidrIpv6",
    "prefixListId": "PrefixListId",
    "referencedSecurityGroupId": "ReferencedGroupId",
    "description": "Description",
}
_SOURCES: Final = {
    "cidrIpv4": ("IpRanges", "CidrIp"),
    "cidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
    "prefixListId": ("PrefixListIds", "PrefixListId"),
    "referencedSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
}


@dataclass(frozen=True, kw_only=True)
class SecurityGroup(Ec2Kind):
    """AWS gives a new group a rule that lets all out; the real provider takes it away."""

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """The API wants a description, the SDK does not."""
        given = {"description": "Managed by Pulumi", **inputs}
        return super().request(account, given)

    def create(self, account: Account, inputs: Properties) -> str:
        """Make it without a rule."""
        group = super().create(account, inputs)
        everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        account.call("ec2", "RevokeSecurityGroupEgress", GroupId=group, IpPermissions=everything)
        return group

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take its rules away first where the program says so."""
        if state.get("revokeRulesOnDelete"):
            found = self.find(account, resource_id, state) or {}
            for way, rules in (("Ingress", "IpPermissions"), ("Egress", "IpPermissionsEgress")):
                if found.get(rules):
                    account.call(
                        "ec2",
                        f"RevokeSecurityGroup{way}",
                        GroupId=resource_id,
                        IpPermissions=found[rules],
                    )
        super().delete(account, resource_id, state)


@dataclass(frozen=True, kw_only=True)
class Rule(Ec2Kind):
    """One rule in one direction."""

    way: str

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """The API takes permissions with lists of sources; a rule has one source."""
        permission: Properties = {
            _RULE_FIELDS[key]: inputs[key]
            for key in ("ipProtocol", "fromPort", "toPort")
            if inputs.get(key) is not None
        }
        for key, (many, one) in _SOURCES.items():
            if inputs.get(key) is not None:
                source = {one: inputs[key]}
                if inputs.get("description"):
                    source["Description"] = inputs["description"]
                permission[many] = [source]
        request: Properties = {"GroupId": inputs["securityGroupId"], "IpPermissions": [permission]}
        tags = {**account.default_tags, **(inputs.get("tags") or {})}
        if tags:
            pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
            request["TagSpecifications"] = [{"ResourceType": self.tag_type, "Tags": pairs}]
        return request

    def carries(self, account: Account, key: str) -> bool:
        """All but the group itself changes in place."""
        return key in _RULE_FIELDS or super().carries(account, key)

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Write the whole rule anew."""
        del state
        if not changed:
            return
        rule = {
            member: inputs[key]
            for key, member in _RULE_FIELDS.items()
            if inputs.get(key) is not None
        }
        change = {"SecurityGroupRuleId": resource_id, "SecurityGroupRule": rule}
        group = inputs["securityGroupId"]
        account.call("ec2", "ModifySecurityGroupRules", GroupId=group, SecurityGroupRules=[change])

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """EC2 says -1 for "no port", which the provider leaves out."""
        found = super().find(account, resource_id, state)
        if found and found.get("IpProtocol") == "-1":
            found = {k: v for k, v in found.items() if k not in ("FromPort", "ToPort")}
        return found

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Revoke it by its id."""
        group = at(state, "securityGroupId")
        account.call(
            "ec2",
            f"RevokeSecurityGroup{self.way}",
            GroupId=group,
            SecurityGroupRuleIds=[resource_id],
        )


def _rule(way: str) -> Rule:
    return Rule(
        service="ec2",
        create_by=Call(
            operation=f"AuthorizeSecurityGroup{way}",
            found="SecurityGroupRules.0.SecurityGroupRuleId",
        ),
        find_by=Call(
            operation="DescribeSecurityGroupRules",
            by="SecurityGroupRuleIds",
            found="SecurityGroupRules.0",
        ),
        end_by=None,
        rename={
            "securityGroupId<": "GroupId",
            "referencedSecurityGroupId<": "ReferencedGroupInfo.GroupId",
            "arn<": "SecurityGroupRuleArn",
        },
        replace=frozenset({"securityGroupId"}),
        tag_type="security-group-rule",
        tagging=EC2_TAGS,
        arn_type="security-group-rule",
        way=way,
    )


SECURITY: Final[Mapping[str, Kind]] = {
    "aws:ec2/securityGroup:SecurityGroup": SecurityGroup(
        service="ec2",
        create_by=Call(operation="CreateSecurityGroup", found="GroupId"),
        find_by=Call(operation="DescribeSecurityGroups", by="GroupIds", found="SecurityGroups.0"),
        end_by=Call(operation="DeleteSecurityGroup", by="GroupId"),
        rename={
            "name": "GroupName",
            "ingress<": "none",
            "egress<": "none",
            "arn<": "SecurityGroupArn",
        },
        ours=frozenset({"revokeRulesOnDelete"}),
        name="name",
        tag_type="security-group",
        tagging=EC2_TAGS,
        arn_type="security-group",
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
}
