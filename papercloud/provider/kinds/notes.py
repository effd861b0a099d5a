"""What the cloud keeps in writing: parameters and logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import Call, Kind, Tagging, Written
from papercloud.provider.values import Properties


@dataclass(frozen=True, kw_only=True)
class Parameter(Written):
    """An SSM parameter; tags may go only with the first write."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Add the tags and what only a description tells."""
        found = super().find(account, resource_id, state)
        if found is None:
            return None
        named = [{"Key": "Name", "Option": "Equals", "Values": [resource_id]}]
        told = account.call("ssm", "DescribeParameters", ParameterFilters=named)["Parameters"]
        tags = account.call(
            "ssm", "ListTagsForResource", ResourceType="Parameter", ResourceId=resource_id
        )
        return {**(told[0] if told else {}), **found, "Tags": tags["TagList"]}

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Write over it."""
        del resource_id, state
        if changed:
            request = {**self.request(account, inputs), "Overwrite": True}
            request.pop("Tags", None)
            account.call("ssm", "PutParameter", **request)


@dataclass(frozen=True, kw_only=True)
class LogGroup(Kind):
    """A log group, found by the start of its name."""

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return the name, which is the id."""
        del answer
        return str(inputs["name"])

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Take the one whose whole name it is."""
        del state
        answer = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=resource_id)
        for group in answer["logGroups"]:
            if group["logGroupName"] == resource_id:
                arn = group["arn"].removesuffix(":*")
                tags = account.call("logs", "ListTagsForResource", resourceArn=arn)["tags"]
                return {**group, "arn": arn, "tags": tags}
        return None


NOTES: Final[Mapping[str, Kind]] = {
    "aws:ssm/parameter:Parameter": Parameter(
        service="ssm",
        create_by=Call(operation="PutParameter"),
        find_by=Call(
            operation="GetParameter",
            by="Name",
            found="Parameter",
            fixed={"WithDecryption": True},
        ),
        end_by=Call(operation="DeleteParameter", by="Name"),
        rename={"insecureValue>": "Value", "insecureValue<": "none"},
        name="name",
        id_from="name",
        tagging=Tagging(
            add="AddTagsToResource",
            remove="RemoveTagsFromResource",
            by="ResourceId",
            fixed={"ResourceType": "Parameter"},
        ),
    ),
    "aws:cloudwatch/logGroup:LogGroup": LogGroup(
        service="logs",
        create_by=Call(operation="CreateLogGroup"),
        find_by=Call(operation="DescribeLogGroups"),
        end_by=Call(operation="DeleteLogGroup", by="logGroupName"),
        set_by={"retentionInDays": Call(operation="PutRetentionPolicy", by="logGroupName")},
        rename={"name": "logGroupName"},
        ours=frozenset({"skipDestroy"}),
        name="name",
        tagging=Tagging(
            add="TagResource",
            remove="UntagResource",
            by="resourceArn",
            by_arn=True,
            keys="tagKeys",
        ),
    ),
}
