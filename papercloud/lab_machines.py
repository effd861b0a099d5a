"""Instances that are lab nodes: real Linux behind a simulated cloud.

The lab's network is made once, with a place for every instance that may run at the same time. An
instance takes a free place when it is launched and leaves it when it is terminated.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from muster.catalog import InstanceType
from muster.errors import MusterError
from muster.files import write_atomic
from muster.lab import image, network, node, node_files, teardown
from muster.lab.model import HEAD_NAME, Image, LabNode, Network, NetworkWish, NodeWish
from muster.lab.paths import lab_paths
from muster.progress import Progress, silent
from papercloud.cloud.machines import Launch, Machine

_SPINE = "nn-lab-spine"
_POOL_TAG = "muster:pool"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one instance can be: the name of its lab node, ordinal and leaf; the head has none."""

    name: str
    ordinal: int
    leaf: str


class LabMachines:
    """Boots a lab node for each instance of one type, and for the head."""

    def __init__(
        self,
        lab: str,
        kind: InstanceType,
        *,
        places: int,
        per_leaf: int = 2,
        project: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        """Bake the image and make the lab's network; what an earlier run left of it goes first.

        Raises:
            MusterError: no lab can run on this machine; the message says why.

        """
        self._kind = kind
        self._progress = progress
        teardown.remove_lab(lab)
        self._image: Image = image.ensure_image(progress)
        self._wish = _network_wish(lab, kind, places, per_leaf)
        self._network: Network = network.ensure_network(self._wish, project)
        leaf_of = {name: leaf for leaf, names in self._wish.leaves.items() for name in names}
        workers = enumerate(self._wish.node_names(), start=1)
        self._free = [_Place(HEAD_NAME, 0, "")]
        self._free += [_Place(name, ordinal, leaf_of[name]) for ordinal, name in workers]
        self._taken: dict[str, _Place] = {}
        self._lock = threading.Lock()

    def offers(self, instance_type: str) -> bool:
        """Only its one type is booted; the head is of that type too."""
        return instance_type == self._kind.name

    def start(self, launch: Launch) -> Machine:
        """Boot a node in a free place.

        Raises:
            MusterError: every place is taken, or the node does not come up.

        """
        place = self._take(launch)
        try:
            made = node.ensure_node(
                self._node_wish(place), self._wish, self._image, self._network, self._progress
            )
            self._personalise(place, launch)
        except MusterError:
            self._leave(launch.instance_id)
            raise
        return _machine(made, place)

    def stop(self, instance_id: str) -> None:
        """Remove the node, and give its place to the next."""
        place = self._taken.get(instance_id)
        if place is None:
            return
        node.remove_node(self._wish.lab, place.name)
        self._leave(instance_id)

    def close(self) -> None:
        """Remove the lab."""
        teardown.remove_lab(self._wish.lab)

    def _take(self, launch: Launch) -> _Place:
        head = launch.pool_tags.get(_POOL_TAG) == HEAD_NAME
        with self._lock:
            fitting = [place for place in self._free if (place.ordinal == 0) is head]
            if not fitting:
                what = f"no free place in lab {self._wish.lab} for {launch.instance_id}"
                raise MusterError(what, hint="Ask for fewer nodes, or make a lab of more places.")
            self._free.remove(fitting[0])
            self._taken[launch.instance_id] = fitting[0]
            return fitting[0]

    def _leave(self, instance_id: str) -> None:
        with self._lock:
            self._free.append(self._taken.pop(instance_id))

    def _node_wish(self, place: _Place) -> NodeWish:
        gpus = 0 if place.ordinal == 0 else self._kind.gpu_count
        return NodeWish(
            lab=self._wish.lab,
            name=place.name,
            pool=self._wish.lab,
            type=self._kind.name,
            ordinal=place.ordinal,
            leaf=place.leaf,
            gpu_count=gpus,
            gpu_model=self._kind.gpu_model,
            gpu_memory_mib=self._kind.gpu_memory_mib or 0,
        )

    def _personalise(self, place: _Place, launch: Launch) -> None:
        """Do what the firmware and cloud-init do on an instance: its id, and who may log in."""
        root = lab_paths(self._wish.lab).node(place.name).merged
        write_atomic(root / node_files.SERIAL, f"{launch.instance_id}\n")
        keys = root / "root/.ssh/authorized_keys"
        lines = [*keys.read_text(encoding="utf-8").splitlines(), *root_keys(launch.user_data)]
        write_atomic(keys, "".join(f"{line}\n" for line in dict.fromkeys(lines)), mode=0o600)


def root_keys(user_data: str) -> tuple[str, ...]:
    """Return the public keys with which cloud-config text lets root in.

    Those at the top level are the default user's and root's, where root is not disabled
    (cloud-init, "Users and groups" and "SSH"); a user entry called root has its own.
    """
    document: Any = yaml.safe_load(user_data) if user_data.startswith("#cloud-config") else None
    if not isinstance(document, dict):
        return ()
    users = document.get("users") or ()
    holders = [user for user in users if isinstance(user, dict) and user.get("name") == "root"]
    if document.get("disable_root") is False:
        holders.append(document)
    return tuple(key for each in holders for key in each.get("ssh_authorized_keys") or ())


def _network_wish(lab: str, kind: InstanceType, places: int, per_leaf: int) -> NetworkWish:
    names = [f"place-{number}" for number in range(1, places + 1)]
    leaves = {
        f"leaf{first // per_leaf}": tuple(names[first : first + per_leaf])
        for first in range(0, places, per_leaf)
    }
    rate_mbit = min(rail.rate_mbit or 1 for rail in kind.rails)
    return NetworkWish(
        lab=lab,
        rails=len(kind.rails),
        rail_rate_mbit=rate_mbit,
        uplink_rate_mbit=rate_mbit * per_leaf,
        leaves=leaves,
    )


def _machine(made: LabNode, place: _Place) -> Machine:
    console = (
        "-----BEGIN SSH HOST KEY KEYS-----\n"
        f"{made.host_key} root@{made.name}\n"
        "-----END SSH HOST KEY KEYS-----\n"
    )
    places = (_SPINE, f"nn-lab-{place.leaf}") if place.leaf else ()
    return Machine(
        addresses=(made.address, *made.rail_addresses), console=console, network_nodes=places
    )
