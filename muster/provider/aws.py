"""The fleet on AWS: which instance is which node, how to reach it, and where it sits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from muster.catalog import Catalog, load_catalog
from muster.catalog.nodes import load_node_facts
from muster.clock import Clock
from muster.cloud.arrival import Arrival, Arriving, Known, drift
from muster.cloud.calls import aws_gateway
from muster.cloud.gateway import Gateway
from muster.cloud.host_keys import known_hosts_text, read_known_hosts
from muster.cloud.instances import look
from muster.cloud.mounts import read_mounts
from muster.errors import UsageError
from muster.fabric.placement import Place
from muster.files import write_atomic
from muster.fleet import Fleet, Mount
from muster.lock import stack_lock
from muster.plan.aws.fleet import FleetWish, fleet_of
from muster.progress import Progress
from muster.provider.handler import Handler, InitFailedError, Properties
from muster.runstore import RunStore

_WAIT_VARIABLE = "MUSTER_LAUNCH_WAIT_S"
_NEXT = "what runs is kept, and the groups go on trying: run `muster up` again, or lower count"


class AwsFleetHandler(Handler):
    """All nodes of a stack: adopted by the names that they carry, so that nothing is made twice."""

    resource_type = "muster:aws:Fleet"
    computed = (
        "fleet",
        "addresses",
        "boots",
        "missing",
        "unplaced",
        "leftovers",
        "headAddress",
        "drift",
    )
    replace_on = frozenset({"stack", "region"})

    def __init__(
        self, root: Path, clock: Clock, connect: Callable[[str], Gateway] = aws_gateway
    ) -> None:
        self._root = root
        self._clock = clock
        self._connect = connect

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """Nodes that are gone, replaced or started again are taken in by the next `up`."""
        return ["drift"] if state.get("drift") else []

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Wait for the instances and make a fleet of them.

        Raises:
            InitFailedError: a pool has fewer nodes than it must have, or the head does not run.

        """
        del name
        return inputs["stack"], self._take_in({}, inputs, progress)

    def read(self, resource_id: str, state: Properties) -> Properties:
        """See which instances are still those of the fleet; nothing is waited for."""
        del resource_id
        wish = _wish(state, self.computed)
        seen = look(self._connect(wish.region), wish)
        return {**state, "drift": drift(wish, seen, state.get("boots") or {})}

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Look again: successors take the names of who is lost, a smaller pool ends its last."""
        del resource_id
        return self._take_in(old, inputs, progress)

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Leave the instances to their groups, which go next."""

    def _take_in(self, old: Properties, inputs: Properties, progress: Progress) -> Properties:
        wish = _wish(inputs, self.computed)
        store = RunStore(self._root, wish.stack, self._clock)
        known_hosts = store.directory / "known_hosts"
        catalog, facts = load_catalog(), load_node_facts()
        with stack_lock(store.directory, clock=self._clock, progress=progress):
            known = _known(old, known_hosts)
            arriving = Arriving(
                gateway=self._connect(wish.region),
                catalog=catalog,
                waits=facts.waits,
                clock=self._clock,
                progress=progress,
                launch_wait_s=_launch_wait_s(facts.waits.launch.seconds),
            )
            mounts = read_mounts(arriving.gateway, wish, facts.mount_options)
            found = arriving.arrive(wish, known)
            write_atomic(known_hosts, known_hosts_text(_keys(found)))
        state = {**inputs, **_outputs(wish, found, catalog, known_hosts, mounts)}
        reasons = found.short(wish)
        if reasons:
            raise InitFailedError(wish.stack, state, [*reasons, _NEXT])
        return state


def _wish(properties: Mapping[str, Any], computed: tuple[str, ...]) -> FleetWish:
    wish = FleetWish.model_validate({k: v for k, v in properties.items() if k not in computed})
    if wish.head is None:
        raise UsageError("a fleet needs a head", where=wish.stack, hint="Use scheduler slurm.")
    return wish


def _launch_wait_s(usual_s: float) -> float:
    given = os.environ.get(_WAIT_VARIABLE, "")
    try:
        return float(given) if given else usual_s
    except ValueError:
        what = f"{_WAIT_VARIABLE} is {given!r}"
        raise UsageError(what, hint="It is a number of seconds.") from None


def _known(old: Mapping[str, Any], known_hosts: Path) -> Known:
    """Put together what the state and our own file say of instances seen before."""
    keys = read_known_hosts(known_hosts.read_text("utf-8")) if known_hosts.is_file() else {}
    if not old.get("fleet"):
        return Known(keys=keys)
    fleet = Fleet.model_validate(old["fleet"])
    boots = old.get("boots") or {}
    places = {
        boots[node.name]: Place(leaf=node.leaf, switches=node.switches, domain=node.domain)
        for node in fleet.nodes
        if node.leaf and node.name in boots
    }
    return Known(keys={**keys, **_fleet_keys(fleet)}, places=places)


def _fleet_keys(fleet: Fleet) -> dict[str, str]:
    return {node.serial: node.host_key for node in (fleet.head, *fleet.nodes)}


def _keys(found: Arrival) -> dict[str, str]:
    everyone = (found.head, *found.nodes) if found.head else found.nodes
    return {node.instance.id: node.host_key for node in everyone}


def _outputs(
    wish: FleetWish,
    found: Arrival,
    catalog: Catalog,
    known_hosts: Path,
    mounts: tuple[Mount, ...],
) -> Properties:
    everyone = (found.head, *found.nodes) if found.head else found.nodes
    document: Properties = {}
    if found.head:
        fleet = fleet_of(
            wish,
            found.head,
            found.nodes,
            catalog,
            known_hosts_file=str(known_hosts),
            mounts=mounts,
        )
        document = fleet.model_dump(mode="json", by_alias=True)
    return {
        "fleet": document,
        "addresses": {node.name: node.instance.address for node in everyone},
        "boots": {node.name: node.instance.boot for node in everyone},
        "missing": dict(found.missing),
        "unplaced": dict(found.unplaced),
        "leftovers": list(found.leftovers),
        "headAddress": found.head.instance.address if found.head else "",
        "drift": {},
    }
