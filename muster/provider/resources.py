"""Our resources as a Pulumi program uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pulumi
from pydantic.alias_generators import to_camel


class _Resource(pulumi.CustomResource):
    """A resource whose properties travel in camelCase, and whose outputs are `output(name)`."""

    resource_type: str
    outputs: tuple[str, ...]

    def __init__(self, name: str, args: Any, opts: pulumi.ResourceOptions | None = None) -> None:
        inputs = {to_camel(f.name): getattr(args, f.name) for f in fields(args)}
        super().__init__(self.resource_type, name, {**inputs, **dict.fromkeys(self.outputs)}, opts)

    def output(self, name: str) -> pulumi.Output[Any]:
        """Return an output by its name on the wire."""
        value: pulumi.Output[Any] = getattr(self, name)
        return value


@dataclass(frozen=True, kw_only=True)
class LabImageArgs:
    """`recipe`: digest of the recipe the image is baked by."""

    recipe: pulumi.Input[str]


class LabImage(_Resource):
    """The root file system of all lab nodes."""

    resource_type = "muster:lab:Image"
    outputs = ("path", "present")

    def __init__(
        self, name: str, args: LabImageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)


@dataclass(frozen=True, kw_only=True)
class LabNetworkArgs:
    """`leaves` lists {name, nodes} in order (a map would lose it); rates in Mbit/s."""

    lab: pulumi.Input[str]
    rails: pulumi.Input[int]
    rail_rate_mbit: pulumi.Input[int]
    uplink_rate_mbit: pulumi.Input[int]
    leaves: pulumi.Input[Sequence[Mapping[str, Any]]]


class LabNetwork(_Resource):
    """Management bridge, leaf and spine bridges with capped rails."""

    resource_type = "muster:lab:Network"
    outputs = (
        "managementCidr",
        "gateway",
        "railCidrs",
        "sshKeyFile",
        "knownHostsFile",
        "problems",
    )

    def __init__(
        self, name: str, args: LabNetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)


@dataclass(frozen=True, kw_only=True)
class LabNodeArgs:
    """`image` is the image's digest; `management_cidr` ties the node to its LabNetwork."""

    lab: pulumi.Input[str]
    name: pulumi.Input[str]
    pool: pulumi.Input[str]
    type: pulumi.Input[str]
    ordinal: pulumi.Input[int]
    leaf: pulumi.Input[str]
    gpu_count: pulumi.Input[int]
    gpu_model: pulumi.Input[str]
    gpu_memory_mib: pulumi.Input[int]
    image: pulumi.Input[str]
    image_path: pulumi.Input[str]
    management_cidr: pulumi.Input[str]


class LabNode(_Resource):
    """One systemd-nspawn node."""

    resource_type = "muster:lab:Node"
    outputs = ("serial", "address", "railAddresses", "hostKey", "bootId", "state")

    def __init__(
        self, name: str, args: LabNodeArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)


@dataclass(frozen=True, kw_only=True)
class AwsFleetArgs:
    """Pools list {name, type, size, count, group}; `group` is the Auto Scaling group's name.

    `head` is {instance, type}, `access` {user, keyFile, via}; `launched` maps pools to their launch
    template and version. `storage` lists {mount, kind, address}: the file systems that all machines
    mounts, by id or DNS name; the first one is where nodes exchange files.
    `software` is a row of the version matrix; empty where the image has all that is needed.
    """

    stack: pulumi.Input[str]
    region: pulumi.Input[str]
    zone_id: pulumi.Input[str]
    pools: pulumi.Input[Sequence[pulumi.Input[Mapping[str, Any]]]]
    head: pulumi.Input[Mapping[str, Any]]
    access: pulumi.Input[Mapping[str, Any]]
    launched: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    storage: pulumi.Input[Sequence[pulumi.Input[Mapping[str, Any]]]] = ()
    software: pulumi.Input[str] = ""


class AwsFleet(_Resource):
    """The nodes that the groups of a stack on AWS run."""

    resource_type = "muster:aws:Fleet"
    outputs = (
        "fleet",
        "addresses",
        "boots",
        "missing",
        "unplaced",
        "leftovers",
        "headAddress",
        "drift",
    )

    def __init__(
        self, name: str, args: AwsFleetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)


@dataclass(frozen=True, kw_only=True)
class ConvergenceArgs:
    """`contents` maps parts of the playbooks to digests, so that a preview names what changed.

    `boots` maps each node to its boot id: a node that booted since is converged again.
    """

    stack: pulumi.Input[str]
    fleet: pulumi.Input[Mapping[str, Any]]
    boots: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    contents: pulumi.Input[Mapping[str, str]]


class Convergence(_Resource):
    """The playbooks, run on the fleet."""

    resource_type = "muster:index:Convergence"
    outputs = ("stamp", "changed", "failed", "log")

    def __init__(
        self, name: str, args: ConvergenceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)


@dataclass(frozen=True, kw_only=True)
class AcceptanceArgs:
    """`converged` is the Convergence's stamp: the proof is repeated after every change.

    `policy` and `waivers` are the spec's acceptance section; `wanted` is the number of nodes that
    must be accepted.
    """

    stack: pulumi.Input[str]
    fleet: pulumi.Input[Mapping[str, Any]]
    wanted: pulumi.Input[int]
    policy: pulumi.Input[Any]
    waivers: pulumi.Input[Sequence[Mapping[str, Any]]]
    converged: pulumi.Input[str]


class Acceptance(_Resource):
    """The burn-in, run on the fleet, and its verdict."""

    resource_type = "muster:index:Acceptance"
    outputs = ("ready", "reason", "readiness", "report", "run", "accepted", "verdicts")

    def __init__(
        self, name: str, args: AcceptanceArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(name, args, opts)
