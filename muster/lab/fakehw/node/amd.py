"""Tools of AMD: rocm-smi, amd-smi, rocminfo."""

from __future__ import annotations

import json
from typing import Any

from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused


def driver(machine: Machine) -> str:
    """Version of the driver that is loaded; empty without one."""
    return str(machine.loaded.get("amdgpu", {}).get("version", ""))


def present(machine: Machine) -> list[int]:
    """Positions of the GPUs that the driver sees."""
    if machine.gpu["vendor"] != "amd" or "amdgpu" not in machine.loaded:
        return []
    own = machine.gpu.get("gpus", {})
    numbers = range(int(machine.gpu["count"]))
    return [i for i in numbers if own.get(str(i), {}).get("state") not in {"lost", "absent"}]


def rocm_smi(machine: Machine, arguments: list[str]) -> Answer:
    """Answer with what was asked of each GPU, as text or with --json."""
    found = present(machine)
    if not found:
        return Answer("ERROR:root:Driver not initialized (amdgpu not found in modules)\n", status=1)
    facts: dict[str, dict[str, Any]] = {}
    for number in found:
        card = {"GUID": str(1000 + number), "Device Name": machine.gpu["model"]}
        if "--showproductname" in arguments:
            card["Card Series"] = machine.gpu["model"]
        if "--showmeminfo" in arguments:
            card["VRAM Total Memory (B)"] = str(int(machine.gpu["memory_mib"]) << 20)
        facts[f"card{number}"] = card
    if "--showdriverversion" in arguments:
        facts["system"] = {"Driver version": driver(machine)}
    if "--json" in arguments:
        return Answer(json.dumps(facts) + "\n")
    lines = ["============ ROCm System Management Interface ============\n"]
    for name, card in facts.items():
        where = f"GPU[{name.removeprefix('card')}]\t\t: " if name != "system" else ""
        lines += [f"{where}{key}: \t\t{value}\n" for key, value in card.items()]
    return Answer("".join(lines))


def amd_smi(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `amd-smi version`, `list` and `static`, as text or with --json."""
    if arguments[:1] == ["version"]:
        return _versions(machine, as_json="--json" in arguments)
    found = present(machine)
    if not found:
        err = "amdsmi.amdsmi_exception.AmdSmiLibraryException: AMDSMI_STATUS_DRIVER_NOT_LOADED\n"
        return Answer(err=err, status=1)
    if arguments[:1] not in (["list"], ["static"]):
        return refused("amd-smi", arguments)
    cards = [_card(machine, number) for number in found]
    wanted = option(arguments, "-g", "--gpu")
    if wanted and wanted != "all":
        cards = [card for card in cards if str(card["gpu"]) == wanted]
    if "--json" in arguments:
        return Answer(json.dumps(cards) + "\n")
    return Answer("".join(f"GPU: {c['gpu']}\n    BDF: {c['bdf']}\n" for c in cards))


def _versions(machine: Machine, *, as_json: bool) -> Answer:
    facts = {
        "tool": "AMDSMI Tool",
        "version": machine.version_of("amd-smi"),
        "rocm_version": machine.version_of("rocm-smi"),
        "amdgpu_version": driver(machine) or "N/A",
    }
    if as_json:
        return Answer(json.dumps([facts]) + "\n")
    return Answer(" | ".join(f"{key}: {value}" for key, value in facts.items()) + "\n")


def _card(machine: Machine, number: int) -> dict[str, Any]:
    return {
        "gpu": number,
        "bdf": f"0000:{(number + 1) * 0x10:02x}:00.0",
        "asic": {"market_name": machine.gpu["model"]},
        "driver": {"name": "amdgpu", "version": driver(machine)},
    }


def rocminfo(machine: Machine, _arguments: list[str]) -> Answer:
    """List an agent for each GPU."""
    found = present(machine)
    if not found:
        return Answer("ROCk module is NOT loaded, possibly no GPU devices\n", status=1)
    lines = ["ROCk module is loaded\n"]
    for number in found:
        lines.append(f"Agent {number + 1}\n  Marketing Name:          {machine.gpu['model']}\n")
        lines.append("  Device Type:             GPU\n")
    return Answer("".join(lines))


TOOLS: Tools = {"rocm-smi": rocm_smi, "amd-smi": amd_smi, "rocminfo": rocminfo}
