"""Runs the AWS program on Pulumi's mocks, and keeps all that it asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import yaml

from muster.catalog import load_catalog
from muster.spec import parse_spec

PROJECT = Path(__file__).parents[3]
STACK = "test"
TODAY = date(2026, 11, 21)

_ANSWERS: dict[str, dict[str, Any]] = {
    "aws:ec2/getAmi:getAmi": {"rootDeviceName": "/dev/sda1"},
    "aws:ec2/getInternetGateway:getInternetGateway": {"internetGatewayId": "igw-0123456789abcdef0"},
    "aws:index/getAvailabilityZones:getAvailabilityZones": {"zoneIds": ["use2-az3", "use2-az2"]},
}
_COMPUTED: dict[str, dict[str, Any]] = {
    "aws:ec2/placementGroup:PlacementGroup": {"placementGroupId": "pg-0123456789abcdef0"},
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
    "aws:ec2/eip:Eip": {"allocationId": "eipalloc-0123456789abcdef0"},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://eks.invalid",
        "certificateAuthority": {"data": "Y2E="},
    },
    "aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "eks-group"}]}]},
    "muster:aws:Fleet": {
        "fleet": {"stack": STACK},
        "boots": {"train-1": "i-0:2026-11-21T00:00:00Z"},
        "addresses": {"train-1": "10.0.0.10"},
        "headAddress": "10.0.0.9",
    },
}


@dataclass(frozen=True)
class Asked:
    """One resource that the program asked for."""

    type: str
    name: str
    inputs: dict[str, Any]
    custom: bool


@dataclass
class Recording(pulumi.runtime.Mocks):
    """A cloud that answers everything and builds nothing."""

    zone_id: str = "use2-az1"
    vpc_id: str = "vpc-0123456789abcdef0"
    missing: set[str] = field(default_factory=set)
    """Questions that find nothing."""
    resources: list[Asked] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        """Keep the resource, and give it what AWS would."""
        asked = Asked(args.typ, args.name, _plain(args.inputs), bool(args.custom))
        self.resources.append(asked)
        outputs = {
            "arn": f"arn:aws:mock:::{args.name}",
            "name": args.name,
            "dnsName": f"{args.name}.invalid",
            **args.inputs,
            **_COMPUTED.get(args.typ, {}),
        }
        if args.typ == "aws:eks/cluster:Cluster":
            outputs["vpcConfig"] = {**args.inputs["vpcConfig"], "clusterSecurityGroupId": "sg-eks"}
            outputs["kubernetesNetworkConfig"] = {"serviceIpv4Cidr": "172.20.0.0/16"}
        return (f"{args.name}-id" if args.custom else ""), outputs

    def call(
        self, args: pulumi.runtime.MockCallArgs
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Answer a question about what exists."""
        self.calls.append((args.token, _plain(args.args)))
        if args.token in self.missing:
            return {}, [("", "no matching thing was found")]
        subnet = {"availabilityZoneId": self.zone_id, "vpcId": self.vpc_id}
        return {**_ANSWERS, "aws:ec2/getSubnet:getSubnet": subnet}[args.token], []

    def of(self, kind: str) -> list[Asked]:
        """Return the resources of a type, by the last word of its token."""
        return [asked for asked in self.resources if asked.type.rsplit(":", 1)[-1] == kind]

    def one(self, kind: str, name: str = "") -> Asked:
        """Return the only one of a type, or the one whose name ends so."""
        [only] = [asked for asked in self.of(kind) if asked.name.endswith(name)]
        return only


def _plain(value: Any) -> Any:
    """Undo that mocks make every number a float."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache
def example(name: str) -> dict[str, Any]:
    """Return the cluster of an example stack."""
    path = PROJECT / "stacks" / f"Pulumi.{name}.yaml"
    cluster: dict[str, Any] = yaml.safe_load(path.read_text())["config"]["muster:cluster"]
    return cluster


def cluster(*pools: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a Slurm cluster of these pools, with what a test changes."""
    base = {key: example("example-p5")[key] for key in ("target", "image", "access", "network")}
    default = {"name": "train", "type": "p5.48xlarge", "count": 2, "capacity": {"onDemand": True}}
    return {**base, "pools": list(pools) or [default], **changes}


def pool(**changes: Any) -> dict[str, Any]:
    """Return a pool, with what a test changes."""
    default = {"name": "train", "type": "p5.48xlarge", "count": 2, "capacity": {"onDemand": True}}
    return {**default, **changes}


def run(
    data: Mapping[str, Any],
    *,
    preview: bool = False,
    mocks: Recording | None = None,
    build: Callable[..., Mapping[str, Any]] | None = None,
) -> tuple[Recording, dict[str, Any]]:
    """Run the program for a cluster; returns what it asked for, and its outputs where known."""
    recording = mocks or Recording()
    pulumi.runtime.set_mocks(recording, project="muster", stack=STACK, preview=preview)
    # The root outlives the mocks, and would keep the police of every earlier run.
    root = pulumi.runtime.get_root_resource()
    if root is not None:
        root._transformations = []
    pulumi.runtime.set_all_config({"aws:region": "us-east-2"}, [])
    from stacks import build_stack  # noqa: PLC0415 - the SDK is slow, and mocks must stand first

    catalog = load_catalog()
    spec = parse_spec(json.loads(json.dumps(data)), where="test", catalog=catalog, today=TODAY)
    outputs: dict[str, Any] = {}

    @pulumi.runtime.test  # type: ignore[untyped-decorator]  # the SDK types only async tests
    def program() -> pulumi.Output[Any]:
        made = (build or build_stack)(spec, catalog, STACK)
        return pulumi.Output.from_input(dict(made)).apply(outputs.update)

    program()
    return recording, _plain(outputs)
