"""Auto Scaling groups and their schedules."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from papercloud.provider.account import Account, PaperError
from papercloud.provider.duration import seconds
from papercloud.provider.kind import Call, Kind, Written
from papercloud.provider.naming import at
from papercloud.provider.values import Properties

_POLL_S: Final = 0.5
_CAPACITY_WAIT: Final = "10m"
"""How long the real provider waits for instances where the program does not say."""


@dataclass(frozen=True, kw_only=True)
class Group(Kind):
    """A group; its tags, suspended processes and capacity have operations of their own."""

    def written_apart(self) -> frozenset[str]:
        """Lists that the request spells otherwise."""
        return frozenset({"vpcZoneIdentifiers", "suspendedProcesses", "tags", "namePrefix"})

    def request(self, account: Account, inputs: Mapping[str, Any]) -> Properties:
        """Join the subnets, and name the group in each tag."""
        untagged = {key: value for key, value in inputs.items() if key != "tags"}
        request = super().request(account, untagged)
        if inputs.get("name") is None:
            request["AutoScalingGroupName"] = f"{inputs.get('namePrefix', '')}{uuid.uuid4().hex}"
        request |= _subnets(inputs)
        if inputs.get("tags"):
            request["Tags"] = _tags(request["AutoScalingGroupName"], inputs["tags"])
        return request

    def identify(self, answer: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        """Return the name, which is the id."""
        del answer
        return str(inputs["name"])

    def create(self, account: Account, inputs: Properties) -> str:
        """Make it under its name, a random one where only a prefix is given."""
        request = self.request(account, inputs)
        account.call("autoscaling", "CreateAutoScalingGroup", **request)
        return str(request["AutoScalingGroupName"])

    def complete(self, account: Account, resource_id: str, inputs: Mapping[str, Any]) -> None:
        """Suspend processes, then wait for instances where the program wants that."""
        self._suspend(account, resource_id, inputs.get("suspendedProcesses") or [])
        wait_s = seconds(inputs.get("waitForCapacityTimeout") or _CAPACITY_WAIT)
        wanted = inputs.get("desiredCapacity") or inputs.get("minSize") or 0
        deadline = account.clock.monotonic_s() + wait_s
        while wait_s and (running := self._in_service(account, resource_id)) < wanted:
            if account.clock.monotonic_s() >= deadline:
                why = self._last_failure(account, resource_id)
                what = f"{running} of {wanted} instances in service after {wait_s:.0f} s"
                raise PaperError(f"{what}{why}", where=resource_id)
            account.clock.sleep(_POLL_S)

    def carries(self, account: Account, key: str) -> bool:
        """What is written apart changes in place, the prefix of the name aside."""
        return (key in self.written_apart() and key != "namePrefix") or super().carries(
            account, key
        )

    def update(
        self,
        account: Account,
        resource_id: str,
        inputs: Properties,
        changed: frozenset[str],
        state: Mapping[str, Any],
    ) -> None:
        """Change the group, then its tags."""
        if "vpcZoneIdentifiers" in changed:
            subnets = _subnets(inputs)
            name = {"AutoScalingGroupName": resource_id}
            account.call("autoscaling", "UpdateAutoScalingGroup", **name, **subnets)
        if "tags" in changed:
            old = _tags(resource_id, state.get("tags") or [])
            new = _tags(resource_id, inputs["tags"])
            if old:
                account.call("autoscaling", "DeleteTags", Tags=old)
            account.call("autoscaling", "CreateOrUpdateTags", Tags=new)
        rest = changed - self.written_apart()
        super().update(account, resource_id, inputs, rest, state)

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """With `forceDelete` at once; else empty it first."""
        name = {"AutoScalingGroupName": resource_id}
        if not state.get("forceDelete"):
            nothing = {"MinSize": 0, "MaxSize": 0, "DesiredCapacity": 0}
            account.call("autoscaling", "UpdateAutoScalingGroup", **name, **nothing)
        forced = bool(state.get("forceDelete"))
        account.call("autoscaling", "DeleteAutoScalingGroup", **name, ForceDelete=forced)

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Split the subnets that the API joins."""
        found = super().find(account, resource_id, state)
        if found is None:
            return None
        subnets = [name for name in found.get("VPCZoneIdentifier", "").split(",") if name]
        return {**found, "VPCZoneIdentifier": subnets}

    def _suspend(self, account: Account, name: str, wanted: list[str]) -> None:
        found = self.find(account, name, {}) or {}
        has = set(at(found, "SuspendedProcesses.*.ProcessName") or [])
        group = {"AutoScalingGroupName": name}
        if resumed := sorted(has - set(wanted)):
            account.call("autoscaling", "ResumeProcesses", **group, ScalingProcesses=resumed)
        if added := sorted(set(wanted) - has):
            account.call("autoscaling", "SuspendProcesses", **group, ScalingProcesses=added)

    def _in_service(self, account: Account, name: str) -> int:
        instances = (self.find(account, name, {}) or {}).get("Instances", [])
        return sum(instance["LifecycleState"] == "InService" for instance in instances)

    def _last_failure(self, account: Account, name: str) -> str:
        answer = account.call("autoscaling", "DescribeScalingActivities", AutoScalingGroupName=name)
        failed = [a for a in answer["Activities"] if a.get("StatusCode") == "Failed"]
        return f": {failed[0].get('StatusMessage')}" if failed else ""


@dataclass(frozen=True, kw_only=True)
class Schedule(Written):
    """A scheduled action, named within its group."""

    def find(
        self, account: Account, resource_id: str, state: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Ask for it by group and name."""
        answer = account.call(
            "autoscaling",
            "DescribeScheduledActions",
            AutoScalingGroupName=state["autoscalingGroupName"],
            ScheduledActionNames=[resource_id],
        )
        actions = answer["ScheduledUpdateGroupActions"]
        return dict(actions[0]) if actions else None

    def delete(self, account: Account, resource_id: str, state: Mapping[str, Any]) -> None:
        """End it by group and name."""
        account.call(
            "autoscaling",
            "DeleteScheduledAction",
            AutoScalingGroupName=state["autoscalingGroupName"],
            ScheduledActionName=resource_id,
        )


def _subnets(inputs: Mapping[str, Any]) -> Properties:
    subnets = inputs.get("vpcZoneIdentifiers")
    return {"VPCZoneIdentifier": ",".join(subnets)} if subnets else {}


def _tags(group: str, tags: list[Properties]) -> list[Properties]:
    of_group = {"ResourceId": group, "ResourceType": "auto-scaling-group"}
    return [
        {
            **of_group,
            "Key": tag["key"],
            "Value": tag["value"],
            "PropagateAtLaunch": tag["propagateAtLaunch"],
        }
        for tag in tags
    ]


GROUPS: Final[Mapping[str, Kind]] = {
    "aws:autoscaling/group:Group": Group(
        service="autoscaling",
        create_by=Call(operation="CreateAutoScalingGroup"),
        find_by=Call(
            operation="DescribeAutoScalingGroups",
            by="AutoScalingGroupNames",
            found="AutoScalingGroups.0",
        ),
        end_by=None,
        update_by=(Call(operation="UpdateAutoScalingGroup", by="AutoScalingGroupName"),),
        rename={
            "name": "AutoScalingGroupName",
            "arn<": "AutoScalingGroupARN",
            "launchTemplate.id": "LaunchTemplateId",
            "launchTemplate.name": "LaunchTemplateName",
            "protectFromScaleIn": "NewInstancesProtectedFromScaleIn",
            "launchConfiguration": "LaunchConfigurationName",
            "suspendedProcesses<": "SuspendedProcesses.*.ProcessName",
            "vpcZoneIdentifiers<": "VPCZoneIdentifier",
            "availabilityZoneDistribution<": "none",
        },
        ours=frozenset(
            {
                "forceDelete",
                "forceDeleteWarmPool",
                "ignoreFailedScalingActivities",
                "waitForCapacityTimeout",
            }
        ),
        name="name",
        ends_slowly=True,
    ),
    "aws:autoscaling/schedule:Schedule": Schedule(
        service="autoscaling",
        create_by=Call(operation="PutScheduledUpdateGroupAction"),
        find_by=Call(operation="DescribeScheduledActions"),
        end_by=None,
        rename={"autoscalingGroupName": "AutoScalingGroupName", "arn<": "ScheduledActionARN"},
        replace=frozenset({"autoscalingGroupName"}),
        id_from="scheduledActionName",
    ),
}
