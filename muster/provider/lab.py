"""Lab resources: the image, the network, and one resource per node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.errors import MusterError
from muster.lab import image, network, node, teardown
from muster.lab.model import Image, NetworkWish, NodeState, NodeWish
from muster.lab.paths import lab_paths
from muster.progress import Progress
from muster.provider.handler import Handler, Properties


class LabImageHandler(Handler):
    """The root file system of all lab nodes: a cache shared by the labs of this machine."""

    resource_type = "muster:lab:Image"
    computed = ("path", "present")

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """An image whose directory is gone is built again."""
        return [] if state.get("present") else ["present"]

    def preview(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Properties:
        """All is known before: the path follows from the recipe."""
        del old
        return self._state(new["recipe"])

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Build the image, unless it is there."""
        del name
        made = image.ensure_image(progress)
        return made.digest, {**inputs, **self._state(made.digest)}

    def read(self, resource_id: str, state: Properties) -> Properties:
        """See whether the directory is there."""
        present = image.image_path(resource_id).is_dir()
        return {**state, "present": present}

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Build what the recipe now says; the old one stays for labs that use it."""
        del resource_id, old
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Keep the directory: other labs may use it, and building it takes minutes."""

    def _state(self, digest: str) -> Properties:
        return {"recipe": digest, "path": str(image.image_path(digest)), "present": True}


class LabNetworkHandler(Handler):
    """Management bridge, leaf and spine bridges, uplinks; nodes bring their own cables."""

    resource_type = "muster:lab:Network"
    computed = (
        "managementCidr",
        "gateway",
        "railCidrs",
        "sshKeyFile",
        "knownHostsFile",
        "problems",
    )
    kept_on_update = frozenset(computed) - {"problems"}
    replace_on = frozenset({"lab"})

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """A network with a missing or changed part is mended."""
        return ["problems"] if state.get("problems") else []

    def preview(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Properties:
        """After the work there are no problems."""
        return {**super().preview(old, new), "problems": []}

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Make the bridges, in an address range that is free on this machine."""
        del name
        progress("bridges, uplinks and rates")
        wish = network_wish(inputs)
        made = network.ensure_network(wish)
        paths = lab_paths(wish.lab)
        return wish.lab, {
            **inputs,
            "managementCidr": made.management_cidr,
            "gateway": made.gateway,
            "railCidrs": list(made.rail_cidrs),
            "sshKeyFile": str(paths.key_file),
            "knownHostsFile": str(paths.known_hosts),
            "problems": [],
        }

    def read(self, resource_id: str, state: Properties) -> Properties:
        """Compare the links and rates with what was asked for."""
        del resource_id
        return {**state, "problems": network.network_problems(network_wish(state))}

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Apply the difference; links that are right stay up."""
        del resource_id, old
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Remove all that is left of the lab; its nodes went before."""
        del state
        progress("links, namespaces, mounts and files")
        teardown.remove_lab(resource_id)


class LabNodeHandler(Handler):
    """One systemd-nspawn node."""

    resource_type = "muster:lab:Node"
    computed = ("serial", "address", "railAddresses", "hostKey", "bootId", "state")
    kept_on_update = frozenset({"serial", "address", "railAddresses", "hostKey"})
    replace_on = frozenset({"lab", "name", "type", "image", "ordinal", "leaf", "managementCidr"})

    def damage(self, state: Mapping[str, Any]) -> list[str]:
        """A dead node is started again; a hung one is left for acceptance to name."""
        return ["state"] if state.get("state") == NodeState.DEAD else []

    def create(self, name: str, inputs: Properties, progress: Progress) -> tuple[str, Properties]:
        """Boot the node, adopting whatever an earlier, killed create left of it."""
        del name
        wish = node_wish(inputs)
        found = network.load_network(lab_paths(wish.lab))
        if found is None:
            raise MusterError("its network is gone", where=wish.name, hint="Run `pulumi refresh`.")
        root = Image(path=Path(inputs["imagePath"]), digest=inputs["image"])
        made = node.ensure_node(wish, found[0], root, found[1], progress)
        return f"{wish.lab}/{wish.name}", {
            **inputs,
            "serial": made.serial,
            "address": made.address,
            "railAddresses": list(made.rail_addresses),
            "hostKey": made.host_key,
            "bootId": made.boot_id,
            "state": str(NodeState.RUNNING),
        }

    def read(self, resource_id: str, state: Properties) -> Properties | None:
        """See whether the node runs, and whether it booted since."""
        del resource_id
        lab, name = state["lab"], state["name"]
        found = node.node_state(lab, name)
        if found is NodeState.ABSENT:
            return None
        if found is not NodeState.RUNNING:
            return {**state, "state": str(found)}
        return {**state, "state": str(found), "bootId": node.boot_id(lab, name)}

    def update(
        self, resource_id: str, old: Properties, inputs: Properties, progress: Progress
    ) -> Properties:
        """Start the node again, or apply what can be changed while it runs."""
        del resource_id, old
        return self.create("", inputs, progress)[1]

    def delete(self, resource_id: str, state: Properties, progress: Progress) -> None:
        """Power the node off and remove its files."""
        del resource_id
        progress("powering off")
        node.remove_node(state["lab"], state["name"])


def network_wish(state: Mapping[str, Any]) -> NetworkWish:
    """Read the wish back from properties."""
    return NetworkWish(
        lab=state["lab"],
        rails=state["rails"],
        rail_rate_mbit=state["railRateMbit"],
        uplink_rate_mbit=state["uplinkRateMbit"],
        leaves={leaf["name"]: tuple(leaf["nodes"]) for leaf in state["leaves"]},
    )


def node_wish(state: Mapping[str, Any]) -> NodeWish:
    """Read the wish back from properties."""
    return NodeWish(
        lab=state["lab"],
        name=state["name"],
        pool=state["pool"],
        type=state["type"],
        ordinal=state["ordinal"],
        leaf=state["leaf"],
        gpu_count=state["gpuCount"],
        gpu_model=state["gpuModel"],
        gpu_memory_mib=state["gpuMemoryMib"],
    )
