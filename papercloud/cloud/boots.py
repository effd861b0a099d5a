"""Instances from pending to running and to terminated, with a machine behind them or without."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from moto.ec2.models.instances import InstanceState, StateReason

from papercloud.cloud.asked import Asked
from papercloud.cloud.calls import ticks
from papercloud.cloud.interfaces import addresses
from papercloud.cloud.live import GONE
from papercloud.cloud.machines import Launch, Machine
from papercloud.cloud.world import World

_PENDING, _RUNNING, _TERMINATED = 0, 16, 48


@dataclass
class Boot:
    """What is known of an instance beside moto's own."""

    begun: datetime
    running_at: datetime | None
    """None while a machine boots: nobody knows when it will run."""
    console: str
    has_machine: bool = False
    network_nodes: tuple[str, ...] = ()


@dataclass
class Boots:
    """All instances that ever were, by id."""

    by_id: dict[str, Boot] = field(default_factory=dict)


def boot_of(world: World, instance_id: str) -> Boot | None:
    """Return what is known of an instance."""
    return world.state(Boots).by_id.get(instance_id)


def begin(world: World, wanted: Asked, instance: Any) -> None:
    """Let a new instance boot: in its machine if its type has one, else after some time."""
    machines = world.machines
    has_machine = machines is not None and machines.offers(wanted.type)
    delay = timedelta(seconds=world.scenario.instance_start_s)
    boot = Boot(
        begun=world.now(),
        running_at=None if has_machine else world.now() + delay,
        console="" if has_machine else _console(instance),
        has_machine=has_machine,
    )
    world.state(Boots).by_id[instance.id] = boot
    if has_machine or delay:
        _set_state(instance, "pending", _PENDING)
    if has_machine:
        launch = Launch(
            instance_id=instance.id,
            instance_type=wanted.type,
            pool_tags=wanted.tags("instance"),
            user_data=_text(instance.user_data),
            interfaces=addresses(wanted),
        )
        name = f"papercloud-{instance.id}"
        threading.Thread(target=_boot, args=(world, launch), name=name, daemon=True).start()


@ticks
def run_when_due(world: World) -> None:
    """Let those run whose time has come."""
    for instance in world.backend("ec2").all_instances():
        boot = boot_of(world, instance.id)
        due = boot is not None and boot.running_at is not None and boot.running_at <= world.now()
        if due and instance.state == "pending":
            _set_state(instance, "running", _RUNNING)


def terminate(world: World, instance_ids: Iterable[str], code: str, message: str) -> None:
    """End instances, and the machines behind them; `code` and `message` say who wanted it."""
    wanted = set(instance_ids)
    for instance in world.backend("ec2").all_instances():
        if instance.id not in wanted or instance.state in GONE:
            continue
        instance.terminate()
        _set_state(instance, "terminated", _TERMINATED)
        instance.state_reason = StateReason(f"{code}: {message}", code)
        boot = boot_of(world, instance.id)
        machines = world.machines
        if boot and boot.has_machine and machines is not None:
            name = f"papercloud-{instance.id}-end"
            threading.Thread(
                target=machines.stop, args=(instance.id,), name=name, daemon=True
            ).start()


def _boot(world: World, launch: Launch) -> None:
    machines = world.machines
    if machines is None:
        return
    try:
        machine = machines.start(launch)
    except Exception as error:  # noqa: BLE001  # whatever it is, the instance did not start
        with world.lock:
            terminate(world, [launch.instance_id], "Server.InternalError", str(error))
        return
    with world.lock:
        ended = _up(world, launch, machine)
    if ended:
        machines.stop(launch.instance_id)  # it was terminated while it booted


def _up(world: World, launch: Launch, machine: Machine) -> bool:
    """Note that a machine runs; say whether its instance was ended meanwhile."""
    instance = world.backend("ec2").get_instance(launch.instance_id)
    boot = boot_of(world, instance.id)
    if boot is None or instance.state in GONE:
        return True
    boot.console, boot.network_nodes = machine.console, machine.network_nodes
    boot.running_at = world.now()
    with_address = [nic for nic in instance.nics.values() if nic.private_ip_address]
    for nic, address in zip(with_address, machine.addresses or (), strict=False):
        nic.private_ip_address = address
        nic.private_ip_addresses = [{"Primary": True, "PrivateIpAddress": address}]
    _set_state(instance, "running", _RUNNING)
    return False


def _set_state(instance: Any, name: str, code: int) -> None:
    instance._state = InstanceState(name, code)  # noqa: SLF001  # moto has no setter


def _text(user_data: Any) -> str:
    if not user_data:
        return ""
    return base64.b64decode(str(user_data)).decode("utf-8", errors="replace")


def _console(instance: Any) -> str:
    """Write what cloud-init writes at its end, with a host key that was made for this instance."""
    key = Ed25519PrivateKey.generate().public_key()
    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    host = f"root@ip-{str(instance.private_ip_address).replace('.', '-')}"
    return "\r\n".join(
        (
            "[    0.000000] Linux version (paper cloud: simulated)",
            "-----BEGIN SSH HOST KEY KEYS-----",
            f"{line} {host}",
            "-----END SSH HOST KEY KEYS-----",
            "Cloud-init finished.",
            "",
        )
    )
