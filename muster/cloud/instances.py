"""Instances and the Auto Scaling groups that they belong to: look, wait, name, end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from muster.clock import Clock
from muster.cloud.calls import call, do, in_batches, side_by_side
from muster.cloud.gateway import Gateway
from muster.plan.aws.fleet import CloudInterface, FleetWish, Instance
from muster.progress import Progress

NODE_TAG = "muster:node"
_GROUPS_A_CALL = 50
_IDS_A_CALL = 100
_ALIVE = frozenset({"pending", "running"})
_MESSAGE_CHARACTERS = 300
# What launches fail with (EC2 API reference, "Error codes"), by the sentence of each.
_CODES = {
    "reservation does not have sufficient": "ReservationCapacityExceeded",
    "do not have sufficient": "InsufficientInstanceCapacity",
    "requested more vCPU capacity": "VcpuLimitExceeded",
    "free addresses in subnet": "InsufficientFreeAddressesInSubnet",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """An Auto Scaling group; `ids` are the instances that it does not already end."""

    name: str
    desired: int
    ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """What is there now. A pool whose group does not exist has no entry in `groups`."""

    groups: Mapping[str, Group]
    """By pool."""
    members: Mapping[str, tuple[Instance, ...]]
    """Live instances by pool, those that still start among them."""
    head: Instance | None

    def running(self, pool: str) -> tuple[Instance, ...]:
        """Return those that run."""
        return tuple(found for found in self.members[pool] if found.state == "running")


def look(gateway: Gateway, wish: FleetWish) -> Look:
    """Read groups and instances (errors as `call`)."""
    groups = _groups(gateway, wish)
    wanted = [name for group in groups.values() for name in group.ids]
    wanted += [wish.head.instance] if wish.head else []
    found = read_instances(gateway, wanted)
    alive = {name: instance for name, instance in found.items() if instance.state in _ALIVE}
    return Look(
        groups=groups,
        members={
            pool.name: tuple(alive[i] for i in groups[pool.name].ids if i in alive)
            if pool.name in groups
            else ()
            for pool in wish.pools
        },
        head=alive.get(wish.head.instance) if wish.head else None,
    )


def wait_for_instances(
    gateway: Gateway,
    wish: FleetWish,
    clock: Clock,
    progress: Progress,
    *,
    limit_s: float,
    pause_s: float,
) -> Look:
    """Look until every group runs its size and the head runs, or the time is over."""
    end_s = clock.monotonic_s() + limit_s
    while True:
        seen = look(gateway, wish)
        counts = {pool.name: len(seen.running(pool.name)) for pool in wish.pools}
        lacking = [pool for pool in wish.pools if counts[pool.name] < pool.size]
        head_runs = wish.head is None or (seen.head is not None and seen.head.state == "running")
        if (not lacking and head_runs) or clock.monotonic_s() >= end_s:
            return seen
        said = [f"{pool.name} {counts[pool.name]} of {pool.size}" for pool in lacking]
        said += [] if head_runs else ["the head starts"]
        why = failure(gateway, lacking[0].group) if lacking else ""
        progress(f"instances: {', '.join(said)}" + (f" ({why})" if why else ""))
        clock.sleep(pause_s)


def failure(gateway: Gateway, group: str) -> str:
    """Return what the group itself says of its latest launch that failed; empty where none did."""
    pages = call(gateway, "autoscaling", "describe_scaling_activities", AutoScalingGroupName=group)
    # The newest come first, and a group keeps weeks of them: the first page is enough.
    page: Mapping[str, Any] = next(pages, {})
    failed = [a for a in page.get("Activities", ()) if a.get("StatusCode") == "Failed"]
    if not failed:
        return ""
    latest = max(failed, key=lambda activity: activity["StartTime"])
    said = " ".join(str(latest.get("StatusMessage", "")).split()) or "it gives no reason"
    return f"{_time(latest['StartTime'])} {_with_code(said[:_MESSAGE_CHARACTERS])}"


def _with_code(said: str) -> str:
    """Put EC2's own word before the sentence of a group that leaves it out: people look for it."""
    code = next((code for phrase, code in _CODES.items() if phrase in said), "")
    return said if not code or code in said else f"{code}: {said}"


def read_instances(gateway: Gateway, ids: Iterable[str]) -> dict[str, Instance]:
    """Describe instances by id; one that the cloud does not (yet, or any more) know is left out."""
    found: dict[str, Instance] = {}
    for batch in in_batches(dict.fromkeys(ids), _IDS_A_CALL):
        # As a filter: an id that is not known yet would be an error of the whole call otherwise.
        chosen = [{"Name": "instance-id", "Values": list(batch)}]
        for page in call(gateway, "ec2", "describe_instances", Filters=chosen):
            for reservation in page.get("Reservations", ()):
                for raw in reservation.get("Instances", ()):
                    found[raw["InstanceId"]] = _instance(raw)
    return found


def name_instances(gateway: Gateway, stack: str, names: Mapping[str, Instance]) -> None:
    """Write the node's name on every instance that does not carry it."""

    def write(item: tuple[str, Instance]) -> None:
        node, instance = item
        tags = [{"Key": NODE_TAG, "Value": node}, {"Key": "Name", "Value": f"{stack}-{node}"}]
        do(gateway, "ec2", "create_tags", Resources=[instance.id], Tags=tags)

    side_by_side(write, [(n, i) for n, i in names.items() if i.tags.get(NODE_TAG) != n])


def end_instance(gateway: Gateway, instance_id: str) -> None:
    """End an instance through its group, whose wanted number stays as it is.

    Above that number nobody takes its place; else the group starts a successor.
    """
    do(
        gateway,
        "autoscaling",
        "terminate_instance_in_auto_scaling_group",
        InstanceId=instance_id,
        ShouldDecrementDesiredCapacity=False,
    )


def _groups(gateway: Gateway, wish: FleetWish) -> dict[str, Group]:
    pool_of = {pool.group: pool.name for pool in wish.pools}
    found: dict[str, Group] = {}
    for batch in in_batches(pool_of, _GROUPS_A_CALL):
        pages = call(
            gateway,
            "autoscaling",
            "describe_auto_scaling_groups",
            AutoScalingGroupNames=list(batch),
        )
        for page in pages:
            for raw in page.get("AutoScalingGroups", ()):
                found[pool_of[raw["AutoScalingGroupName"]]] = Group(
                    name=raw["AutoScalingGroupName"],
                    desired=raw["DesiredCapacity"],
                    ids=tuple(
                        member["InstanceId"]
                        for member in raw.get("Instances", ())
                        if not member["LifecycleState"].startswith(("Terminat", "Detach"))
                    ),
                )
    return found


def _instance(raw: Mapping[str, Any]) -> Instance:
    return Instance(
        id=raw["InstanceId"],
        state=raw["State"]["Name"],
        launched=_time(raw["LaunchTime"]),
        address=raw.get("PrivateIpAddress", ""),
        interfaces=tuple(_interface(entry) for entry in raw.get("NetworkInterfaces", ())),
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags", ())},
    )


def _interface(raw: Mapping[str, Any]) -> CloudInterface:
    attachment = raw.get("Attachment", {})
    return CloudInterface(
        card=attachment.get("NetworkCardIndex", 0),
        device=attachment.get("DeviceIndex", 0),
        address=raw.get("PrivateIpAddress", ""),
    )


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
