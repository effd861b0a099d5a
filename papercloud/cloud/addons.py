"""Add-ons of EKS clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from papercloud.cloud.calls import Call, handles
from papercloud.cloud.world import World

_GIVEN = ("addonVersion", "serviceAccountRoleArn", "configurationValues", "tags")


@dataclass(kw_only=True, slots=True)
class Addon:
    """Something that EKS runs in a cluster."""

    name: str
    cluster: str
    arn: str
    made: datetime
    given: dict[str, Any]


@dataclass
class _Book:
    by_key: dict[tuple[str, str], Addon] = field(default_factory=dict)


@handles("eks", "CreateAddon")
def _create(call: Call) -> dict[str, Any]:
    cluster, name = _cluster(call), call.get("addonName")
    book = call.world.state(_Book).by_key
    if (cluster, name) in book:
        raise call.refuse("ResourceInUseException", f"Addon already exists: {name}")
    made = Addon(
        name=name,
        cluster=cluster,
        arn=call.world.arn("eks", f"addon/{cluster}/{name}", call.region),
        made=call.world.now(),
        given={key: call.get(key) for key in _GIVEN if call.get(key) is not None},
    )
    book[cluster, name] = made
    return {"addon": _described(call.world, made)}


@handles("eks", "DescribeAddon")
def _describe(call: Call) -> dict[str, Any]:
    return {"addon": _described(call.world, _existing(call))}


@handles("eks", "UpdateAddon")
def _update(call: Call) -> dict[str, Any]:
    found = _existing(call)
    found.given.update({key: call.get(key) for key in _GIVEN if call.get(key) is not None})
    update = {
        "id": call.world.new_id("update"),
        "status": "Successful",
        "type": "AddonUpdate",
        "createdAt": call.world.now(),
        "params": [],
        "errors": [],
    }
    return {"update": update}


@handles("eks", "DeleteAddon")
def _delete(call: Call) -> dict[str, Any]:
    found = _existing(call)
    del call.world.state(_Book).by_key[found.cluster, found.name]
    return {"addon": {**_described(call.world, found), "status": "DELETING"}}


@handles("eks", "ListAddons")
def _list(call: Call) -> dict[str, Any]:
    cluster = _cluster(call)
    return {"addons": [name for of, name in call.world.state(_Book).by_key if of == cluster]}


def _cluster(call: Call) -> str:
    name = str(call.get("clusterName"))
    if name not in call.backend.clusters:
        raise call.refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
    return name


def _existing(call: Call) -> Addon:
    found = call.world.state(_Book).by_key.get((_cluster(call), call.get("addonName")))
    if found is None:
        what = f"No addon: {call.get('addonName')} found in cluster: {call.get('clusterName')}"
        raise call.refuse("ResourceNotFoundException", what)
    return found


def _described(world: World, found: Addon) -> dict[str, Any]:
    ready = world.now() >= found.made + timedelta(seconds=world.scenario.eks_create_s)
    return {
        "addonName": found.name,
        "clusterName": found.cluster,
        "addonArn": found.arn,
        "status": "ACTIVE" if ready else "CREATING",
        "createdAt": found.made,
        "modifiedAt": found.made,
        "health": {"issues": []},
        **found.given,
    }
