"""EKS clusters and what belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account
from papercloud.provider.kind import Call, Kind, Ready, Tagging
from papercloud.provider.values import Properties

_TAGS: Final = Tagging(add="TagResource", remove="UntagResource", by="resourceArn", keys="tagKeys", by_arn=True)  # fmt: skip  # noqa: E501
_READY: Final = Ready(
    path="status",
    good=("ACTIVE",),
    bad=("FAILED", "CREATE_FAILED", "UPDATE_FAILED", "DEGRADED"),
)


@dataclass(frozen=True, kw_only=True)
class OfCluster(Kind):
    """Something that is named within a cluster: `cluster:name`."""

    member: str
    """The member that takes the second part of the id."""
    named_by: str
    """The input that is the second part."""

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return cluster and name."""
        del answer
        return f"{inputs['clusterName']}:{inputs[self.named_by]}"

    def _addressed(self, account: Account, call: Call, resource_id: str) -> Properties:
        del account, call
        cluster, name = resource_id.split(":", 1)
        return {"clusterName": cluster, self.member: name}

    def _takes(self, account: Account, call: Call, key: str) -> bool:
        is_name = key in ("clusterName", self.named_by)
        return not is_name and super()._takes(account, call, key)


@dataclass(frozen=True, kw_only=True)
class NodeGroup(OfCluster):
    """A node group, whose labels and taints change by what comes and goes."""

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Change labels and taints apart from the rest."""
        request: Properties = {}
        if "labels" in changed:
            old, new = state.get("labels") or {}, inputs.get("labels") or {}
            gone = sorted(set(old) - set(new))
            request["labels"] = {"addOrUpdateLabels": new, "removeLabels": gone}
        if "taints" in changed:
            old, new = state.get("taints") or [], inputs.get("taints") or []
            gone = [taint for taint in old if taint not in new]
            request["taints"] = {"addOrUpdateTaints": new, "removeTaints": gone}
        if request:
            who = self._addressed(account, self.find_by, resource_id)
            account.call("eks", "UpdateNodegroupConfig", **who, **request)
        rest = changed - {"labels", "taints"}
        super().update(account, resource_id, inputs, rest, state)


KUBERNETES: Final[Mapping[str, Kind]] = {
    "aws:eks/cluster:Cluster": Kind(
        service="eks",
        create_by=Call(operation="CreateCluster", found="cluster.name"),
        find_by=Call(operation="DescribeCluster", by="name", found="cluster"),
        end_by=Call(operation="DeleteCluster", by="name"),
        update_by=(
            Call(operation="UpdateClusterConfig", by="name"),
            Call(operation="UpdateClusterVersion", by="name"),
        ),
        rename={"vpcConfig": "resourcesVpcConfig", "identities<": "identity"},
        name="name",
        tagging=_TAGS,
        ready=_READY,
        ends_slowly=True,
    ),
    "aws:eks/nodeGroup:NodeGroup": NodeGroup(
        service="eks",
        create_by=Call(operation="CreateNodegroup"),
        find_by=Call(operation="DescribeNodegroup", found="nodegroup"),
        end_by=Call(operation="DeleteNodegroup"),
        update_by=(
            Call(operation="UpdateNodegroupConfig"),
            Call(operation="UpdateNodegroupVersion"),
        ),
        rename={"nodeRoleArn": "nodeRole", "subnetIds": "subnets"},
        ours=frozenset({"forceUpdateVersion"}),
        name="nodeGroupName",
        prefix="nodeGroupNamePrefix",
        tagging=_TAGS,
        ready=_READY,
        ends_slowly=True,
        member="nodegroupName",
        named_by="nodeGroupName",
    ),
    "aws:eks/addon:Addon": OfCluster(
        service="eks",
        create_by=Call(operation="CreateAddon"),
        find_by=Call(operation="DescribeAddon", found="addon"),
        end_by=Call(operation="DeleteAddon"),
        update_by=(Call(operation="UpdateAddon"),),
        rename={"resolveConflictsOnCreate>": "resolveConflicts", "arn<": "addonArn"},
        ours=frozenset({"resolveConflictsOnUpdate", "preserve"}),
        tagging=_TAGS,
        ready=_READY,
        ends_slowly=True,
        member="addonName",
        named_by="addonName",
    ),
    "aws:eks/accessEntry:AccessEntry": OfCluster(
        service="eks",
        create_by=Call(operation="CreateAccessEntry"),
        find_by=Call(operation="DescribeAccessEntry", found="accessEntry"),
        end_by=Call(operation="DeleteAccessEntry"),
        update_by=(Call(operation="UpdateAccessEntry"),),
        rename={"userName": "username"},
        tagging=_TAGS,
        member="principalArn",
        named_by="principalArn",
    ),
}
