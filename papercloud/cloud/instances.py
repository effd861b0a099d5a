"""RunInstances, TerminateInstances, GetConsoleOutput and their like."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from papercloud.cloud.asked import asked, check
from papercloud.cloud.boots import boot_of, terminate
from papercloud.cloud.calls import Call, handles
from papercloud.cloud.launching import launch, zone_of


@dataclass
class _Tokens:
    """Launches by client token: a repeated request gets the same instances."""

    made: dict[str, Any] = field(default_factory=dict)


_WOULD = "Request would have succeeded, but DryRun flag is set."


@handles("ec2", "RunInstances")
def _run(call: Call) -> dict[str, Any]:
    wanted = asked(call.world, call.params)
    if call.get("DryRun"):
        check(call.world, wanted, zone_of(call.world, wanted))
        raise call.refuse("DryRunOperation", _WOULD)
    tokens = call.world.state(_Tokens).made
    token = call.get("ClientToken")
    made = tokens.get(token) if token else None
    if made is None:
        made = launch(
            call.world,
            wanted,
            least=int(call.get("MinCount", 1)),
            most=int(call.get("MaxCount", 1)),
        )
        if token:
            tokens[token] = made
    return {
        "ReservationId": made.id,
        "OwnerId": call.world.account,
        "Groups": [],
        "Instances": made.instances,
    }


@handles("ec2", "TerminateInstances")
def _terminate(call: Call) -> dict[str, Any]:
    named = list(call.get("InstanceIds") or ())
    found = call.backend.get_multi_instances_by_id(named)  # raises InvalidInstanceID.NotFound
    for instance in found:
        if instance.disable_api_termination:
            what = (
                f"The instance '{instance.id}' may not be terminated. Modify its "
                "'disableApiTermination' instance attribute and try again."
            )
            raise call.refuse("OperationNotPermitted", what)
    before = {one.id: {"Code": one.state_code, "Name": one.state} for one in found}
    if call.get("DryRun"):
        raise call.refuse("DryRunOperation", _WOULD)
    terminate(call.world, named, "Client.UserInitiatedShutdown", "User initiated shutdown")
    return {
        "TerminatingInstances": [
            {
                "InstanceId": instance.id,
                "PreviousState": before[instance.id],
                "CurrentState": {"Code": 32, "Name": "shutting-down"},
            }
            for instance in found
        ]
    }


@handles("ec2", "GetConsoleOutput")
def _console(call: Call) -> dict[str, Any]:
    instance = call.backend.get_instance(call.get("InstanceId"))
    boot = boot_of(call.world, instance.id)
    answer: dict[str, Any] = {"InstanceId": instance.id, "Timestamp": call.world.now()}
    if boot is None or boot.running_at is None:
        return answer
    wait = timedelta(seconds=call.world.scenario.console_after_s)
    if call.world.now() >= boot.running_at + wait:
        answer["Output"] = base64.b64encode(boot.console.encode()).decode()
    return answer


@handles("ssm", "DescribeInstanceInformation")
def _managed(call: Call) -> dict[str, Any]:
    """List what Session Manager can reach: running instances that have an instance profile."""
    ec2 = call.world.backend("ec2", call.region)
    profiled = {one.instance.id for one in ec2.iam_instance_profile_associations.values()}
    wanted = set(_named_instances(call))
    return {
        "InstanceInformationList": [
            {
                "InstanceId": instance.id,
                "PingStatus": "Online",
                "LastPingDateTime": call.world.now(),
                "PlatformType": "Linux",
                "ResourceType": "EC2Instance",
                "IPAddress": instance.private_ip_address,
                "ComputerName": instance.private_dns_name,
            }
            for instance in ec2.all_instances()
            if instance.state == "running"
            and instance.id in profiled
            and (not wanted or instance.id in wanted)
        ]
    }


def _named_instances(call: Call) -> Iterator[str]:
    """Read the ids out of the new and the old form of the filters."""
    for row in call.get("Filters") or ():
        yield from row["Values"] if row["Key"] == "InstanceIds" else ()
    for row in call.get("InstanceInformationFilterList") or ():
        yield from row["valueSet"] if row["key"] == "InstanceIds" else ()


@handles("ssm", "GetParameter")
def _parameter(call: Call) -> dict[str, Any] | None:
    name = call.get("Name")
    value = call.world.scenario.parameters.get(name)
    if value is None:
        return None
    arn = f"arn:aws:ssm:{call.region}::parameter{name}"
    return {"Parameter": {"Name": name, "Type": "String", "Value": value, "Version": 1, "ARN": arn}}
