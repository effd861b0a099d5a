"""A stack as lines that a person reads in a diff."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.cloud.program.recording import Asked, Recording

_SHOWN = {
    "Group": ("desiredCapacity", "maxSize", "suspendedProcesses"),
    "Schedule": ("startTime", "desiredCapacity"),
    "PlacementGroup": ("strategy",),
    "Subnet": ("cidrBlock", "availabilityZoneId"),
    "Vpc": ("cidrBlock",),
    "VpcEndpoint": ("serviceName", "vpcEndpointType"),
    "Route": ("destinationCidrBlock",),
    "SecurityGroupIngressRule": ("ipProtocol", "fromPort", "toPort", "cidrIpv4"),
    "SecurityGroupEgressRule": ("ipProtocol", "fromPort", "toPort", "cidrIpv4"),
    "RolePolicyAttachment": ("policyArn",),
    "Instance": ("disableApiTermination", "forceDestroy"),
    "LustreFileSystem": (
        "deploymentType",
        "storageType",
        "storageCapacity",
        "perUnitStorageThroughput",
        "throughputCapacity",
        "efaEnabled",
        "metadataConfiguration",
    ),
    "DataRepositoryAssociation": ("dataRepositoryPath", "fileSystemPath"),
    "OpenZfsFileSystem": ("deploymentType", "storageCapacity", "throughputCapacity"),
    "FileSystem": ("encrypted", "throughputMode"),
    "Bucket": ("bucket",),
    "Cluster": ("version",),
    "NodeGroup": ("capacityType", "scalingConfig"),
    "Fleet": ("pools", "launched", "access"),
    "Acceptance": ("wanted", "policy"),
}


def summary(recording: Recording, outputs: dict[str, Any]) -> str:
    """Return what a stack is made of, a line for each resource."""
    lines = sorted(_line(asked) for asked in recording.resources)
    shown = {key: outputs[key] for key in ("hourlyUsd", "storage", "network")}
    return "\n".join([*lines, "", *(f"{k}: {_text(v)}" for k, v in shown.items())]) + "\n"


def _line(asked: Asked) -> str:
    kind = asked.type.rsplit(":", 1)[-1]
    given = {key: asked.inputs[key] for key in _SHOWN.get(kind, ()) if key in asked.inputs}
    if kind == "LaunchTemplate":
        given = _template(asked.inputs)
    words = [f"{key}={_text(value)}" for key, value in given.items()]
    return " ".join([asked.type, asked.name, *words])


def _template(inputs: dict[str, Any]) -> dict[str, Any]:
    """Interfaces as counts by kind and device: 33 of them would hide the rest."""
    kinds = Counter(f"{n['interfaceType']}@{n['deviceIndex']}" for n in inputs["networkInterfaces"])
    keys = ("instanceType", "imageId", "instanceMarketOptions", "capacityReservationSpecification")
    found = {key: inputs[key] for key in keys if key in inputs}
    return {**found, "interfaces": dict(sorted(kinds.items())), "placed": "placement" in inputs}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
