"""From groups of instances to named nodes with keys and places; and what changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.catalog import Catalog
from muster.catalog.nodes import Waits
from muster.clock import Clock
from muster.cloud.gateway import Gateway
from muster.cloud.host_keys import read_host_keys
from muster.cloud.instances import (
    NODE_TAG,
    Look,
    end_instance,
    failure,
    name_instances,
    wait_for_instances,
)
from muster.cloud.topology import read_placement
from muster.fabric.ordinals import Assignment, Member, assign
from muster.fabric.placement import Place
from muster.plan.aws.fleet import HEAD, Arrived, FleetWish, Instance, PoolWish
from muster.progress import Progress

_NO_KEY = "host key unknown: its console shows none, so nobody could tell whom we log in to"


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What earlier looks found: a console forgets, and the topology may be silent."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """By instance id."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """By boot: a stop and a start may move an instance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """Who is there after the wait."""

    head: Arrived | None
    nodes: tuple[Arrived, ...]
    missing: Mapping[str, str]
    """Why a node is not there, by name."""
    unplaced: Mapping[str, str]
    """Why it is not known where a node sits, by name."""
    leftovers: tuple[str, ...]
    """Instances beyond a pool's size that its group still wants."""

    def short(self, wish: FleetWish) -> list[str]:
        """Say of each pool with fewer nodes than it must have, and of the head, what lacks."""
        reasons = [f"head: {self.missing[HEAD]}"] if HEAD in self.missing else []
        for pool in wish.pools:
            there = sum(node.pool == pool.name for node in self.nodes)
            if there < pool.count:
                lacking = [n for n in _names(pool) if n in self.missing]
                whys = dict.fromkeys(self.missing[name] for name in lacking)
                what = f"{there} of {pool.count} nodes that it must have are there"
                reasons.append(f"pool {pool.name}: {what}: {'; '.join(whys)}")
        return reasons


@dataclass(frozen=True, kw_only=True)
class Arriving:
    """Waits for a fleet."""

    gateway: Gateway
    catalog: Catalog
    waits: Waits
    clock: Clock
    progress: Progress
    launch_wait_s: float

    def arrive(self, wish: FleetWish, known: Known) -> Arrival:
        """Wait for the instances, name them, learn their keys and places.

        Names are written on the instances first: whatever ends this, the next look finds them.

        Raises:
            CloudError: AWS refused, or did not answer after all retries.

        """
        seen = wait_for_instances(
            self.gateway,
            wish,
            self.clock,
            self.progress,
            limit_s=self.launch_wait_s,
            pause_s=self.waits.look_again.seconds,
        )
        given = {p.name: assign_names(p, seen.members[p.name]) for p in wish.pools}
        leftovers = self._end_leftovers(wish, seen, given)
        instances = _named(seen, given)
        name_instances(self.gateway, wish.stack, instances)
        missing = self._not_there(wish, given, seen)
        running = {name: i for name, i in instances.items() if i.state == "running"}
        missing |= dict.fromkeys(instances.keys() - running.keys(), "its instance still starts")
        if wish.head and seen.head and seen.head.state == "running":
            running[HEAD] = seen.head
        keys = self._keys(running, known)
        missing |= {name: _NO_KEY for name, found in running.items() if found.id not in keys}
        there = {name: found for name, found in running.items() if found.id in keys}
        places, unplaced = self._places(wish, there, known)
        pool_of = _pools_by_node(wish)
        nodes = [
            _arrived(name, pool_of[name], there[name], keys, places)
            for name in pool_of
            if name in there
        ]
        return Arrival(
            head=_head(wish, there, keys),
            nodes=tuple(nodes),
            missing=missing,
            unplaced=unplaced,
            leftovers=leftovers,
        )

    def _end_leftovers(
        self, wish: FleetWish, seen: Look, given: Mapping[str, Assignment]
    ) -> tuple[str, ...]:
        """End what a smaller pool has too many, unless the group was made larger by hand."""
        kept: list[str] = []
        for pool in wish.pools:
            extra = given[pool.name].leftovers
            if pool.name in seen.groups and seen.groups[pool.name].desired > pool.size:
                kept += extra
                continue
            for number, instance_id in enumerate(extra, start=1):
                self.progress(f"pool {pool.name}: ending {instance_id}, {number} of {len(extra)}")
                end_instance(self.gateway, instance_id)
        return tuple(kept)

    def _not_there(
        self, wish: FleetWish, given: Mapping[str, Assignment], seen: Look
    ) -> dict[str, str]:
        missing: dict[str, str] = {}
        if wish.head and (seen.head is None or seen.head.state != "running"):
            missing[HEAD] = f"its instance {wish.head.instance} does not run"
        for pool in wish.pools:
            free = given[pool.name].free
            if not free:
                continue
            if pool.name not in seen.groups:
                why = f"there is no Auto Scaling group {pool.group}"
            else:
                said = failure(self.gateway, pool.group)
                why = said or f"group {pool.group} started no instance in {self.launch_wait_s:g} s"
            missing |= dict.fromkeys(free, why)
        return missing

    def _keys(self, running: Mapping[str, Instance], known: Known) -> dict[str, str]:
        ids = [found.id for found in running.values()]
        keys = {name: known.keys[name] for name in ids if name in known.keys}
        new = [name for name in ids if name not in keys]
        if new:
            keys |= read_host_keys(
                self.gateway,
                new,
                self.clock,
                self.progress,
                limit_s=self.waits.host_key.seconds,
                pause_s=self.waits.look_again.seconds,
            )
        return keys

    def _places(
        self, wish: FleetWish, there: Mapping[str, Instance], known: Known
    ) -> tuple[dict[str, Place], dict[str, str]]:
        """Place the nodes whose type has a compute network; where nothing new is said, as known."""
        fabric = {p.name for p in wish.pools if self.catalog.instance_type(p.type).rails}
        pool_of = _pools_by_node(wish)
        asked = {
            found.id: name
            for name, found in there.items()
            if name in pool_of and pool_of[name].name in fabric
        }
        if not asked:
            return {}, {}
        found = read_placement(
            self.gateway,
            list(asked),
            self.clock,
            self.progress,
            limit_s=self.waits.placement.seconds,
            pause_s=self.waits.look_again.seconds,
        )
        boots = {i: there[asked[i]].boot for i in found.unplaced}
        before = {i: known.places[boots[i]] for i in boots if boots[i] in known.places}
        unplaced = {asked[i]: why for i, why in found.unplaced.items() if i not in before}
        return {**found.places, **before}, unplaced


def assign_names(pool: PoolWish, members: tuple[Instance, ...]) -> Assignment:
    """Give the pool's names to its instances, by the names that they carry."""
    carried = [
        Member(id=found.id, launched=found.launched, name=found.tags.get(NODE_TAG, ""))
        for found in members
    ]
    return assign(pool.name, pool.size, carried)


def drift(wish: FleetWish, seen: Look, boots: Mapping[str, str]) -> dict[str, str]:
    """Say per node how what is there differs from what was found before. Pure."""
    found: dict[str, str] = {}
    alive = {i.id: i for members in seen.members.values() for i in members}
    if seen.head:
        alive[seen.head.id] = seen.head
    for name, boot in boots.items():
        was = boot.partition(":")[0]
        if was not in alive:
            found[name] = f"its instance {was} is gone"
        elif alive[was].boot != boot:
            found[name] = f"its instance {was} was started again"
    used = {boot.partition(":")[0] for boot in boots.values()}
    for pool in wish.pools:
        new = [i.id for i in seen.running(pool.name) if i.id not in used]
        empty = [name for name in _names(pool) if name not in boots]
        found |= {n: f"instance {i} is there for it" for n, i in zip(empty, new, strict=False)}
    if wish.head and HEAD not in boots and seen.head:
        found[HEAD] = f"instance {seen.head.id} is there for it"
    return found


def _names(pool: PoolWish) -> list[str]:
    return [f"{pool.name}-{number}" for number in range(1, pool.size + 1)]


def _named(seen: Look, given: Mapping[str, Assignment]) -> dict[str, Instance]:
    alive = {found.id: found for members in seen.members.values() for found in members}
    return {n: alive[i] for found in given.values() for n, i in found.names.items()}


def _pools_by_node(wish: FleetWish) -> dict[str, PoolWish]:
    """Return the pool of every node, in the order of pools and ordinals."""
    return {name: pool for pool in wish.pools for name in _names(pool)}


def _arrived(
    name: str,
    pool: PoolWish,
    instance: Instance,
    keys: Mapping[str, str],
    places: Mapping[str, Place],
) -> Arrived:
    return Arrived(
        name=name,
        pool=pool.name,
        type=pool.type,
        instance=instance,
        host_key=keys[instance.id],
        place=places.get(instance.id),
    )


def _head(
    wish: FleetWish, there: Mapping[str, Instance], keys: Mapping[str, str]
) -> Arrived | None:
    if wish.head is None or HEAD not in there:
        return None
    found = there[HEAD]
    return Arrived(
        name=HEAD, pool=HEAD, type=wish.head.type, instance=found, host_key=keys[found.id]
    )
