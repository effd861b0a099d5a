"""Tools of Lustre: lnetctl, lctl. Counters rise as data goes, on the path that LNet really took."""

from __future__ import annotations

from typing import Any

from muster.lab.fakehw.node import fabric
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


def lctl(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `lctl get_param` and `set_param`, with shell patterns as lctl has them."""
    parameters: dict[str, str] = machine.state["lustre"]["parameters"]
    words = [word for word in arguments[1:] if not word.startswith("-")]
    if arguments[:1] == ["get_param"]:
        return _get(parameters, words, only_value="-n" in arguments)
    if arguments[:1] == ["set_param"]:
        for word in words:
            name, _, value = word.partition("=")
            parameters[name] = value
        machine.save()
        return Answer("".join(f"{word}\n" for word in words))
    return refused("lctl", arguments)


def _get(parameters: dict[str, str], words: list[str], *, only_value: bool) -> Answer:
    lines = []
    for word in words:
        if word not in parameters:
            message = f"error: get_param: param_path '{word}': No such file or directory\n"
            return Answer(err=message, status=2)
        lines.append(f"{parameters[word]}\n" if only_value else f"{word}={parameters[word]}\n")
    return Answer("".join(lines))


TOOLS: Tools = {"lnetctl": lnetctl, "lctl": lctl}
