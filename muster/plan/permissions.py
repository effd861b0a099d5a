"""Actions of IAM that a planned stack needs. Pure but for the catalog's own file."""

from __future__ import annotations

from muster.catalog.permissions import load_permissions
from muster.plan.aws.model import AwsPlan


def actions_of(plan: AwsPlan) -> tuple[str, ...]:
    """Return what whoever brings the stack up must be allowed to do."""
    facts, network = load_permissions(), plan.network
    new = [system for system in plan.file_systems if system.is_new]
    parts = (
        (True, facts.always),
        (network.vpc_id is None, facts.network),
        (network.subnet_id is None, facts.subnet),
        (network.public_cidr is not None, facts.nat),
        (network.internet == "endpoints" and network.subnet_id is None, facts.endpoints),
        (bool(plan.pools) and plan.kubernetes is None, facts.nodes),
        (any(pool.placement for pool in plan.pools), facts.placement),
        (any(system.kind.startswith("fsx") for system in new), facts.fsx),
        (any(system.data_repository for system in new), facts.repository),
        (any(system.kind == "efs" for system in new), facts.efs),
        (bool(plan.buckets), facts.buckets),
        (plan.kubernetes is not None, facts.kubernetes),
    )
    return tuple(sorted({action for applies, found in parts if applies for action in found}))
