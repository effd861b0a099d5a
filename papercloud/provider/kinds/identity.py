"""IAM: roles, policies, instance profiles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account, RefusedError
from papercloud.provider.kind import Call, Kind, Tagging, Written
from papercloud.provider.values import Properties

_MOST_VERSIONS: Final = 5
"""IAM keeps so many versions of a policy."""


@dataclass(frozen=True, kw_only=True)
class Role(Kind):
    """A role; botocore gives its policy decoded."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Write the policy as the text that the SDK has."""
        found = super().find(account, resource_id, state)
        if found is None:
            return None
        document = _text(found["AssumeRolePolicyDocument"])
        return {"Tags": [], **found, "AssumeRolePolicyDocument": document}


@dataclass(frozen=True, kw_only=True)
class RolePolicy(Written):
    """An inline policy: `role:name`."""

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return role and name."""
        del answer
        return f"{inputs['role']}:{inputs['name']}"

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Ask for it by role and name."""
        del state
        role, name = resource_id.split(":", 1)
        return _or_gone(account, "GetRolePolicy", RoleName=role, PolicyName=name)

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take it off the role."""
        del state
        role, name = resource_id.split(":", 1)
        account.call("iam", "DeleteRolePolicy", RoleName=role, PolicyName=name)


@dataclass(frozen=True, kw_only=True)
class Policy(Kind):
    """A managed policy, whose text has versions."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Add the text of the version that counts."""
        found = super().find(account, resource_id, state)
        if found is None:
            return None
        version = found["DefaultVersionId"]
        answer = account.call("iam", "GetPolicyVersion", PolicyArn=resource_id, VersionId=version)
        document = _text(answer["PolicyVersion"]["Document"])
        return {"Tags": [], **found, "PolicyDocument": document}

    def carries(self, account: Account, key: str) -> bool:
        """A new text is a new version."""
        return key == "policy" or super().carries(account, key)

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Make a version, and room for it."""
        del state
        if "policy" not in changed:
            return
        others = self._other_versions(account, resource_id)
        if len(others) >= _MOST_VERSIONS - 1:
            oldest = min(others, key=lambda version: int(version.removeprefix("v")))
            account.call("iam", "DeletePolicyVersion", PolicyArn=resource_id, VersionId=oldest)
        account.call(
            "iam",
            "CreatePolicyVersion",
            PolicyArn=resource_id,
            PolicyDocument=inputs["policy"],
            SetAsDefault=True,
        )

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """End the other versions first."""
        for version in self._other_versions(account, resource_id):
            account.call("iam", "DeletePolicyVersion", PolicyArn=resource_id, VersionId=version)
        super().delete(account, resource_id, state)

    def _other_versions(self, account: Account, arn: str) -> list[str]:
        versions = account.call("iam", "ListPolicyVersions", PolicyArn=arn)["Versions"]
        return [v["VersionId"] for v in versions if not v["IsDefaultVersion"]]


@dataclass(frozen=True, kw_only=True)
class Attachment(Kind):
    """A managed policy on a role: `role/arn`."""

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return role and policy."""
        del answer
        return f"{inputs['role']}/{inputs['policyArn']}"

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Look for it among the role's policies."""
        del state
        role, arn = resource_id.split("/", 1)
        answer = _or_gone(account, "ListAttachedRolePolicies", RoleName=role)
        for policy in (answer or {}).get("AttachedPolicies", []):
            if policy["PolicyArn"] == arn:
                return {"RoleName": role, "PolicyArn": arn}
        return None

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take it off the role."""
        del state
        role, arn = resource_id.split("/", 1)
        account.call("iam", "DetachRolePolicy", RoleName=role, PolicyArn=arn)


@dataclass(frozen=True, kw_only=True)
class InstanceProfile(Kind):
    """A profile and the one role in it."""

    def written_apart(self) -> frozenset[str]:
        """The role is put in afterwards."""
        return frozenset({"role"})

    def carries(self, account: Account, key: str) -> bool:
        """The role can be exchanged."""
        return key == "role" or super().carries(account, key)

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Have the wanted role in it, and no other."""
        found = self.find(account, resource_id, {}) or {}
        has = [role["RoleName"] for role in found.get("Roles", [])]
        wanted = inputs.get("role")
        for role in has:
            if role != wanted:
                self._move(account, "RemoveRoleFromInstanceProfile", resource_id, role)
        if wanted and wanted not in has:
            self._move(account, "AddRoleToInstanceProfile", resource_id, wanted)

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """Take the role out, then end it."""
        self.complete(account, resource_id, {})
        super().delete(account, resource_id, state)

    def _move(self, account: Account, operation: str, profile: str, role: str) -> None:
        account.call("iam", operation, InstanceProfileName=profile, RoleName=role)


def _or_gone(account: Account, operation: str, **request: Any) -> dict[str, Any] | None:
    try:
        answer = account.call("iam", operation, **request)
    except RefusedError as error:
        if error.is_gone:
            return None
        raise
    if "PolicyDocument" in answer:
        answer["PolicyDocument"] = _text(answer["PolicyDocument"])
    return answer


def _text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document)


IDENTITY: Final[Mapping[str, Kind]] = {
    "aws:iam/role:Role": Role(
        service="iam",
        create_by=Call(operation="CreateRole", found="Role.RoleName"),
        find_by=Call(operation="GetRole", by="RoleName", found="Role"),
        end_by=Call(operation="DeleteRole", by="RoleName"),
        update_by=(
            Call(operation="UpdateRole", by="RoleName"),
            Call(operation="UpdateAssumeRolePolicy", by="RoleName"),
            Call(operation="PutRolePermissionsBoundary", by="RoleName"),
        ),
        rename={
            "name": "RoleName",
            "assumeRolePolicy": "AssumeRolePolicyDocument|PolicyDocument",
            "permissionsBoundary<": "PermissionsBoundary.PermissionsBoundaryArn",
            "uniqueId<": "RoleId",
        },
        ours=frozenset({"forceDetachPolicies"}),
        name="name",
        tagging=Tagging(add="TagRole", remove="UntagRole", by="RoleName"),
    ),
    "aws:iam/rolePolicy:RolePolicy": RolePolicy(
        service="iam",
        create_by=Call(operation="PutRolePolicy"),
        find_by=Call(operation="GetRolePolicy"),
        end_by=None,
        rename={"role": "RoleName", "name": "PolicyName", "policy": "PolicyDocument"},
        replace=frozenset({"role", "name"}),
        name="name",
    ),
    "aws:iam/policy:Policy": Policy(
        service="iam",
        create_by=Call(operation="CreatePolicy", found="Policy.Arn"),
        find_by=Call(operation="GetPolicy", by="PolicyArn", found="Policy"),
        end_by=Call(operation="DeletePolicy", by="PolicyArn"),
        rename={"name": "PolicyName", "policy": "PolicyDocument"},
        name="name",
        tagging=Tagging(add="TagPolicy", remove="UntagPolicy", by="PolicyArn"),
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Attachment(
        service="iam",
        create_by=Call(operation="AttachRolePolicy"),
        find_by=Call(operation="ListAttachedRolePolicies"),
        end_by=None,
        rename={"role": "RoleName"},
    ),
    "aws:iam/instanceProfile:InstanceProfile": InstanceProfile(
        service="iam",
        create_by=Call(
            operation="CreateInstanceProfile", found="InstanceProfile.InstanceProfileName"
        ),
        find_by=Call(
            operation="GetInstanceProfile", by="InstanceProfileName", found="InstanceProfile"
        ),
        end_by=Call(operation="DeleteInstanceProfile", by="InstanceProfileName"),
        rename={
            "name": "InstanceProfileName",
            "role<": "Roles.0.RoleName",
            "uniqueId<": "InstanceProfileId",
        },
        name="name",
        tagging=Tagging(
            add="TagInstanceProfile", remove="UntagInstanceProfile", by="InstanceProfileName"
        ),
    ),
}
