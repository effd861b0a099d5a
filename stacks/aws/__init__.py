"""The AWS stack: network, access, capacity, compute, storage; then the fleet, proved."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pulumi
import pulumi_aws as aws

from muster.catalog import Catalog
from muster.catalog.aws_stack import load_aws_stack
from muster.clock import SystemClock
from muster.errors import UsageError
from muster.plan.aws.model import AwsPlan, HeadPlan
from muster.plan.aws.plan import plan_aws
from muster.plan.policies import STACK_TAG
from muster.plan.price import price_of
from muster.spec import ClusterSpec
from stacks.aws.access import NodeRole, NodeRoleArgs, cloud_config, encoded
from stacks.aws.compute import Pool, PoolArgs
from stacks.aws.existing import root_devices
from stacks.aws.fleet import Launched, found, outputs, proved
from stacks.aws.head import Head, HeadArgs
from stacks.aws.kubernetes import Eks, EksArgs
from stacks.aws.network import Network, NetworkArgs
from stacks.aws.place import Place
from stacks.aws.storage import Storage, StorageArgs


def build(spec: ClusterSpec, catalog: Catalog, stack: str) -> dict[str, Any]:
    """Create the resources as far as the spec's stages say; returns the outputs."""
    plan = plan_aws(spec, catalog, stack)
    region = pulumi.Config("aws").require("region")
    place = Place(stack=stack, region=region, tags=plan.tags)
    provider = _provider(place)
    opts = pulumi.ResourceOptions(provider=provider)
    # Before anything is built: an image that is not there stops the program with nothing to clear.
    place = replace(place, root_devices=root_devices(plan.images, provider))
    network = Network(
        "network", NetworkArgs(place=place, plan=plan.network, ssh_from=plan.ssh_from), opts
    )
    given_up = _given_up(spec, stack, SystemClock().now().date())
    storage = Storage("storage", _storage_args(plan, place, network, given_up), opts)
    made = {
        "hourlyUsd": round(price_of(plan, catalog).hourly_usd, 4),
        "network": {"vpc": network.vpc_id, "subnet": network.subnet_id},
        "storage": storage.addresses,
    }
    if plan.kubernetes is not None:
        return made | _kubernetes(plan, place, network, opts, spec)
    if plan.head is None:
        return made
    fleet = found(_launched(plan, plan.head, network, storage, opts, software=spec.software or ""))
    return made | outputs(stack, fleet) | proved(spec, stack, fleet)


def _provider(place: Place) -> aws.Provider:
    """Return the provider: the region, and tags even for what a resource of ours makes unasked."""
    return aws.Provider(
        "aws",
        region=place.region,
        default_tags={"tags": {**place.tags, STACK_TAG: place.stack}},
        max_retries=load_aws_stack().retries.most,
    )


def _given_up(spec: ClusterSpec, stack: str, today: date) -> frozenset[tuple[str, str]]:
    """Return (type, name) of each resource of this stack whose loss is acknowledged today."""
    open_ones = [known.urn for known in spec.preflight.acknowledge if known.until >= today]
    parts = [urn.split("::") for urn in open_ones if urn.startswith(f"urn:pulumi:{stack}::")]
    return frozenset((types.rsplit("$", 1)[-1], name) for *_, types, name in parts)


def _storage_args(
    plan: AwsPlan, place: Place, network: Network, given_up: frozenset[tuple[str, str]]
) -> StorageArgs:
    return StorageArgs(
        place=place,
        systems=plan.file_systems,
        buckets=plan.buckets,
        vpc_id=network.vpc_id,
        subnet_id=network.subnet_id,
        nodes=network.nodes,
        given_up=given_up,
    )


def _kubernetes(
    plan: AwsPlan,
    place: Place,
    network: Network,
    opts: pulumi.ResourceOptions,
    spec: ClusterSpec,
) -> dict[str, Any]:
    """Make the EKS cluster; what comes after it is not there yet."""
    if spec.stages != ("infra",):
        what = "nodes of Kubernetes are not converged or tested yet"
        raise UsageError(what, where="muster:cluster.stages", hint="Set stages: [infra].")
    if plan.kubernetes is None:
        return {}
    eks = Eks(
        "eks",
        EksArgs(
            place=place,
            wish=plan.kubernetes,
            pools=plan.pools,
            network=network,
            access=plan.access,
        ),
        pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[network])),
    )
    return {"cluster": {"name": eks.cluster_name, "endpoint": eks.endpoint}}


def _launched(
    plan: AwsPlan,
    head: HeadPlan,
    network: Network,
    storage: Storage,
    opts: pulumi.ResourceOptions,
    *,
    software: str,
) -> Launched:
    """Launch pools and head, once there is a way out and a profile to launch with."""
    place = network.place
    repositories = [s.data_repository for s in plan.file_systems if s.data_repository]
    role = NodeRole("access", NodeRoleArgs(place=place, repositories=repositories), opts)
    after = pulumi.ResourceOptions(depends_on=[network, role])
    opts = pulumi.ResourceOptions.merge(opts, after)
    where = "muster:cluster.access.publicKeys"
    shared: dict[str, Any] = {
        "place": place,
        "subnet_id": network.subnet_id,
        "groups": (network.nodes.id,),
        "profile_arn": role.profile_arn,
        "user_data": encoded(cloud_config(plan.access), where),
    }
    pools = {pool.name: Pool(pool.name, PoolArgs(plan=pool, **shared), opts) for pool in plan.pools}
    made = Head("head", HeadArgs(plan=head, **shared), opts)
    return Launched(
        place=place,
        plan=plan,
        pools=pools,
        head=made,
        storage=storage,
        software=software,
    )
