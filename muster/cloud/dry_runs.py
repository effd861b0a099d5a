"""Launches that EC2 only checks, one for each pool, and what IAM's simulator says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from muster.cloud.asking import Question, ask
from muster.cloud.gateway import Gateway
from muster.cloud.refusals import code_of, message_of, unread
from muster.plan.aws.model import AwsPlan, CapacityPlan, HeadPlan, Interface, PoolPlan
from muster.plan.cloud_view import DryRun, Unread

_NEEDS_SUBNET = {"VPCIdNotSpecified", "MissingInput", "DefaultSubnetDoesNotExist"}
_AGAIN = {"RequestLimitExceeded", "Throttling", "InternalError", "Unavailable"}
_LAUNCH = ("ec2", "run_instances")
_SIMULATED_AT_ONCE = 50
_PLAIN = (Interface(card=0, device=0, kind="interface"),)


def launches(
    plan: AwsPlan, subnet: str | None, running: Mapping[str, int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the parameters of every pool's launch, less the nodes that it has."""
    for pool in plan.pools:
        if pool.image:
            count = max(1, pool.size - running.get(pool.name, 0))
            launch = _launch(plan, pool, pool.interfaces, subnet)
            counted = {"MinCount": count, "MaxCount": count}
            yield pool.name, {**launch, **counted, **_bought(pool.capacity)}
    if plan.head and plan.head.image:
        launch = _launch(plan, plan.head, _PLAIN, subnet)
        yield "head", {**launch, "MinCount": 1, "MaxCount": 1}


def _launch(
    plan: AwsPlan,
    nodes: PoolPlan | HeadPlan,
    interfaces: tuple[Interface, ...],
    subnet: str | None,
) -> dict[str, Any]:
    # A new subnet does not exist yet; EC2 then checks the launch in the zone's default subnet.
    place = {} if subnet else {"Placement": {"AvailabilityZoneId": plan.network.zone_id}}
    return {
        "DryRun": True,
        "ImageId": nodes.image,
        "InstanceType": nodes.type.name,
        "MetadataOptions": {"HttpTokens": "required"},
        "NetworkInterfaces": [_interface(found, subnet) for found in interfaces],
        **place,
    }


def _interface(found: Interface, subnet: str | None) -> dict[str, Any]:
    where = {"SubnetId": subnet} if subnet else {}
    place = {"NetworkCardIndex": found.card, "DeviceIndex": found.device}
    return {**place, "InterfaceType": found.kind, **where}


def _bought(capacity: CapacityPlan) -> dict[str, Any]:
    if capacity.buying == "spot":
        return {"InstanceMarketOptions": {"MarketType": "spot"}}
    if capacity.buying == "onDemand":
        return {}
    key = "ResourceGroupArn" if capacity.buying == "resourceGroup" else "Id"
    target = {"CapacityReservationTarget": {f"CapacityReservation{key}": capacity.id}}
    market = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    return {
        "CapacityReservationSpecification": target,
        **(market if capacity.buying == "block" else {}),
    }


def dry_run(gateway: Gateway, launch: Mapping[str, Any]) -> DryRun | Unread:
    """Ask EC2 to check a launch; its error is the answer."""
    try:
        list(gateway.pages(*_LAUNCH, launch))
    except ClientError as error:
        code, subnet_given = code_of(error), "Placement" not in launch
        if code in _AGAIN:
            return unread(error, *_LAUNCH)
        if code in _NEEDS_SUBNET and not subnet_given:
            why = "the stack has no subnet yet, and the account has no default one to check in"
            return Unread(why, "Plan again after a first `up`, or name a subnet of your own.")
        return DryRun(code=code, message=message_of(error))
    except Exception as error:  # noqa: BLE001 - one broken answer must not hide the others
        return unread(error, *_LAUNCH)
    return Unread("EC2 answered a dry run as a launch", "Report this, and look what runs.")


def simulate(gateway: Gateway, caller: str, actions: tuple[str, ...]) -> dict[str, str] | Unread:
    """Ask IAM which actions the caller may do."""
    who = _principal(caller)
    if who is None:
        why = f"IAM cannot simulate what {caller} may do"
        return Unread(why, "Use a user or a role, not the root of the account.")
    decisions: dict[str, str] = {}
    for begin in range(0, len(actions), _SIMULATED_AT_ONCE):
        some = list(actions[begin : begin + _SIMULATED_AT_ONCE])
        found = ask(
            gateway,
            Question(
                service="iam",
                operation="simulate_principal_policy",
                parameters={"PolicySourceArn": who, "ActionNames": some},
                of="EvaluationResults",
            ),
        )
        if isinstance(found, Unread):
            return found
        decisions |= {result["EvalActionName"]: result["EvalDecision"] for result in found}
    return decisions


def _principal(caller: str) -> str | None:
    """Return the user or role behind a caller; a session of a role is no principal."""
    start, _, rest = caller.partition(":assumed-role/")
    if rest:
        role = rest.partition("/")[0]
        return f"{start.replace(':sts:', ':iam:')}:role/{role}"
    return caller if ":user/" in caller or ":role/" in caller else None
