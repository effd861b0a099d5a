"""Rules on the fabric: network interfaces, EFA, families and placement groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from muster.catalog.quotas import load_quotas
from muster.plan.aws.model import PoolPlan
from muster.plan.cloud_view import Unread
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown


def _interfaces_fit_type(view: View) -> Iterator[Said]:
    for number, pool in enumerate(view.plan.pools):
        path = f"pools[{number}].interfaces"
        mistakes = (*_mistakes(pool), *_contradictions(view, pool))
        unstated = tuple(_unstated(pool))
        for mistake in mistakes:
            do = "Correct the type's network cards in the catalog, or its layout."
            yield failed(f"{pool.type.name}: {mistake}", path, do)
        if mistakes:
            continue
        if unstated:
            what = f"the catalog does not state {', '.join(unstated)} of {pool.type.name}"
            command = f"aws ec2 describe-instance-types --instance-types {pool.type.name}"
            query = "--query 'InstanceTypes[].NetworkInfo'"
            yield unknown(what, path, f"Add it to the catalog: {command} {query}")
        else:
            efa, all_of_them = len(_efa_cards(pool)), len(pool.interfaces)
            yield passed(f"{pool.type.name}: {all_of_them} interfaces, {efa} with EFA", path)


def _efa_cards(pool: PoolPlan) -> list[int]:
    return [found.card for found in pool.interfaces if found.kind != "interface"]


def _mistakes(pool: PoolPlan) -> Iterator[str]:
    """What EC2 would refuse, or what would leave EFA unused."""
    primary = [found for found in pool.interfaces if (found.card, found.device) == (0, 0)]
    if len(primary) != 1:
        yield f"{len(primary)} interfaces at card 0, device 0; there must be one"
    elif primary[0].kind == "efa-only":
        yield "the primary interface is efa-only; it needs an address"
    places = Counter((found.card, found.device) for found in pool.interfaces)
    for (card, device), count in places.items():
        if count > 1 and (card, device) != (0, 0):
            yield f"{count} interfaces at card {card}, device {device}"
    yield from _efa_mistakes(pool)
    yield from _card_mistakes(pool)


def _contradictions(view: View, pool: PoolPlan) -> Iterator[str]:
    """Say where the catalog and the cloud differ; the plan is made of the catalog's figures."""
    types, found = view.cloud.types, pool.type
    if isinstance(types, Unread) or found.name not in types:
        return
    told = types[found.name]
    if found.network_cards not in {None, told.network_cards}:
        yield f"the catalog has {found.network_cards} network cards, EC2 says {told.network_cards}"
    if found.efa_interfaces not in {None, told.efa_interfaces}:
        yield f"the catalog has {found.efa_interfaces} with EFA, EC2 says {told.efa_interfaces}"
    if pool.placement and pool.placement not in told.strategies:
        yield f"EC2 puts it in no {pool.placement} placement group"


def _efa_mistakes(pool: PoolPlan) -> Iterator[str]:
    cards, wanted, able = _efa_cards(pool), pool.type.efa_interfaces, pool.type.efa_cards
    if wanted is not None and len(cards) != wanted:
        yield f"{len(cards)} EFA interfaces planned, the type has {wanted}"
    for card, count in Counter(cards).items():
        if count > 1:
            yield f"{count} EFA interfaces on card {card}; a card takes one"
        if able is not None and card not in able:
            yield f"EFA on card {card}, which has none"


def _card_mistakes(pool: PoolPlan) -> Iterator[str]:
    most, cards = pool.type.enis_per_card, pool.type.network_cards
    for card, count in Counter(found.card for found in pool.interfaces).items():
        if cards is not None and card >= cards:
            yield f"an interface on card {card}; the type has {cards} cards"
        if most is not None and count > most:
            yield f"{count} interfaces on card {card}, which takes {most}"


def _unstated(pool: PoolPlan) -> Iterator[str]:
    """Facts that the plan relies on and no source states."""
    crowded = max(Counter(found.card for found in pool.interfaces).values(), default=0) > 1
    if pool.type.efa_interfaces is None:
        yield "the number of EFA interfaces"
    if pool.type.network_cards is None:
        yield "the number of network cards"
    if pool.type.enis_per_card is None and crowded:
        yield "how many interfaces a card takes"


def _fabric_is_present(view: View) -> Iterator[Said]:
    for number, pool in enumerate(view.plan.pools):
        together = pool.size > 1 or pool.placement == "cluster"
        if not pool.type.gpu_count or not together:
            continue
        path, name = f"pools[{number}].type", pool.type.name
        if pool.has_fabric:
            yield passed(f"{pool.size} nodes of {name} talk over EFA", path)
        elif pool.type.efa_interfaces is None:
            do = f"Look: aws ec2 describe-instance-types --instance-types {name}"
            query = "--query 'InstanceTypes[].NetworkInfo.EfaSupported'"
            yield unknown(f"no source says whether {name} has EFA", path, f"{do} {query}")
        else:
            what = f"no fabric: {pool.size} nodes of {name} without EFA talk over TCP"
            do = "Use a type with EFA, or keep each job on one node."
            yield failed(what, path, do, severity="warning")


def _one_family(view: View) -> Iterator[Said]:
    """All pools of a stack are in one subnet and one security group: one fabric."""
    pools = [pool for pool in view.plan.pools if pool.has_fabric and pool.type.gpu_count]
    if len(pools) <= 1:
        return
    families = sorted({pool.type.name.split(".")[0] for pool in pools})
    shown = ", ".join(families)
    islands = [set(island) for island in load_quotas().efa.islands]
    apart = sorted({name for island in islands for name in families if name in island})
    alone = any(set(families) <= island for island in islands)
    if apart and not alone:
        what = f"EFA of {', '.join(apart)} reaches no other family; the pools are {shown}"
        do = "Put them in stacks of their own, or keep jobs within one family and waive this."
        yield failed(what, "pools", do)
    elif len(families) > 1 and not alone:
        what = f"pools of {shown} are on one fabric"
        do = "Keep each job, and the acceptance test, within one family."
        yield failed(what, "pools", do, severity="warning")
    else:
        yield passed(f"pools with EFA are all of {shown}", "pools")


def _placement_fits(view: View) -> Iterator[Said]:
    for number, pool in enumerate(view.plan.pools):
        said = _placement_of(pool, f"pools[{number}].placement")
        if said:
            yield said


def _placement_of(pool: PoolPlan, path: str) -> Said | None:
    most, block = load_quotas().placement.spread_nodes_per_zone, pool.capacity.buying == "block"
    if pool.placement == "cluster" and block:
        what = "a cluster placement group with a Capacity Block, which is a cluster already"
        return failed(what, path, "Remove placement: no capacity is found for both.")
    if pool.placement == "spread" and pool.size > most:
        what = f"{pool.size} nodes in a spread placement group, which takes {most} in a zone"
        return failed(what, path, "Use cluster or partition, or fewer nodes.")
    if pool.placement:
        return passed(f"placement group: {pool.placement}", path)
    if not pool.has_fabric:
        return None
    if block:
        return passed("a Capacity Block is a cluster without a placement group", path)
    what = "a pool with EFA has no placement group: its nodes may be far apart"
    return failed(what, path, "Set placement: cluster.")


RULES: tuple[Rule, ...] = (
    Rule(
        id="interfaces-fit-type",
        title="The network interfaces are those that the type can have",
        source="EC2 user guide, Elastic Fabric Adapter; EC2 DescribeInstanceTypes",
        ask=_interfaces_fit_type,
    ),
    Rule(
        id="fabric-present",
        title="GPU nodes that work together have EFA",
        source="EC2 DescribeInstanceTypes",
        ask=_fabric_is_present,
    ),
    Rule(
        id="one-fabric-family",
        title="All nodes on the fabric reach each other over EFA",
        source="EC2 user guide, Elastic Fabric Adapter",
        ask=_one_family,
    ),
    Rule(
        id="placement-fits",
        title="Nodes with EFA are placed together, and groups hold their nodes",
        source="EC2 user guide, placement groups",
        ask=_placement_fits,
    ),
)
