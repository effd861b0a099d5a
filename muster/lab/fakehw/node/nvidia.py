"""Tools of NVIDIA: nvidia-smi, fabric manager, DCGM, CUDA, container toolkit, GDRCopy."""

from __future__ import annotations

import json
from typing import Any

from muster.lab.fakegpu import nvidia_smi as stub
from muster.lab.fakehw.node.machine import Answer, Machine, Tools, option, refused

MISMATCH = 18
_CDI = "run/cdi/nvidia.yaml"


def driver(machine: Machine) -> str:
    """Version of the driver that is loaded; empty without one."""
    return str(machine.loaded.get("nvidia", {}).get("version", ""))


def gpus(machine: Machine) -> list[dict[str, Any]]:
    """Return the GPUs that the loaded driver sees."""
    state = dict(machine.gpu)
    own = state.get("gpus", {})
    every = {"driver_version": driver(machine)}
    numbers = range(int(state["count"]))
    state["gpus"] = {str(i): {**every, **own.get(str(i), {})} for i in numbers}
    return stub.enumerate_gpus(state)


def trouble(machine: Machine) -> Answer | None:
    """Return why no tool can speak to the driver, in its own words; None if all is well."""
    if machine.gpu["vendor"] != "nvidia" or not driver(machine):
        message = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n"
        )
        return Answer(message, status=stub.NO_DRIVER)
    library = machine.version_of("nvidia-smi")
    if library and library != driver(machine):
        message = "Failed to initialize NVML: Driver/library version mismatch\n"
        message += f"NVML library version: {'.'.join(library.split('.')[:2])}\n"
        return Answer(message, status=MISMATCH)
    return None


def smi(machine: Machine, arguments: list[str]) -> Answer:
    """Answer as nvidia-smi does."""
    problem = trouble(machine)
    if problem:
        return problem
    try:
        if arguments[:1] in (["-q"], ["--query"]):
            return Answer(_report(machine, stub.select(gpus(machine), option(arguments, "-i"))))
        special = {"nvlink": _nvlink, "--version": _versions, "-pm": _persistence}
        if arguments and arguments[0] in special:
            return Answer(special[arguments[0]](machine))
        return Answer(_stubbed(machine, arguments))
    except stub.Refusal as refusal:
        return Answer(str(refusal), status=refusal.status)


def _persistence(machine: Machine) -> str:
    return "".join("Enabled persistence mode.\n" for _ in gpus(machine))


def _versions(machine: Machine) -> str:
    names = ("NVIDIA-SMI version", "NVML version", "DRIVER version")
    return "".join(f"{name:<20}: {driver(machine)}\n" for name in names)


def _stubbed(machine: Machine, arguments: list[str]) -> str:
    asked = stub.options(arguments)
    style = [word.strip() for word in asked.get("--format", "").split(",")]
    chosen = stub.select(gpus(machine), asked.get("--id", ""))
    if "--list-gpus" in asked:
        return "".join(f"GPU {g['index']}: {g['name']} (UUID: {g['uuid']})\n" for g in chosen)
    if "--query-compute-apps" in asked:
        return "" if "noheader" in style else asked["--query-compute-apps"] + "\n"
    if "--query-gpu" in asked:
        fields = [field.strip() for field in asked["--query-gpu"].split(",")]
        return stub.query(chosen, fields, style)
    return stub.table(chosen).replace(str(stub.DEFAULTS["driver_version"]), driver(machine))


def _report(machine: Machine, chosen: list[dict[str, Any]]) -> str:
    """Return `nvidia-smi -q`, as far as anything of muster reads it."""
    fabric = _fabric_state(machine)
    lines = [
        "\n==============NVSMI LOG==============\n\n",
        f"Driver Version                            : {driver(machine)}\n",
        f"CUDA Version                              : {machine.loaded['nvidia']['cuda']}\n",
        f"Attached GPUs                             : {len(chosen)}\n",
    ]
    for gpu in chosen:
        lines += [
            f"GPU {gpu['pci.bus_id']}\n",
            f"    Product Name                          : {gpu['name']}\n",
            f"    Persistence Mode                      : {gpu['persistence_mode']}\n",
            "    Fabric\n",
            f"        State                             : {fabric[0]}\n",
            f"        Status                            : {fabric[1]}\n",
        ]
    return "".join(lines)


def _fabric_state(machine: Machine) -> tuple[str, str]:
    if not machine.gpu.get("nvswitches"):
        return "N/A", "N/A"
    return ("Completed", "Success") if machine.gpu.get("fabric_ready") else ("In Progress", "N/A")


def _nvlink(machine: Machine) -> str:
    links = machine.gpu.get("nvlinks", 0)
    lines = []
    for gpu in gpus(machine):
        lines.append(f"GPU {gpu['index']}: {gpu['name']} (UUID: {gpu['uuid']})\n")
        lines += [f"\t Link {link}: 26.562 GB/s\n" for link in range(links)]
    return "".join(lines)


def fabric_manager(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `nv-fabricmanager --version`."""
    version = machine.version_of("nv-fabricmanager")
    if arguments in (["--version"], ["-v"]):
        return Answer(f"Fabric Manager version is : {version}\n")
    return refused("nv-fabricmanager", arguments)


def fabric_manager_fault(machine: Machine) -> str:
    """Return why the fabric manager would not stay up; empty if it would."""
    version = machine.version_of("nv-fabricmanager")
    if not machine.gpu.get("nvswitches"):
        return "NV_WARN_NOTHING_TO_DO: no NVSwitch device was found"
    if version != driver(machine):
        return (
            f"fabric manager NVIDIA GPU driver interface version {version} don't match with driver "
            f"version {driver(machine)}. Please update with matching NVIDIA driver package."
        )
    return ""


def dcgmi(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `dcgmi discovery -l`, `dcgmi -v`, `dcgmi diag -r N -j`."""
    version = machine.version_of("dcgmi")
    if arguments in (["--version"], ["-v"]):
        return Answer(f"\ndcgmi  version: {version}\n\n")
    if trouble(machine):
        err = "Error: unable to establish a connection to the specified host: localhost\n"
        return Answer(err=err, status=255)
    if arguments[:2] == ["discovery", "-l"]:
        return Answer(_discovery(machine))
    if arguments[:1] == ["diag"]:
        return _diag(machine, version)
    return refused("dcgmi", arguments)


def _discovery(machine: Machine) -> str:
    found = gpus(machine)
    lines = [f"{len(found)} GPUs found.\n", "+--------+\n", "| GPU ID | Device Information |\n"]
    for gpu in found:
        lines.append(f"| {gpu['index']:<6} | Name: {gpu['name']} |\n")
        lines.append(f"|        | PCI Bus ID: {gpu['pci.bus_id']} |\n")
    switches = machine.gpu.get("nvswitches", 0)
    return "".join([*lines, f"{switches} NvSwitches found.\n"])


def _diag(machine: Machine, version: str) -> Answer:
    failed = any(gpu.get("state") == "lost" for gpu in gpus(machine))
    entity = {"entity_group": "GPU", "entity_id": 0, "status": "Fail" if failed else "Pass"}
    test = {"name": "software", "results": [entity]}
    report = {
        "DCGM Diagnostic": {"test_categories": [{"category": "Deployment", "tests": [test]}]},
        "metadata": {"DCGM Version": version, "Driver Version Detected": driver(machine)},
    }
    return Answer(json.dumps(report, indent=2) + "\n", status=226 if failed else 0)


def nvcc(machine: Machine, _arguments: list[str]) -> Answer:
    """Answer `nvcc --version`."""
    version = machine.version_of("nvcc")
    release = ".".join(version.split(".")[:2])
    return Answer(
        "nvcc: NVIDIA (R) Cuda compiler driver\n"
        f"Cuda compilation tools, release {release}, V{version}\n"
    )


def toolkit(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `nvidia-ctk --version`, `cdi generate` and `cdi list`."""
    if arguments == ["--version"]:
        version = machine.version_of("nvidia-ctk")
        return Answer(f"NVIDIA Container Toolkit CLI version {version}\n")
    if arguments[:2] not in (["cdi", "generate"], ["cdi", "list"]):
        return refused("nvidia-ctk", arguments)
    if arguments[1] == "list":
        path = machine.root / _CDI
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        names = [line.split('"')[1] for line in text.splitlines() if line.startswith("- name:")]
        err = f'level=info msg="Found {len(names)} CDI devices"\n'
        return Answer("".join(f"nvidia.com/gpu={name}\n" for name in names), err)
    if trouble(machine):
        err = 'level=error msg="failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND"\n'
        return Answer(err=err, status=1)
    names = [str(gpu["index"]) for gpu in gpus(machine)]
    devices = "".join(f'- name: "{name}"\n' for name in [*names, "all"])
    text = f"cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n{devices}"
    target = option(arguments, "--output")
    if not target:
        return Answer(text)
    path = machine.root / target.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return Answer()


def container_cli(machine: Machine, arguments: list[str]) -> Answer:
    """Answer `nvidia-container-cli info` and `--version`."""
    version = machine.version_of("nvidia-container-cli")
    if arguments[-1:] == ["--version"]:
        return Answer(f"cli-version: {version}\nlib-version: {version}\n")
    if arguments[-1:] != ["info"]:
        return refused("nvidia-container-cli", arguments)
    if trouble(machine):
        err = "nvidia-container-cli: initialization error: nvml error: driver not loaded\n"
        return Answer(err=err, status=1)
    lines = [f"NVRM version:   {driver(machine)}\n"]
    lines += [
        f"\nDevice Index:   {g['index']}\nModel:          {g['name']}\n" for g in gpus(machine)
    ]
    return Answer("".join(lines))


def sanity(machine: Machine, _arguments: list[str]) -> Answer:
    """Answer gdrcopy_sanity: it works with GPUs and its module, and not otherwise."""
    if trouble(machine) or "gdrdrv" not in machine.loaded:
        return Answer(err="Error: cannot open gdrdrv device /dev/gdrdrv\n", status=1)
    return Answer("Total: 35, Passed: 35, Failed: 0, Waived: 0\n")


TOOLS: Tools = {
    "nvidia-smi": smi,
    "nv-fabricmanager": fabric_manager,
    "dcgmi": dcgmi,
    "nvcc": nvcc,
    "nvidia-ctk": toolkit,
    "nvidia-container-cli": container_cli,
    "gdrcopy_sanity": sanity,
}
