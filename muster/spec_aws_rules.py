"""What no single key can say wrong about a stack on AWS."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from muster.catalog import Catalog
from muster.catalog.prices_file import Way
from muster.spec_errors import Mistake, shown
from muster.spec_view import Facts, Rule, View, stages_of

_BUYING = {"onDemand": "onDemand", "spot": "spot", "block": "capacityBlock"}


def aws_says_where(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A cloud stack names its zone and how each pool is bought."""
    if spec.text("target") != "aws":
        return
    if spec.get("network") is None:
        yield spec.mistake("network", "missing; target aws needs network.zoneId")
    network = spec.section("network")
    if network.get("subnetId") is not None and network.get("vpcId") is None:
        yield network.mistake("vpcId", "missing; subnetId needs the VPC that it is in")
    for pool in spec.items("pools"):
        if pool.get("capacity") is None:
            hint = "Say onDemand: true, spot: true, reservation: cr-… or block: cr-…."
            yield pool.mistake("capacity", "missing; target aws needs to know what to buy", hint)


def pools_may_be_none(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Only a stack of nothing but storage has no nodes."""
    pools = spec.get("pools")
    if not isinstance(pools, list | tuple) or pools:
        return
    storage_only = spec.text("target") == "aws" and (spec.get("storage") or spec.get("buckets"))
    if not storage_only or stages_of(spec) != ("infra",):
        hint = "Only an aws stack of storage, with stages: [infra], has none."
        yield spec.mistake("pools", "an empty list; must be a list of 1 or more", hint)


def kubernetes_is_planned(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Kubernetes on AWS is EKS: it needs a version, and muster does not converge its nodes yet."""
    wanted = spec.text("target") == "aws" and spec.text("scheduler") == "kubernetes"
    if wanted and spec.get("kubernetes") is None:
        yield spec.mistake("kubernetes", "missing; scheduler kubernetes needs kubernetes.version")
    if wanted and stages_of(spec) != ("infra",):
        hint = "Set stages: [infra]."
        yield spec.mistake("stages", "nodes of Kubernetes are not converged or tested yet", hint)
    if not wanted and spec.get("kubernetes") is not None and spec.text("target") == "aws":
        yield spec.mistake("kubernetes", "given with scheduler slurm", "Remove it.")


def block_end_is_of_a_block(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Only a Capacity Block has an end that the spec states."""
    for pool in spec.items("pools"):
        capacity = pool.section("capacity")
        if capacity.get("ends") is not None and capacity.get("block") is None:
            yield capacity.mistake("ends", "only a block ends at a stated time", "Remove it.")


def capacity_is_one(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A pool is bought in exactly one way."""
    for pool in spec.items("pools"):
        capacity = pool.section("capacity")
        known = (*_BUYING, "reservation", "resourceGroup")
        ways = [key for key in known if capacity.get(key) is not None]
        if isinstance(pool.get("capacity"), Mapping) and not ways:
            yield pool.mistake("capacity", "empty; needs onDemand, spot, reservation, …")
        if len(ways) > 1:
            yield pool.mistake("capacity", f"{' and '.join(ways)}; a pool is bought in one way")


def capacity_is_sold(spec: View, facts: Facts) -> Iterator[Mistake]:
    """The type can be bought that way."""
    for pool in spec.items("pools"):
        found = facts.catalog.types.get(pool.text("type"))
        for way, purchase in _BUYING.items():
            sold = found.purchase if found else None
            if pool.section("capacity").get(way) and sold is not None and purchase not in sold:
                offers = ", ".join(sold)
                what = f"{pool.text('type')} is not sold this way; it is sold as {offers}"
                yield pool.section("capacity").mistake(way, what)


def block_has_no_spares(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A Capacity Block has a fixed number of instances, all paid up front."""
    for pool in spec.items("pools"):
        if pool.section("capacity").get("block") and pool.number("spares") > 0:
            what = f"{pool.get('spares')} with a Capacity Block, whose size is fixed and paid"
            yield pool.mistake("spares", what, "Lower count so that count is below the block.")


def cidr_is_a_network(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """The address range is one that a VPC can have."""
    network = spec.section("network")
    text = network.text("cidr")
    if not text:
        return
    try:
        found = ipaddress.IPv4Network(text)
    except ValueError as error:
        yield network.mistake("cidr", f"{shown(text)}; must be an IPv4 network ({error})")
        return
    if not 16 <= found.prefixlen <= 28 or not found.is_private:  # noqa: PLR2004 - what a VPC takes
        yield network.mistake("cidr", f"{text}; must be a private network of /16 to /28")


def budget_covers_pools(spec: View, facts: Facts) -> Iterator[Mistake]:
    """The pools whose price is known fit into the budget."""
    budget = spec.section("budget")
    limit = budget.number("maxHourlyUsd")
    zone = spec.section("network").text("zoneId")
    cost = sum(_hourly_usd(pool, facts.catalog, zone) for pool in spec.items("pools"))
    if 0 < limit < cost:
        what = f"{limit:g} is less than the pools cost: {cost:.2f} USD per hour at list price"
        yield budget.mistake("maxHourlyUsd", what, "Raise it, or ask for fewer nodes.")


def _hourly_usd(pool: View, catalog: Catalog, zone_id: str) -> float:
    """List price of a pool, 0 where it is not known (spot, or no price in the catalog)."""
    found = catalog.types.get(pool.text("type"))
    capacity = pool.section("capacity")
    if found is None or capacity.get("spot"):
        return 0
    block = capacity.get("block")
    region = catalog.prices_in(zone_id)
    way: Way = "capacity_block_usd_per_hour" if block else "on_demand_usd_per_hour"
    read = region.instance(found.name, way, zone_id) if region else None
    price: float | None = read.usd if read else getattr(found, way)
    return (price or 0) * max(0, pool.number("count") + pool.number("spares"))


AWS_RULES: tuple[Rule, ...] = (
    aws_says_where,
    pools_may_be_none,
    kubernetes_is_planned,
    block_end_is_of_a_block,
    capacity_is_one,
    capacity_is_sold,
    block_has_no_spares,
    cidr_is_a_network,
    budget_covers_pools,
)
