# ruff: noqa: INP001  Ansible finds filters by folder, not by package
"""What is wrong with a node's fabric, from what its commands said. Pure.

Each filter returns one line per problem. Output that is missing, cut short or not understood is a
problem too: nothing passes because nothing was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Result = Mapping[str, Any]
"""What Ansible registers for a command."""

_PORT = re.compile(r"/([^/:]+)/ports/(\d+)/(state|phys_state|rate|link_layer):(.*)$")
_RATE = re.compile(r"^(\d+(?:\.\d+)?) Gb/sec")
_GID = re.compile(r"/([^/:]+)/ports/(\d+)/(gid_attrs/types|gids)/(\d+):(.*)$")
_NO_GID = re.compile(r"^[0:]*$")
_TRAFFIC_CLASS = re.compile(r"/([^/:]+)/tc/\d+/traffic_class:(.*)$")


def failure_of(name: str, result: Result) -> str:
    """Return why the command said nothing that counts; empty where it went well."""
    code = result.get("rc")
    if code == 0:
        return ""
    if str(result.get("msg") or "").startswith("Error executing command"):
        return f"{name} cannot be run: is it installed?"
    said = str(result.get("stderr") or result.get("msg") or result.get("stdout") or "nothing")
    return f"{name} ended with status {code} and said: {' '.join(said.split())[:200]}"


def efa_problems(fi_info: Result, devices: int) -> list[str]:
    """Return what is wrong with the EFA devices that libfabric offers."""
    bad = failure_of("fi_info -p efa", fi_info)
    if bad:
        return [f"{bad}; expected {devices} EFA devices"]
    found = set(re.findall(r"^\s*domain:\s*(\S+)", fi_info["stdout"], re.MULTILINE))
    if len(found) == devices:
        return []
    return [f"libfabric offers {len(found)} EFA devices, expected {devices}"]


def installer_problems(read: Result, version: str) -> list[str]:
    """Return what is wrong with the version that the installer noted."""
    found = str(read.get("stdout") or "").strip()
    if version and found == version:
        return []
    return [f"EFA installer {found or 'unknown'} ran, expected {version or 'a known version'}"]


def modinfo_fields(text: str) -> dict[str, str]:
    """Return the fields of modinfo's output; the first of those that repeat."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    return fields


def module_problems(
    modinfo: Result, name: str, kernel: Result, lsmod: Result, loaded_version: Result
) -> list[str]:
    """Return what is wrong between the installed module, the loaded one and the kernel.

    loaded_version is what /sys/module/<name>/version says; a module without a version has none.
    """
    commands = {f"modinfo {name}": modinfo, "uname -r": kernel, "lsmod": lsmod}
    failures = [bad for said, result in commands.items() if (bad := failure_of(said, result))]
    if failures:
        return failures
    fields = modinfo_fields(modinfo["stdout"])
    running = kernel["stdout"].strip()
    built_for = (fields.get("vermagic") or "unknown").split()[0]
    problems = []
    if built_for != running:
        problems.append(f"module {name} is built for kernel {built_for}, {running} runs")
    loaded = {line.split()[0] for line in lsmod["stdout"].splitlines()[1:] if line.split()}
    if name.replace("-", "_") not in loaded:
        return [*problems, f"module {name} is not loaded"]
    installed = fields.get("version", "")
    answer = str(loaded_version.get("stdout") or "").strip()
    if answer != installed:
        problems.append(
            f"module {name} {answer or 'of unknown version'} is loaded, "
            f"{installed or 'one without a version'} is installed: reboot"
        )
    return problems


def ports_of(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of each port, by "device/port", from lines "path:content"."""
    ports: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match = _PORT.search(line)
        if match:
            device, port, field, value = match.groups()
            ports.setdefault(f"{device}/{port}", {})[field] = value.strip()
    return ports


def port_problems(read: Result, devices: int, link_layer: str, rate_gbps: float = 0) -> list[str]:
    """Return what is wrong with the ports of one kind: their number, state and rate.

    Ports of another kind are left out: an HGX B200 has two that belong to NVLink.
    """
    bad = failure_of("reading class/infiniband", read)
    if bad and not read.get("stdout"):
        return [f"{bad}; expected {devices} {link_layer} ports"]
    ports = ports_of(read["stdout"])
    unknown = [
        f"port {p}: link layer is not known" for p, f in ports.items() if "link_layer" not in f
    ]
    ours = {p: f for p, f in ports.items() if f.get("link_layer") == link_layer}
    problems = unknown
    if len(ours) != devices:
        problems.append(f"{len(ours)} {link_layer} ports are there, expected {devices}")
    for name, fields in sorted(ours.items()):
        state = fields.get("state") or "unknown"
        if not state.endswith(": ACTIVE"):
            physical = fields.get("phys_state") or "unknown"
            problems.append(f"port {name}: state is {state} ({physical}), expected 4: ACTIVE")
        rate = _RATE.match(fields.get("rate", ""))
        if rate_gbps and (rate is None or float(rate[1]) < rate_gbps):
            found = fields.get("rate") or "unknown"
            problems.append(f"port {name}: rate is {found}, expected {rate_gbps:g} Gb/sec")
    return problems


def roce_problems(read: Result, devices: int, gid_index: int, traffic_class: int = 0) -> list[str]:
    """Return the devices whose GID at this index is not RoCE v2, or whose class differs."""
    text = str(read.get("stdout") or "")
    types: dict[str, str] = {}
    gids: dict[str, str] = {}
    for match in filter(None, map(_GID.search, text.splitlines())):
        device, port, kind, index, value = match.groups()
        if int(index) == gid_index:
            (gids if kind == "gids" else types)[f"{device}/{port}"] = value.strip()
    problems = []
    if len(types) != devices:
        problems.append(f"{len(types)} ports have a GID {gid_index}, expected {devices}")
    for port, kind in sorted(types.items()):
        if kind != "RoCE v2":
            problems.append(
                f"port {port}: GID {gid_index} is {kind or 'unknown'}, expected RoCE v2"
            )
        if _NO_GID.match(gids.get(port, "")):
            problems.append(f"port {port}: GID {gid_index} is empty, expected an address")
    return problems + (_class_problems(text, devices, traffic_class) if traffic_class else [])


def _class_problems(text: str, devices: int, wanted: int) -> list[str]:
    found = {
        m[1]: m[2].strip() for m in filter(None, map(_TRAFFIC_CLASS.search, text.splitlines()))
    }
    problems = [
        f"{device}: traffic class is {value or 'unknown'}, expected {wanted}"
        for device, value in sorted(found.items())
        if value.removeprefix("Global tclass=") != str(wanted)
    ]
    if len(found) != devices:
        problems.append(f"{len(found)} devices have a traffic class, expected {devices}")
    return problems


def ofed_problems(ofed_info: Result, version: str) -> list[str]:
    """Return what is wrong with the version that ofed_info names ("OFED-internal-25.10-1:")."""
    bad = failure_of("ofed_info -s", ofed_info)
    if bad:
        return [f"{bad}; expected {version}"]
    found = ofed_info["stdout"].strip().rstrip(":")
    return [] if found.endswith(version) else [f"OFED is {found or 'unknown'}, expected {version}"]


def fabric_metrics_problems(said: Result, devices: int) -> list[str]:
    """Return what is wrong with the metrics that our exporter writes."""
    bad = failure_of("muster-fabric-metrics", said)
    if bad:
        return [bad]
    lines = said["stdout"].splitlines()
    if "# EOF" not in lines:
        return ["the fabric's metrics are cut short: they do not end with # EOF"]
    counted = {
        m[1]
        for line in lines
        if (m := re.match(r'muster_fabric_counter_total\{device="([^"]+)"', line))
    }
    if len(counted) >= devices:
        return []
    return [f"{len(counted)} fabric devices have counters, expected {devices}"]


class FilterModule:
    """The filters, as Ansible asks for them."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {
            "efa_problems": efa_problems,
            "installer_problems": installer_problems,
            "fabric_metrics_problems": fabric_metrics_problems,
            "module_problems": module_problems,
            "ofed_problems": ofed_problems,
            "port_problems": port_problems,
            "roce_problems": roce_problems,
        }
