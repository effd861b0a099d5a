"""Which nodes, leaves and rails does a lab spec ask for? Pure."""

from __future__ import annotations

from dataclasses import dataclass

from muster.catalog import Catalog, InstanceType
from muster.errors import UsageError
from muster.lab.model import HEAD_NAME, NetworkWish, NodeWish
from muster.spec import ClusterSpec, LabSettings, Pool
from muster.spec_rules import LAB_NODES_MAX

LAB_NAME_MAX = 8
_UPLINK_HEADROOM = 1.15
"""Uplinks carry all rails of a leaf at once with room for headers, so only a fault slows them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabPlan:
    """A whole lab; `nodes` begins with the head, the rest stand in order of their ordinals."""

    lab: str
    network: NetworkWish
    nodes: tuple[NodeWish, ...]

    @property
    def workers(self) -> tuple[NodeWish, ...]:
        """Return all nodes but the head."""
        return self.nodes[1:]


def plan_lab(spec: ClusterSpec, catalog: Catalog, stack: str) -> LabPlan:
    """Turn a parsed spec with target lab into the wishes that the lab fulfils.

    Raises:
        UsageError: too many nodes, or pools whose rails differ.

    """
    if spec.target != "lab":
        raise UsageError(
            f"target is {spec.target}", where=stack, hint="Only a lab is planned here."
        )
    settings = spec.lab or LabSettings()
    lab = settings.name or lab_name(stack)
    places = [(pool, number) for pool in spec.pools for number in range(1, _size(pool) + 1)]
    if len(places) > LAB_NODES_MAX:
        what = f"{len(places)} nodes with spares; a lab has at most {LAB_NODES_MAX}"
        raise UsageError(
            what, where=f"{stack}: muster:cluster.pools", hint="Lower count or spares."
        )
    workers = tuple(
        _node(
            lab,
            pool,
            name=f"{pool.name}-{number}",
            ordinal=ordinal,
            leaf=f"leaf{(ordinal - 1) // settings.nodes_per_leaf}",
            found=catalog.instance_type(pool.type),
        )
        for ordinal, (pool, number) in enumerate(places, start=1)
    )
    head = NodeWish(lab=lab, name=HEAD_NAME, pool=HEAD_NAME, type=workers[0].type, ordinal=0)
    network = _network(lab, workers, settings, _common_rails(spec, catalog, stack))
    return LabPlan(lab=lab, network=network, nodes=(head, *workers))


def lab_name(stack: str) -> str:
    """Shorten a stack's name to what a lab may be called: a letter, then up to seven more."""
    kept = "".join(c for c in stack.lower() if c.isascii() and c.isalnum())
    return (kept if kept[:1].isalpha() else f"l{kept}")[:LAB_NAME_MAX]


def _size(pool: Pool) -> int:
    return pool.count + pool.spares


def _common_rails(spec: ClusterSpec, catalog: Catalog, stack: str) -> InstanceType:
    """Return a type that stands for all pools: the lab's fabric has one set of rails."""
    types = [catalog.instance_type(pool.type) for pool in spec.pools]
    for pool, found in zip(spec.pools, types, strict=True):
        if found.rails != types[0].rails:
            what = f"pool {pool.name} ({pool.type}) has other rails than {types[0].name}"
            hint = "All pools of a lab need the same rails."
            raise UsageError(what, where=f"{stack}: muster:cluster.pools", hint=hint)
    return types[0]


def _node(
    lab: str, pool: Pool, *, name: str, ordinal: int, leaf: str, found: InstanceType
) -> NodeWish:
    return NodeWish(
        lab=lab,
        name=name,
        pool=pool.name,
        type=pool.type,
        ordinal=ordinal,
        leaf=leaf,
        gpu_count=found.gpu_count,
        gpu_model=found.gpu_model,
        gpu_memory_mib=found.gpu_memory_mib or 0,
    )


def _network(
    lab: str, workers: tuple[NodeWish, ...], settings: LabSettings, rails: InstanceType
) -> NetworkWish:
    leaves: dict[str, tuple[str, ...]] = {}
    for node in workers:
        leaves[node.leaf] = (*leaves.get(node.leaf, ()), node.name)
    rates = [rail.rate_mbit for rail in rails.rails if rail.rate_mbit is not None]
    rate_mbit = settings.rail_rate_mbit or min(rates, default=0)
    uplink_mbit = round(settings.nodes_per_leaf * rate_mbit * _UPLINK_HEADROOM)
    return NetworkWish(
        lab=lab,
        rails=len(rails.rails),
        rail_rate_mbit=rate_mbit,
        uplink_rate_mbit=settings.uplink_rate_mbit or uplink_mbit,
        leaves=leaves,
    )
