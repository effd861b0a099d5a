"""Launch templates: an update is a new version."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import EC2_TAGS, Call, Kind
from papercloud.provider.kinds.network import Ec2Kind
from papercloud.provider.values import Properties

_OF_TEMPLATE: Final = frozenset({"name", "namePrefix", "description", "tags", "region"})


@dataclass(frozen=True, kw_only=True)
class LaunchTemplate(Ec2Kind):
    """The template and its latest version seen as one thing."""

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """A prefix becomes a name here."""
        given = {key: value for key, value in inputs.items() if key != "namePrefix"}
        if inputs.get("name") is None:
            given["name"] = f"{inputs.get('namePrefix', '')}{uuid.uuid4().hex}"
        return super().request(account, given)

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Lay the latest version's data over the template."""
        template = super().find(account, resource_id, state)
        if template is None:
            return None
        answer = account.call(
            "ec2",
            "DescribeLaunchTemplateVersions",
            LaunchTemplateId=resource_id,
            Versions=["$Latest"],
        )
        version = answer["LaunchTemplateVersions"][0]
        data = version["LaunchTemplateData"]
        # moto writes the tags of the template itself among those of what it launches.
        launched = [
            tags
            for tags in data.get("TagSpecifications", [])
            if tags["ResourceType"] != self.tag_type
        ]
        described = {"VersionDescription": version.get("VersionDescription")}
        return {**data, "TagSpecifications": launched, **described, **template}

    def carries(self, account: Account, key: str) -> bool:
        """All but the name is of the version, and versions are made at will."""
        del account
        return key not in ("name", "namePrefix")

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Write a new version, and make it the default where the program says so."""
        del state
        versioned = changed - self.ours - (_OF_TEMPLATE - {"description"})
        if versioned:
            whole = self.request(account, inputs)
            request = {"LaunchTemplateId": resource_id}
            for key in ("LaunchTemplateData", "VersionDescription"):
                if key in whole:
                    request[key] = whole[key]
            account.call("ec2", "CreateLaunchTemplateVersion", **request)
        if inputs.get("updateDefaultVersion"):
            found = self.find(account, resource_id, {}) or {}
            latest = str(found["LatestVersionNumber"])
            account.call(
                "ec2", "ModifyLaunchTemplate", LaunchTemplateId=resource_id, DefaultVersion=latest
            )


TEMPLATES: Final[Mapping[str, Kind]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": LaunchTemplate(
        service="ec2",
        create_by=Call(operation="CreateLaunchTemplate", found="LaunchTemplate.LaunchTemplateId"),
        find_by=Call(
            operation="DescribeLaunchTemplates", by="LaunchTemplateIds", found="LaunchTemplates.0"
        ),
        end_by=Call(operation="DeleteLaunchTemplate", by="LaunchTemplateId"),
        flatten="LaunchTemplateData",
        rename={
            "name": "LaunchTemplateName",
            "description": "VersionDescription",
            "latestVersion<": "LatestVersionNumber",
            "defaultVersion<": "DefaultVersionNumber",
            "vpcSecurityGroupIds>": "LaunchTemplateData.SecurityGroupIds",
            "vpcSecurityGroupIds<": "SecurityGroupIds",
            "securityGroupNames>": "LaunchTemplateData.SecurityGroups",
            "securityGroupNames<": "SecurityGroups",
            "tagSpecifications>": "LaunchTemplateData.TagSpecifications",
            "networkInterfaces.securityGroups": "Groups",
            "networkInterfaces.ipv4Addresses": "PrivateIpAddresses",
            "networkInterfaces.ipv4AddressCount": "SecondaryPrivateIpAddressCount",
        },
        ours=frozenset({"updateDefaultVersion"}),
        not_kept=frozenset({"latestVersion", "defaultVersion"}),
        name="name",
        tag_type="launch-template",
        tagging=EC2_TAGS,
        arn_type="launch-template",
    ),
}
