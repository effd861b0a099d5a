"""Who may enter an EKS cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from papercloud.cloud.calls import Call, handles

_GIVEN = ("kubernetesGroups", "username", "type", "tags")


@dataclass
class _Book:
    by_key: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


@handles("eks", "CreateAccessEntry")
def _create(call: Call) -> dict[str, Any]:
    cluster, principal = _cluster(call), str(call.get("principalArn"))
    book = call.world.state(_Book).by_key
    if (cluster, principal) in book:
        what = "The specified access entry resource is already in use on this cluster."
        raise call.refuse("ResourceInUseException", what)
    given = {key: call.get(key) for key in _GIVEN if call.get(key) is not None}
    now = call.world.now()
    name = principal.rsplit(":", 1)[-1]
    book[cluster, principal] = {
        "clusterName": cluster,
        "principalArn": principal,
        "accessEntryArn": call.world.arn("eks", f"access-entry/{cluster}/{name}", call.region),
        "type": "STANDARD",
        "username": principal,
        "kubernetesGroups": [],
        "createdAt": now,
        "modifiedAt": now,
        **given,
    }
    return {"accessEntry": book[cluster, principal]}


@handles("eks", "DescribeAccessEntry")
def _describe(call: Call) -> dict[str, Any]:
    return {"accessEntry": _existing(call)}


@handles("eks", "UpdateAccessEntry")
def _update(call: Call) -> dict[str, Any]:
    found = _existing(call)
    for key in ("kubernetesGroups", "username"):
        if call.get(key) is not None:
            found[key] = call.get(key)
    found["modifiedAt"] = call.world.now()
    return {"accessEntry": found}


@handles("eks", "ListAccessEntries")
def _list(call: Call) -> dict[str, Any]:
    cluster, book = _cluster(call), call.world.state(_Book).by_key
    return {"accessEntries": [principal for of, principal in book if of == cluster]}


@handles("eks", "DeleteAccessEntry")
def _delete(call: Call) -> dict[str, Any]:
    found = _existing(call)
    del call.world.state(_Book).by_key[found["clusterName"], found["principalArn"]]
    return {}


def _cluster(call: Call) -> str:
    name = str(call.get("clusterName"))
    if name not in call.backend.clusters:
        raise call.refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
    return name


def _existing(call: Call) -> dict[str, Any]:
    key = (_cluster(call), str(call.get("principalArn")))
    found = call.world.state(_Book).by_key.get(key)
    if found is None:
        what = f"The specified principalArn could not be found: {key[1]}"
        raise call.refuse("ResourceNotFoundException", what)
    return found
