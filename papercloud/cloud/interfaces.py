"""Network interfaces of instances as they were asked for, each on its card; moto has only one."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.elastic_network_interfaces import Attachment, NetworkInterface

from papercloud.cloud.asked import Asked
from papercloud.cloud.world import World

_DEVICES_PER_CARD = 16


class CardInterface(NetworkInterface):
    """An interface that knows its network card."""

    network_card_index: int = 0

    @property
    def attachment(self) -> Attachment | None:
        """How it is attached, with its card."""
        found = super().attachment
        if found is not None:
            found.network_card_index = self.network_card_index
        return found


def primary(wanted: Asked) -> dict[str, Any]:
    """Return the interface on card 0 with device 0 as asked for; empty for AWS' own."""
    for row in wanted.interfaces:
        if not row.get("NetworkCardIndex") and row.get("DeviceIndex") == 0:
            return row
    return {}


def addresses(wanted: Asked) -> int:
    """Return how many private addresses each instance takes."""
    asked_for = [row for row in wanted.interfaces if row.get("InterfaceType") != "efa-only"]
    return len(asked_for) or 1


def attach(world: World, wanted: Asked, instance: Any) -> None:
    """Give an instance the interfaces that were asked for beside its primary one."""
    tags = wanted.tags("network-interface")
    first = instance.nics[0]
    first.__class__ = CardInterface
    first.interface_type = _type(primary(wanted))
    first.delete_on_termination = primary(wanted).get("DeleteOnTermination", True)
    first.add_tags(tags)
    for row in wanted.interfaces:
        card, device = row.get("NetworkCardIndex") or 0, row["DeviceIndex"]
        if (card, device) == (0, 0):
            continue
        made = _make(world, wanted, instance, row)
        made.__class__ = CardInterface
        made.network_card_index = card
        made.add_tags(tags)
        # moto finds interfaces by device alone; the true index is set afterwards.
        instance.attach_eni(made, card * _DEVICES_PER_CARD + device)
        made.device_index = device


def _make(world: World, wanted: Asked, instance: Any, row: dict[str, Any]) -> Any:
    subnet = world.backend("ec2").get_subnet(row.get("SubnetId") or instance.subnet_id)
    has_address = row.get("InterfaceType") != "efa-only"
    address = subnet.get_available_subnet_ip(instance=instance) if has_address else None
    groups = row.get("Groups") or primary(wanted).get("Groups") or ()
    made = world.backend("ec2").create_network_interface(
        subnet,
        address,
        device_index=row["DeviceIndex"],
        group_ids=list(groups),
        delete_on_termination=row.get("DeleteOnTermination", True),
        description=row.get("Description", ""),
    )
    made.interface_type = _type(row)
    if not has_address:
        made.private_ip_address, made.private_ip_addresses = None, []
        made.private_dns_name = None
    return made


def _type(row: dict[str, Any]) -> str:
    return str(row.get("InterfaceType") or "interface")
