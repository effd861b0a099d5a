"""Tools of Lustre: lnetctl, lctl. Counters rise as data goes, on the path that LNet really took."""

from __future__ import annotations

from typing import Any

from muster.lab.fakehw.node import fabric, kernel
from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused


def _networks(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = machine.state["lustre"]["networks"]
    return found


def lnetctl(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `lnetctl net show [-v] [--net NET]`, and configure networks."""
    words = [word for word in arguments if not word.startswith("-")]
    if words[:2] == ["net", "show"]:
        return _show(machine, option(arguments, "--net"))
    if words[:2] == ["net", "add"]:
        return _add(machine, option(arguments, "--net"), option(arguments, "--if"))
    if words[:2] == ["net", "del"]:
        _networks(machine).pop(option(arguments, "--net"), None)
        machine.save()
        return Answer()
    if words[:2] == ["lnet", "configure"]:
        if "lnet" not in machine.loaded:
            return Answer(err="configure:\n    - lnet:\n          errno: -2\n", status=254)
        return Answer()
    return refused("lnetctl", arguments)


def _show(machine: Machine, only: str) -> Answer:
    if "lnet" not in machine.loaded:
        return Answer(err="show:\n    - net:\n          errno: -22\n", status=234)
    lines = ["net:\n"]
    for network, interfaces in _networks(machine).items():
        if only not in {"", network}:
            continue
        lines.append(f"    - net type: {network}\n      local NI(s):\n")
        for number, interface in enumerate(interfaces):
            lines += [
                f"        - nid: 10.0.0.{number + 1}@{network}\n          status: up\n",
                f"          interfaces:\n              0: {interface['name']}\n",
                "          statistics:\n",
                f"              send_count: {interface['sent']}\n",
                f"              recv_count: {interface['received']}\n",
                f"              drop_count: {interface.get('dropped', 0)}\n",
            ]
    return Answer("".join(lines))


def _add(machine: Machine, network: str, interface: str) -> Answer:
    if network == "efa" and interface not in fabric.adapters(machine):
        return Answer(err="add:\n    - net:\n          errno: -19\n", status=237)
    fresh = {"name": interface, "sent": 0, "received": 0}
    _networks(machine).setdefault(network, []).append(fresh)
    machine.save()
    return Answer()


def moved(machine: Machine, messages: int) -> None:
    """Count data that went to and from the servers: over EFA if it is configured, else TCP."""
    networks = _networks(machine)
    broken = machine.state["lustre"].get("falls_back", False)
    used = networks.get("efa") if networks.get("efa") and not broken else networks.get("tcp", [])
    for interface in used or []:
        interface["sent"] += messages
        interface["received"] += messages
    machine.save()


def mount(machine: Machine) -> str:
    """Mount what the state names; returns why that failed. What was tuned before is forgotten."""
    given = kernel.modprobe(machine, ["lustre"])
    if given.status:
        return given.err
    state = machine.state["lustre"]
    kernel.modprobe(machine, ["ksocklnd"])
    _networks(machine).setdefault("tcp", [{"name": "mgmt0", "sent": 0, "received": 0}])
    state["mounted"], state["parameters"] = list(state["mounts"]), {}
    machine.save()
    return ""


def lfs(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `lfs df PATH`: it asks every server, and that is counted."""
    if arguments[:1] != ["df"]:
        return refused("lfs", arguments)
    paths = arguments[1:]
    if not set(paths) <= set(machine.state["lustre"].get("mounted", [])):
        return Answer(err=f"lfs df: {' '.join(paths)}: not a Lustre file system\n", status=2)
    moved(machine, 4)
    return Answer("".join(f"filesystem_summary: 1 1 1 1% {path}\n" for path in paths))


def lctl(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `lctl get_param` and `set_param`; a pattern stands for the one mount's parameter."""
    parameters: dict[str, str] = machine.state["lustre"]["parameters"]
    words = [word for word in arguments[1:] if not word.startswith("-")]
    if arguments[:1] not in (["get_param"], ["set_param"]):
        return refused("lctl", arguments)
    if not machine.state["lustre"].get("mounted"):
        message = f"error: {arguments[0]}: param_path '{words[0]}': No such file or directory\n"
        return Answer(err=message, status=2)
    if arguments[0] == "set_param":
        split = (word.partition("=") for word in words)
        parameters.update({name: value for name, _, value in split})
        machine.save()
        return Answer("".join(f"{word}\n" for word in words))
    named = {word.replace("*", "lab-0000"): parameters.get(word, "1") for word in words}
    plain = "-n" in arguments
    return Answer("".join(f"{v}\n" if plain else f"{k}={v}\n" for k, v in named.items()))


TOOLS: Tools = {"lnetctl": lnetctl, "lctl": lctl, "lfs": lfs}
