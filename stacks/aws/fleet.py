"""From launched instances to a fleet that is converged and proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from muster.converge.digest import content_digests
from muster.errors import UsageError
from muster.plan.aws.fleet import HEAD
from muster.plan.aws.model import AwsPlan
from muster.provider.resources import (
    Acceptance,
    AcceptanceArgs,
    AwsFleet,
    AwsFleetArgs,
    Convergence,
    ConvergenceArgs,
)
from muster.spec import ClusterSpec
from stacks.aws.compute import Pool
from stacks.aws.head import Head
from stacks.aws.place import Place
from stacks.aws.storage import Storage


@dataclass(frozen=True, kw_only=True)
class Launched:
    """What was made for the fleet: the pools by name, the head, and what all mount."""

    place: Place
    plan: AwsPlan
    pools: dict[str, Pool]
    head: Head
    storage: Storage
    software: str


def found(launched: Launched) -> AwsFleet:
    """Make the resource that waits for the instances and looks them up.

    Raises:
        UsageError: nobody could log in to them.

    """
    plan, access = launched.plan, launched.plan.access
    if access is None:
        what = "access is missing; nobody could log in to the nodes"
        raise UsageError(what, where="muster:cluster.access", hint="Give access.publicKeys.")
    return AwsFleet(
        "fleet",
        AwsFleetArgs(
            stack=launched.place.stack,
            region=launched.place.region,
            zone_id=plan.network.zone_id,
            pools=[
                {
                    "name": pool.name,
                    "type": pool.type.name,
                    "size": pool.size,
                    "count": pool.count,
                    "group": launched.pools[pool.name].group_name,
                }
                for pool in plan.pools
            ],
            head={"instance": launched.head.instance_id, "type": launched.head.type},
            access={"user": access.user, "keyFile": access.key_file, "via": access.via},
            launched={name: pool.template.label for name, pool in launched.pools.items()},
            storage=[
                {
                    "mount": system.mount,
                    "kind": system.kind,
                    "address": launched.storage.addresses[system.mount],
                }
                for system in plan.file_systems
                if system.mount in launched.storage.addresses
            ],
            software=launched.software,
        ),
        # An address does not say that a file system can be mounted: its mount targets do.
        pulumi.ResourceOptions(depends_on=[launched.storage]),
    )


def proved(spec: ClusterSpec, stack: str, fleet: AwsFleet) -> dict[str, Any]:
    """Converge and accept as far as the spec's stages say; returns the outputs."""
    if "converge" not in spec.stages:
        return {}
    convergence = Convergence(
        "convergence",
        ConvergenceArgs(
            stack=stack,
            fleet=fleet.output("fleet"),
            boots=fleet.output("boots"),
            contents=content_digests(),
        ),
    )
    if "accept" not in spec.stages:
        return {}
    policy = spec.acceptance.model_dump(mode="json", by_alias=True)
    acceptance = Acceptance(
        "acceptance",
        AcceptanceArgs(
            stack=stack,
            fleet=fleet.output("fleet"),
            wanted=spec.wanted,
            policy=policy["policy"],
            waivers=policy["waivers"],
            converged=convergence.output("stamp"),
        ),
    )
    return {key: acceptance.output(key) for key in ("ready", "readiness", "report")}


def outputs(stack: str, fleet: AwsFleet) -> dict[str, pulumi.Input[Any]]:
    """Return what a person needs to reach the fleet."""
    return {
        "fleet": fleet.output("addresses"),
        "head": fleet.output("headAddress"),
        "ssh": f"muster ssh {stack} {HEAD}",
    }
