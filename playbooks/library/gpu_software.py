# ruff: noqa: INP001  Ansible finds modules by folder, not by package
"""Read the GPU software of a node back from the live system, and say what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gpu_software
short_description: Reads the GPU software back and fails where it is not what is wanted
description:
  - Changes nothing. Every finding is one sentence; together they are the line that it fails with.
  - What cannot be read, or is cut short, is a finding as well.
options:
  part:
    description: What to read back.
    type: str
    required: true
    choices: [nvidia_driver, nvidia_fabric, cuda, dcgm, container_toolkit, gdrcopy, rocm]
  expected:
    description: What is wanted; the keys are those of the part. An empty value is not compared.
    type: dict
    default: {}
  procfs:
    description: Where procfs is mounted.
    type: str
    default: /proc
  sysfs:
    description: Where sysfs is mounted.
    type: str
    default: /sys
author: muster
"""

EXAMPLES = r"""
- name: Read the driver back
  gpu_software:
    part: nvidia_driver
    expected: {version: 580.126.20, open: true, gpus: 8}
"""

_TIMEOUT_S = 60
_TIMED_OUT, _NOT_FOUND = 124, 127
_VERSION = r"(\d+(?:\.\d+)+)"
# Class codes of lspci: display, 3D, other display, processing accelerator.
_GPU_CLASSES = ("0300", "0302", "0380", "1200")
_VENDORS = {"NVIDIA": "10de", "AMD": "1002"}

Run = Callable[[Sequence[str]], tuple[int, str]]
Read = Callable[[str], str]


class UnreadableError(Exception):
    """What could not be read, so that nothing can be said of it."""


@dataclass(frozen=True)
class Node:
    """Answers of the live system."""

    run: Run
    """Runs a command; returns its exit status, and both outputs."""
    read: Read
    """Returns a file below `procfs` or `sysfs`, empty where there is none."""

    def ask(self, *argv: str) -> str:
        """Return what a command says; it must succeed and say something."""
        status, said = self.run(argv)
        line = " ".join(said.split())[:200]
        if status == _NOT_FOUND:
            message = f"{argv[0]} is not there"
        elif status == _TIMED_OUT:
            message = f"`{' '.join(argv)}` did not answer in {_TIMEOUT_S} s"
        elif status:
            message = f"`{' '.join(argv)}` failed with {status}: {line}"
        elif not line:
            message = f"`{' '.join(argv)}` said nothing"
        else:
            return said
        raise UnreadableError(message)

    def find(self, pattern: str, *argv: str) -> str:
        """Return what a pattern finds in what a command says."""
        found = re.search(pattern, self.ask(*argv), re.MULTILINE)
        if not found:
            message = f"`{' '.join(argv)}` does not say what is asked for (cut short?)"
            raise UnreadableError(message)
        return found[1]

    def modules(self) -> frozenset[str]:
        """Return the names of the loaded kernel modules."""
        lines = self.ask("lsmod").splitlines()
        if not lines[0].startswith("Module"):
            message = "`lsmod` has no heading (cut short?)"
            raise UnreadableError(message)
        return frozenset(line.split()[0] for line in lines[1:] if line.strip())

    def active(self, *units: str) -> list[str]:
        """Say which units do not run."""
        found = []
        for unit in units:
            _, said = self.run(["systemctl", "is-active", unit])
            state = said.strip() or "unknown"
            found += [] if state == "active" else [f"{unit} is {state}, not active"]
        return found

    def gpus_on_bus(self, maker: str) -> int:
        """Count the GPUs of a maker that the PCI bus shows."""
        vendor = _VENDORS[maker]
        _, said = self.run(["lspci", "-n", "-d", f"{vendor}:"])
        classes = re.findall(rf"^\S+ ([0-9a-f]{{4}}): {vendor}:", said, re.MULTILINE)
        count = sum(found in _GPU_CLASSES for found in classes)
        if not count:
            message = f"lspci shows no GPU of {maker}"
            raise UnreadableError(message)
        return count

    def module_on_disk(self, name: str) -> str:
        """Return the version of a module that the running kernel would load."""
        status, said = self.run(["modinfo", "-F", "version", name])
        if status or not said.strip():
            kernel = self.ask("uname", "-r").strip()
            message = (
                f"no module {name} for the running kernel {kernel}:"
                " build it for this kernel, or boot the kernel that it was built for"
            )
            raise UnreadableError(message)
        return said.split()[0]

    def nvidia_loaded(self) -> tuple[str, bool]:
        """Return the version of the driver that is loaded, and whether it is the open one."""
        said = self.read("procfs/driver/nvidia/version")
        found = re.search(rf"^NVRM version: (.*?)\s{_VERSION}\s", said, re.MULTILINE)
        if not found:
            message = "no NVIDIA driver is loaded (driver/nvidia/version of procfs)"
            raise UnreadableError(message)
        return found[2], "Open Kernel Module" in found[1]


Expected = Mapping[str, Any]
Check = Callable[[Node, Expected], list[str]]


def _differ(what: str, found: str, wanted: str) -> list[str]:
    return [f"{what} is {found}, expected {wanted}"] if wanted and found != wanted else []


def _counts(node: Node, maker: str, seen: int, by: str, wanted: object = 0) -> list[str]:
    on_bus = node.gpus_on_bus(maker)
    found = [f"{by} {seen} GPUs, {on_bus} are on the bus"] if seen != on_bus else []
    if wanted and on_bus != wanted:
        found.append(f"{on_bus} GPUs are on the bus, expected {wanted}")
    return found


def _not_loaded(what: str, loaded: str, installed: str) -> list[str]:
    if loaded == installed:
        return []
    return [f"{what} {loaded} is loaded, {installed} is installed: reboot"]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def driver_versions(node: Node, expected: Expected) -> list[str]:
    """What is wanted, on disk and loaded are the same."""
    installed = node.module_on_disk("nvidia")
    found = _differ("driver on disk", installed, expected.get("version", ""))
    loaded, is_open = node.nvidia_loaded()
    found += _not_loaded("driver", loaded, installed)
    if "open" in expected and is_open != expected["open"]:
        kinds = {True: "open", False: "closed"}
        wanted = kinds[bool(expected["open"])]
        found.append(f"the {kinds[is_open]} NVIDIA module is loaded, expected the {wanted} one")
    return found


def driver_runs(node: Node, expected: Expected) -> list[str]:
    """The daemon and every module that programs need is there, and not what holds the GPUs."""
    loaded, found = node.modules(), node.active("nvidia-persistenced")
    if "nouveau" in loaded:
        found.append("nouveau is loaded, so the NVIDIA driver has no GPU: reboot")
    missing = [name for name in expected.get("modules", ()) if name not in loaded]
    return found + [f"module {name} is not loaded" for name in missing]


def driver_gpus(node: Node, expected: Expected) -> list[str]:
    """Every GPU of the bus answers, and is kept initialised."""
    query = "--query-gpu=index,driver_version,persistence_mode"
    said = node.ask("nvidia-smi", query, "--format=csv,noheader")
    rows = [[field.strip() for field in line.split(",")] for line in said.strip().splitlines()]
    bad = [row for row in rows if len(row) != 3 or not row[0].isdigit()]  # noqa: PLR2004 the three of the query
    if bad:
        return [f"nvidia-smi says `{', '.join(bad[0])}` (cut short?)"]
    found = _counts(node, "NVIDIA", len(rows), "the driver sees", expected.get("gpus"))
    off = [row[0] for row in rows if row[2] != "Enabled"]
    return found + ([f"persistence mode is off on GPU {', '.join(off)}"] if off else [])


def fabric_manager(node: Node, expected: Expected) -> list[str]:
    """The fabric manager runs, and has the version of the driver that is loaded."""
    if not expected.get("nvswitch"):
        return []
    version = node.find(rf"(?i)version is\s*:\s*{_VERSION}", "nv-fabricmanager", "--version")
    loaded, _ = node.nvidia_loaded()
    found = _differ("fabric manager", version, expected.get("version", ""))
    if version != loaded:
        found.append(
            f"fabric manager {version} is installed, driver {loaded} is loaded:"
            " they must be the same version"
        )
    return found + node.active("nvidia-fabricmanager")


def fabric_state(node: Node, expected: Expected) -> list[str]:
    """Every GPU has joined the NVLink fabric."""
    if not expected.get("reports_state"):
        return []
    gpus = re.split(r"^GPU [0-9A-Fa-f]+:", node.ask("nvidia-smi", "-q"), flags=re.MULTILINE)[1:]
    found = _counts(node, "NVIDIA", len(gpus), "nvidia-smi -q tells of")
    pattern = r"^\s+Fabric\n\s+State\s+: (.+)\n\s+Status\s+: (.+)$"
    for index, text in enumerate(gpus):
        state = re.search(pattern, text, re.MULTILINE)
        said = f"{state[1].strip()}/{state[2].strip()}" if state else "not said"
        if said != "Completed/Success":
            found.append(f"NVLink fabric of GPU {index} is {said}, expected Completed/Success")
    return found


def imex(node: Node, expected: Expected) -> list[str]:
    """IMEX runs and reaches the other nodes of the NVLink domain."""
    if not expected.get("imex"):
        return []
    found = node.active("nvidia-imex")
    state = node.ask("nvidia-imex-ctl", "-q").strip()
    found += _differ("IMEX", state, "READY")
    wanted = sorted(expected.get("imex_nodes", ()))
    listed = sorted(node.ask("cat", "/etc/nvidia-imex/nodes_config.cfg").split())
    return found + _differ("IMEX's list of nodes", ", ".join(listed), ", ".join(wanted))


def cuda_toolkit(node: Node, expected: Expected) -> list[str]:
    """The compiler has the version of the row, and the driver is new enough for it."""
    version = node.find(rf"release {_VERSION}", "nvcc", "--version")
    wanted = ".".join(str(expected.get("version", "")).split(".")[:2])
    found = _differ("CUDA toolkit", version, wanted)
    of_driver = node.find(rf"^CUDA Version\s*: {_VERSION}", "nvidia-smi", "-q")
    if int(of_driver.split(".")[0]) < int(version.split(".")[0]):
        found.append(f"CUDA {version} is installed, the loaded driver is for CUDA {of_driver}")
    least, (loaded, _) = str(expected.get("minimum_driver", "")), node.nvidia_loaded()
    if least and _numbers(loaded) < _numbers(least):
        found.append(f"driver {loaded} is loaded, CUDA needs {least} or newer")
    return found


def dcgm(node: Node, expected: Expected) -> list[str]:
    """The host engine runs and sees every GPU."""
    version = node.find(rf"(?i)version\s*:\s*{_VERSION}", "dcgmi", "--version")
    found = _differ("DCGM", version, expected.get("version", "")) + node.active("nvidia-dcgm")
    if found:
        return found
    seen = int(node.find(r"^(\d+) GPUs? found", "dcgmi", "discovery", "-l"))
    return _counts(node, "NVIDIA", seen, "DCGM sees")


def toolkit(node: Node, expected: Expected) -> list[str]:
    """The toolkit is the row's, and gives containers the libraries of the driver that is loaded."""
    version = node.find(rf"version {_VERSION}", "nvidia-ctk", "--version")
    found = _differ("container toolkit", version, expected.get("version", ""))
    libraries = node.find(rf"^NVRM version:\s+{_VERSION}", "nvidia-container-cli", "info")
    loaded, _ = node.nvidia_loaded()
    if libraries != loaded:
        found.append(f"containers get libraries of driver {libraries}, {loaded} is loaded")
    return found


def toolkit_devices(node: Node, expected: Expected) -> list[str]:
    """The CDI specification names every GPU."""
    if not expected.get("cdi"):
        return []
    said = node.ask("nvidia-ctk", "cdi", "list")
    listed = re.findall(r"nvidia\.com/gpu=(\d+)\s*$", said, re.MULTILINE)
    return _counts(node, "NVIDIA", len(set(listed)), "the CDI specification has")


def gdrdrv(node: Node, expected: Expected) -> list[str]:
    """The module of GDRCopy is there for this kernel, and loaded."""
    installed = node.module_on_disk("gdrdrv")
    # The module counts its own patch releases.
    wanted = ".".join(str(expected.get("version", "")).split(".")[:2])
    found = _differ("gdrdrv on disk", ".".join(installed.split(".")[:2]), wanted)
    if "gdrdrv" not in node.modules():
        return [*found, "module gdrdrv is not loaded"]
    loaded = node.read("sysfs/module/gdrdrv/version").strip() or "unknown"
    return found + _not_loaded("gdrdrv", loaded, installed)


def amdgpu(node: Node, expected: Expected) -> list[str]:
    """The driver is loaded, and is the one that is installed for this kernel."""
    if "amdgpu" not in node.modules():
        return ["module amdgpu is not loaded"]
    # The driver that comes with a kernel has no version of its own.
    wanted = expected.get("driver_version", "")
    if not wanted:
        return []
    installed = node.module_on_disk("amdgpu")
    loaded = _of_amd_smi(node, "amdgpu_version")
    return _differ("amdgpu on disk", installed, wanted) + _not_loaded("amdgpu", loaded, installed)


def _answer(node: Node, *argv: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(node.ask(*argv))
        return [dict(row) for row in ([found] if isinstance(found, dict) else found)]
    except (ValueError, TypeError) as error:
        message = f"`{' '.join(argv)}` is not a JSON list of objects (cut short?)"
        raise UnreadableError(message) from error


def _of_amd_smi(node: Node, key: str) -> str:
    rows = _answer(node, "amd-smi", "version", "--json")
    return str((rows[0].get(key) if rows else "") or "not said")


def rocm(node: Node, expected: Expected) -> list[str]:
    """ROCm has the version of the row, and every GPU answers."""
    found = _differ("ROCm", _of_amd_smi(node, "rocm_version"), expected.get("version", ""))
    seen = len({row["gpu"] for row in _answer(node, "amd-smi", "list", "--json") if "gpu" in row})
    return found + _counts(node, "AMD", seen, "the driver sees", expected.get("gpus"))


CHECKS: Mapping[str, tuple[Check, ...]] = {
    "nvidia_driver": (driver_runs, driver_versions, driver_gpus),
    "nvidia_fabric": (fabric_manager, fabric_state, imex),
    "cuda": (cuda_toolkit,),
    "dcgm": (dcgm,),
    "container_toolkit": (toolkit, toolkit_devices),
    "gdrcopy": (gdrdrv,),
    "rocm": (amdgpu, rocm),
}


def findings(part: str, node: Node, expected: Expected) -> list[str]:
    """Return all that is wrong; what cannot be read is among it."""
    found: list[str] = []
    for check in CHECKS[part]:
        try:
            found += check(node, expected)
        except UnreadableError as error:
            found.append(str(error))
    return list(dict.fromkeys(found))


def _live(module: AnsibleModule) -> Node:
    def run(argv: Sequence[str]) -> tuple[int, str]:
        limited = ["timeout", "--kill-after=5", str(_TIMEOUT_S), *argv]
        # The toolkit of CUDA is not on the path of a service or an ssh command.
        status, out, err = module.run_command(
            limited, path_prefix="/usr/local/cuda/bin", environ_update={"LC_ALL": "C"}
        )
        return status, out or err

    def read(path: str) -> str:
        try:
            place, rest = path.split("/", 1)
            return (Path(module.params[place]) / rest).read_text(encoding="utf-8")
        except OSError:
            return ""

    return Node(run=run, read=read)


def main() -> None:
    """Run as an Ansible module."""
    module = AnsibleModule(
        argument_spec={
            "part": {"type": "str", "required": True, "choices": list(CHECKS)},
            "expected": {"type": "dict", "default": {}},
            "procfs": {"type": "str", "default": "/proc"},
            "sysfs": {"type": "str", "default": "/sys"},
        },
        supports_check_mode=True,
    )
    found = findings(module.params["part"], _live(module), module.params["expected"])
    if found:
        module.fail_json(msg="; ".join(found), findings=found)
    module.exit_json(changed=False, findings=[])


if __name__ == "__main__":
    main()
