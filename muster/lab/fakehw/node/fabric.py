"""Tools of the fabrics: libfabric, InfiniBand, RoCE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused

_FI_INFO = frozenset({"-p", "-t", "--provider", "--ep_type"})
DRIVERS = {"efa": "efa", "infiniband": "mlx5_ib", "roce": "mlx5_ib"}


def adapters(machine: Machine) -> dict[str, dict[str, Any]]:
    """Return the adapters that the kernel has a driver for, by name."""
    needed = DRIVERS.get(machine.fabric["kind"])
    if needed is None or needed not in machine.loaded:
        return {}
    devices: dict[str, dict[str, Any]] = machine.fabric["devices"]
    return {name: own for name, own in devices.items() if own.get("present", True)}


def fi_info(machine: Machine, arguments: list[str]) -> Answer:
    """List what libfabric has; for EFA one datagram and one reliable endpoint per adapter."""
    version = machine.version_of("fi_info")
    if "--version" in arguments:
        return Answer(f"fi_info: {version}\nlibfabric: {version}\nlibfabric api: 2.0\n")
    if {word for word in arguments if word.startswith("-")} - _FI_INFO:
        return refused("fi_info", arguments)
    provider = option(arguments, "-p", "--provider")
    endpoint = option(arguments, "-t", "--ep_type")
    found = adapters(machine) if machine.fabric["kind"] == "efa" else {}
    if provider not in {"", "efa"} or not found:
        return Answer(err="fi_getinfo: -61 (No data available)\n", status=61)
    lines = []
    for name in found:
        for kind, protocol in (("FI_EP_RDM", "FI_PROTO_EFA"), ("FI_EP_DGRAM", "FI_PROTO_EFA")):
            if endpoint in {"", kind}:
                lines.append(f"provider: efa\n    fabric: efa\n    domain: {name}-rdm\n")
                lines.append(f"    version: 200.0\n    type: {kind}\n    protocol: {protocol}\n")
    return Answer("".join(lines))


def _ports(machine: Machine) -> Iterator[tuple[str, dict[str, Any]]]:
    defaults = {"state": "ACTIVE", "physical": "LinkUp", "rate": 400, "firmware": "28.39.1002"}
    for name, own in adapters(machine).items():
        yield name, {**defaults, **own}


def ibstat(machine: Machine, arguments: list[str]) -> Answer:
    """Describe the adapters of InfiniBand and RoCE."""
    layer = "InfiniBand" if machine.fabric["kind"] == "infiniband" else "Ethernet"
    wanted = [word for word in arguments if not word.startswith("-")]
    lines = []
    for name, port in _ports(machine):
        if wanted and name not in wanted:
            continue
        if "-l" in arguments:
            lines.append(f"{name}\n")
            continue
        state = {"ACTIVE": "Active", "DOWN": "Down", "INIT": "Initializing"}[port["state"]]
        lines += [
            f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: 1\n",
            f"\tFirmware version: {port['firmware']}\n",
            f"\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: {port['physical']}\n",
            f"\t\tRate: {port['rate']}\n\t\tLink layer: {layer}\n",
        ]
    if not lines:
        return Answer(err="ibpanic: [0] main: stat of IB device failed\n", status=255)
    return Answer("".join(lines))


def ibv_devinfo(machine: Machine, arguments: list[str]) -> Answer:
    """Describe the adapters that verbs programs can open."""
    layer = "InfiniBand" if machine.fabric["kind"] == "infiniband" else "Ethernet"
    layer = "Unspecified" if machine.fabric["kind"] == "efa" else layer
    only = option(arguments, "-d", "--ib-dev")
    found = [(name, port) for name, port in _ports(machine) if only in {"", name}]
    if not found:
        return Answer(err="No IB devices found\n", status=255)
    if "-l" in arguments or "--list" in arguments:
        names = "".join(f"\t{name}\n" for name, _ in found)
        return Answer(f"{len(found)} HCAs found:\n{names}\n")
    numbers = {"ACTIVE": 4, "DOWN": 1, "INIT": 2}
    lines = []
    for name, port in found:
        lines += [
            f"hca_id:\t{name}\n\ttransport:\t\t\tInfiniBand (0)\n",
            f"\tfw_ver:\t\t\t\t{port['firmware']}\n\tphys_port_cnt:\t\t\t1\n",
            f"\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_{port['state']} ({numbers[port['state']]})\n",
            f"\t\t\tlink_layer:\t\t{layer}\n\n",
        ]
    return Answer("".join(lines))


def ofed_info(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `ofed_info -s`."""
    if arguments != ["-s"]:
        return refused("ofed_info", arguments)
    return Answer(f"OFED-internal-{machine.version_of('ofed_info')}:\n")


def show_gids(machine: Machine, _arguments: list[str]) -> Answer:
    """List the addresses of the RoCE adapters with their versions."""
    lines = ["DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4\t\tVER\tDEV\n"]
    for name, port in _ports(machine):
        for index, kind in enumerate(port.get("gids", [])):
            lines.append(f"{name}\t1\t{index}\tfe80::\t\t\t\t\t{kind}\t{name}\n")
    return Answer("".join(lines))


TOOLS: Tools = {
    "fi_info": fi_info,
    "ibstat": ibstat,
    "ibv_devinfo": ibv_devinfo,
    "ofed_info": ofed_info,
    "show_gids": show_gids,
}
