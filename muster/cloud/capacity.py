"""Capacity Blocks and reservations: looking for offers, buying one, and what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
)

from muster.cloud.asking import Question, ask
from muster.cloud.gateway import Gateway
from muster.cloud.refusals import code_of, message_of
from muster.errors import MusterError, UnknownOutcomeError
from muster.plan.buying import Asked
from muster.plan.cloud_view import Unread

_HOURS_A_DAY = 24
_PLATFORM = "Linux/UNIX"
_ONCE = Config(
    # Never sent twice by itself: the call has no token that would make a second one harmless.
    retries={"mode": "standard", "total_max_attempts": 1},
    connect_timeout=10,
    read_timeout=120,
    user_agent_extra="muster",
)
_NOTHING_BOUGHT = "Nothing was bought."
_CERTAIN_REFUSAL = 500
"""Below this HTTP status the service took the request and refused it; from it on, nobody knows."""


def purchase_client(region: str) -> Any:
    """Make the EC2 client that never sends a call twice."""
    return boto3.session.Session(region_name=region).client("ec2", config=_ONCE)


def purchase(client: Any, offer_id: str, tags: Mapping[str, str]) -> Mapping[str, Any]:
    """Buy a block; returns the reservation that was bought.

    Raises:
        MusterError: AWS refused, and nothing was bought.
        UnknownOutcomeError: there was no answer; it may have been bought.

    """
    tag_list = [{"Key": key, "Value": value} for key, value in tags.items()]
    try:
        answer = client.purchase_capacity_block(
            CapacityBlockOfferingId=offer_id,
            InstancePlatform=_PLATFORM,
            TagSpecifications=[{"ResourceType": "capacity-reservation", "Tags": tag_list}],
        )
    except ClientError as error:
        raise _refused(error, offer_id) from error
    except (NoCredentialsError, PartialCredentialsError, EndpointConnectionError) as error:
        raise MusterError(f"{error}", where=offer_id, hint=_NOTHING_BOUGHT) from error
    except BotoCoreError as error:
        raise _unsure(str(error), offer_id) from error
    bought: Mapping[str, Any] = answer.get("CapacityReservation") or {}
    if not bought.get("CapacityReservationId"):
        raise _unsure("the answer names no reservation", offer_id)
    return bought


def offerings(gateway: Gateway, asked: Asked) -> Sequence[Mapping[str, Any]]:
    """Return what AWS offers now.

    Raises:
        UnknownOutcomeError: AWS did not say.

    """
    parameters: dict[str, Any] = {
        "InstanceType": asked.type,
        "InstanceCount": asked.count,
        "CapacityDurationHours": asked.days * _HOURS_A_DAY,
    }
    if asked.start:
        parameters["StartDateRange"] = asked.start
    question = Question(
        service="ec2",
        operation="describe_capacity_block_offerings",
        parameters=parameters,
        of="CapacityBlockOfferings",
    )
    return _must(gateway, question)


def blocks_of_type(gateway: Gateway, type_name: str) -> Sequence[Mapping[str, Any]]:
    """Return the account's Capacity Blocks of a type.

    Raises:
        UnknownOutcomeError: AWS did not say.

    """
    filters = [{"Name": "instance-type", "Values": [type_name]}]
    rows = _must(gateway, _reservations({"Filters": filters}))
    return [row for row in rows if row.get("ReservationType") == "capacity-block"]


def reservation(gateway: Gateway, reservation_id: str) -> Mapping[str, Any] | Unread | None:
    """Return one reservation or block; None where there is none of that id."""
    question = _reservations({"CapacityReservationIds": [reservation_id]})
    found = ask(gateway, question)
    if isinstance(found, Unread):
        return found
    return next(iter(found), None)


def members(gateway: Gateway, group: str) -> Sequence[str] | Unread:
    """Return the ids of the reservations in a resource group."""
    question = Question(
        service="resource-groups",
        operation="list_group_resources",
        parameters={"Group": group},
        of="ResourceIdentifiers",
    )
    found = ask(gateway, question)
    if isinstance(found, Unread):
        return found
    arns = [str(row.get("ResourceArn", "")) for row in found]
    return [arn.rpartition("/")[2] for arn in arns if ":capacity-reservation/" in arn]


def _reservations(parameters: Mapping[str, Any]) -> Question:
    return Question(
        service="ec2",
        operation="describe_capacity_reservations",
        parameters=parameters,
        of="CapacityReservations",
        absent=frozenset({"InvalidCapacityReservationId.NotFound"}),
    )


def _must(gateway: Gateway, question: Question) -> Sequence[Mapping[str, Any]]:
    found = ask(gateway, question)
    if isinstance(found, Unread):
        raise UnknownOutcomeError(found.why, where=gateway.region, hint=found.do)
    return found


def _refused(error: ClientError, offer_id: str) -> MusterError:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", _CERTAIN_REFUSAL)
    if status >= _CERTAIN_REFUSAL:
        return _unsure(f"{code_of(error)}: {message_of(error)}", offer_id)
    what = f"AWS did not sell it ({code_of(error)}: {message_of(error)})"
    return MusterError(what, where=offer_id, hint=_NOTHING_BOUGHT)


def _unsure(why: str, offer_id: str) -> UnknownOutcomeError:
    what = f"it is not known whether it was bought: {why}"
    hint = "Look in the AWS console before you try again; `buy` refuses for an hour to repeat it."
    return UnknownOutcomeError(what, where=offer_id, hint=hint)
