"""What lspci and nvme list say."""

from __future__ import annotations

import json
from typing import Any

from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused


def devices(machine: Machine) -> list[dict[str, Any]]:
    """Return the devices on the bus, but those that fell off it."""
    found: list[dict[str, Any]] = machine.state["pci"]
    return [device for device in found if device.get("present", True)]


def _matching(found: list[dict[str, Any]], pattern: str) -> list[dict[str, Any]]:
    """Choose as `-d vendor:device:class` does; an empty part is any."""
    parts = [*pattern.lower().split(":"), "", "", ""][:3]
    fields = ("vendor", "device", "class")
    return [
        device
        for device in found
        if all(
            not part or str(device[field]).startswith(part)
            for field, part in zip(fields, parts, strict=True)
        )
    ]


def lspci(machine: Machine, arguments: list[str]) -> Answer:
    """List the bus: -n numbers, -nn both, -D with domain, -d a choice."""
    known = {"-n", "-nn", "-D", "-d", "-mm", "-Dn", "-Dnn", "-nD", "-nnD"}
    pattern = option(arguments, "-d")
    if {word for word in arguments if word != pattern} - known:
        return refused("lspci", arguments)
    flags = "".join(word.lstrip("-") for word in arguments if word != pattern)
    lines = []
    for device in _matching(devices(machine), pattern):
        slot = device["slot"] if "D" in flags else device["slot"].removeprefix("0000:")
        numbers = f"{device['vendor']}:{device['device']}"
        if "nn" in flags:
            text = f"{device['kind']} [{device['class']}]: {device['name']} [{numbers}]"
        elif "n" in flags:
            text = f"{device['class']}: {numbers}"
        else:
            text = f"{device['kind']}: {device['name']}"
        lines.append(f"{slot} {text}\n")
    return Answer("".join(lines))


def nvme(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `nvme list`, as JSON with -o json."""
    if arguments[:1] != ["list"]:
        return refused("nvme", arguments)
    found = [
        {
            "DevicePath": f"/dev/{disk['name']}",
            "ModelNumber": disk["model"],
            "SerialNumber": disk["serial"],
            "PhysicalSize": disk["bytes"],
            "SectorSize": 512,
        }
        for disk in machine.state["disks"]
        if disk.get("present", True)
    ]
    if option(arguments, "-o", "--output-format") == "json":
        return Answer(json.dumps({"Devices": found}, indent=2) + "\n")
    return Answer("".join(f"{disk['DevicePath']} {disk['ModelNumber']}\n" for disk in found))


TOOLS: Tools = {"lspci": lspci, "nvme": nvme}
