"""What the GPU roles read back: good answers, bad ones, and those that are cut short."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest

from muster.converge.digest import PLAYBOOKS

Answers = dict[str, tuple[int, str]]

LSMOD = "Module                  Size  Used by\nnvidia_uvm 4096 0\nnvidia 4096 1 nvidia_uvm\n"
GPU_LINE = "{0}0:00.0 0302: 10de:2330 (rev a1)\n"
SWITCH_LINE = "c{0}:00.0 0680: 10de:22a3 (rev a1)\n"
BUS = "".join(GPU_LINE.format(i) for i in range(1, 3)) + SWITCH_LINE.format(0)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\n"
    "GCC version:  gcc version 13.3.0\n"
)
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.126.20  Tue Aug 4 2026\n"
QUERY = "nvidia-smi --query-gpu=index,driver_version,persistence_mode --format=csv,noheader"
ROWS = "0, 580.126.20, Enabled\n1, 580.126.20, Enabled\n"
FABRIC = "    Fabric\n        State                 : {}\n        Status                : {}\n"
REPORT = "CUDA Version                              : 13.0\n" + "".join(
    f"GPU 00000000:{i}0:00.0\n    Product Name : x\n" + FABRIC.format("Completed", "Success")
    for i in (1, 2)
)

GOOD: Answers = {
    "lsmod": (0, LSMOD),
    "uname -r": (0, "6.8.0-1041-aws\n"),
    "modinfo -F version nvidia": (0, "580.126.20\n"),
    "modinfo -F version gdrdrv": (0, "2.5\n"),
    "lspci -n -d 10de:": (0, BUS),
    QUERY: (0, ROWS),
    "nvidia-smi -q": (0, REPORT),
    "systemctl is-active nvidia-persistenced": (0, "active\n"),
    "systemctl is-active nvidia-fabricmanager": (0, "active\n"),
    "systemctl is-active nvidia-imex": (0, "active\n"),
    "systemctl is-active nvidia-dcgm": (0, "active\n"),
    "nv-fabricmanager --version": (0, "Fabric Manager version is : 580.126.20\n"),
    "nvidia-imex-ctl -q": (0, "READY\n"),
    "cat /etc/nvidia-imex/nodes_config.cfg": (0, "10.0.0.1\n10.0.0.2\n"),
    "nvcc --version": (0, "Cuda compilation tools, release 13.0, V13.0.88\n"),
    "dcgmi --version": (0, "\ndcgmi  version: 4.4.1\n\n"),
    "dcgmi discovery -l": (0, "2 GPUs found.\n+---+\n1 NvSwitches found.\n"),
    "nvidia-ctk --version": (0, "NVIDIA Container Toolkit CLI version 1.18.2\ncommit: abc\n"),
    "nvidia-ctk cdi list": (
        0,
        "nvidia.com/gpu=0\nnvidia.com/gpu=1\nnvidia.com/gpu=GPU-1\nnvidia.com/gpu=all\n",
    ),
    "nvidia-container-cli info": (0, "NVRM version:   580.126.20\nCUDA version:   13.0\n"),
    "modinfo -F version amdgpu": (0, "6.14.14\n"),
    "lspci -n -d 1002:": (
        0,
        "10:00.0 1200: 1002:74a1\n20:00.0 1200: 1002:74a1\n30:00.0 0604: 1002:14\n",
    ),
    "amd-smi version --json": (0, '[{"rocm_version": "7.0.2", "amdgpu_version": "6.14.14"}]'),
    "amd-smi list --json": (0, '[{"gpu": 0, "bdf": "a"}, {"gpu": 1, "bdf": "b"}]'),
}
FILES = {"procfs/driver/nvidia/version": OPEN, "sysfs/module/gdrdrv/version": "2.5\n"}
EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "nvidia_driver": {
        "version": "580.126.20",
        "open": True,
        "gpus": 2,
        "modules": ["nvidia", "nvidia_uvm"],
    },
    "nvidia_fabric": {
        "version": "580.126.20",
        "nvswitch": True,
        "reports_state": True,
        "imex": True,
        "imex_nodes": ["10.0.0.2", "10.0.0.1"],
    },
    "cuda": {"version": "13.0.2", "minimum_driver": "580.65.06"},
    "dcgm": {"version": "4.4.1"},
    "container_toolkit": {"version": "1.18.2", "cdi": True},
    "gdrcopy": {"version": "2.5.2"},
    "rocm": {"version": "7.0.2", "driver_version": "6.14.14", "gpus": 2},
}
LSMOD_EVERY = LSMOD + "gdrdrv 4096 0\namdgpu 4096 0\n"


def load() -> ModuleType:
    path = PLAYBOOKS / "library" / "gpu_software.py"
    spec = importlib.util.spec_from_file_location("gpu_software_module", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    # Data classes look their module up by name.
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


MODULE = load()


def findings(
    part: str,
    changes: Mapping[str, tuple[int, str]] | None = None,
    files: Mapping[str, str] | None = None,
    **expected: Any,
) -> str:
    answers = GOOD | {"lsmod": (0, LSMOD_EVERY)} | dict(changes or {})
    texts = FILES | dict(files or {})

    def run(argv: Sequence[str]) -> tuple[int, str]:
        return answers.get(" ".join(argv), (127, "not found"))

    node = MODULE.Node(run=run, read=lambda path: texts.get(path, ""))
    return "; ".join(MODULE.findings(part, node, {**EXPECTED[part], **expected}))


@pytest.mark.parametrize("part", EXPECTED)
def test_a_node_that_is_as_it_should_be_has_no_findings(part: str) -> None:
    assert findings(part) == ""


@pytest.mark.parametrize(
    ("part", "changes", "said"),
    [
        (
            "nvidia_driver",
            {"lsmod": (0, LSMOD + "nouveau 1 0\n")},
            "nouveau is loaded, so the NVIDIA driver has no GPU: reboot",
        ),
        (
            "nvidia_driver",
            {"modinfo -F version nvidia": (1, "ERROR: Module nvidia not found.")},
            "no module nvidia for the running kernel 6.8.0-1041-aws",
        ),
        (
            "nvidia_driver",
            {"modinfo -F version nvidia": (0, "580.95.05\n")},
            "driver 580.126.20 is loaded, 580.95.05 is installed: reboot",
        ),
        (
            "nvidia_driver",
            {QUERY: (18, "Failed to initialize NVML: Driver/library version mismatch\n")},
            "Driver/library version mismatch",
        ),
        ("nvidia_driver", {QUERY: (0, ROWS[:23])}, "the driver sees 1 GPUs, 2 are on the bus"),
        (
            "nvidia_driver",
            {"lspci -n -d 10de:": (0, GPU_LINE.format(1)), QUERY: (0, ROWS[:23])},
            "1 GPUs are on the bus, expected 2",
        ),
        (
            "nvidia_driver",
            {QUERY: (0, ROWS.replace("1, 580.126.20, Enabled", "1, 580.126.20, Disabled"))},
            "persistence mode is off on GPU 1",
        ),
        (
            "nvidia_driver",
            {"lsmod": (0, LSMOD.replace("nvidia_uvm 4096 0\n", ""))},
            "module nvidia_uvm is not loaded",
        ),
        (
            "nvidia_driver",
            {"systemctl is-active nvidia-persistenced": (3, "failed\n")},
            "nvidia-persistenced is failed, not active",
        ),
        ("nvidia_driver", {"lspci -n -d 10de:": (0, "")}, "lspci shows no GPU of NVIDIA"),
        (
            "nvidia_fabric",
            {"nv-fabricmanager --version": (0, "Fabric Manager version is : 580.95.05\n")},
            "fabric manager 580.95.05 is installed, driver 580.126.20 is loaded: they must be the",
        ),
        (
            "nvidia_fabric",
            {"systemctl is-active nvidia-fabricmanager": (3, "inactive\n")},
            "nvidia-fabricmanager is inactive, not active",
        ),
        (
            "nvidia_fabric",
            {"nvidia-smi -q": (0, REPORT.replace("Completed", "In Progress", 1))},
            "NVLink fabric of GPU 0 is In Progress/Success, expected Completed/Success",
        ),
        (
            "nvidia_fabric",
            {"nvidia-imex-ctl -q": (0, "WAITING_FOR_PEERS\n")},
            "IMEX is WAITING_FOR_PEERS, expected READY",
        ),
        (
            "nvidia_fabric",
            {"cat /etc/nvidia-imex/nodes_config.cfg": (0, "10.0.0.1\n")},
            "IMEX's list of nodes is 10.0.0.1, expected 10.0.0.1, 10.0.0.2",
        ),
        (
            "cuda",
            {"nvcc --version": (0, "release 12.9, V12.9.41\n")},
            "CUDA toolkit is 12.9, expected 13.0",
        ),
        (
            "cuda",
            {"nvidia-smi -q": (0, "CUDA Version   : 12.8\n")},
            "CUDA 13.0 is installed, the loaded driver is for CUDA 12.8",
        ),
        (
            "dcgm",
            {"dcgmi discovery -l": (0, "1 GPU found.\n")},
            "DCGM sees 1 GPUs, 2 are on the bus",
        ),
        (
            "dcgm",
            {"systemctl is-active nvidia-dcgm": (3, "failed\n")},
            "nvidia-dcgm is failed, not active",
        ),
        (
            "container_toolkit",
            {"nvidia-container-cli info": (0, "NVRM version:   570.86.10\n")},
            "containers get libraries of driver 570.86.10, 580.126.20 is loaded",
        ),
        (
            "container_toolkit",
            {"nvidia-ctk cdi list": (0, "nvidia.com/gpu=0\nnvidia.com/gpu=all\n")},
            "the CDI specification has 1 GPUs, 2 are on the bus",
        ),
        ("gdrcopy", {"lsmod": (0, LSMOD)}, "module gdrdrv is not loaded"),
        (
            "gdrcopy",
            {"modinfo -F version gdrdrv": (0, "2.4\n")},
            "gdrdrv on disk is 2.4, expected 2.5; gdrdrv 2.5 is loaded, 2.4 is installed: reboot",
        ),
        ("rocm", {"lsmod": (0, LSMOD)}, "module amdgpu is not loaded"),
        (
            "rocm",
            {"amd-smi list --json": (0, '[{"gpu": 0}]')},
            "the driver sees 1 GPUs, 2 are on the bus",
        ),
        (
            "rocm",
            {"amd-smi version --json": (0, '[{"rocm_version": "6.4.2", "amdgpu_version": "N/A"}]')},
            "amdgpu N/A is loaded, 6.14.14 is installed: reboot; ROCm is 6.4.2, expected 7.0.2",
        ),
    ],
)
def test_what_is_broken_is_named(part: str, changes: Answers, said: str) -> None:
    assert said in findings(part, changes)


def test_a_closed_module_is_not_taken_for_the_open_one() -> None:
    found = findings("nvidia_driver", files={"procfs/driver/nvidia/version": CLOSED})
    assert found == "the closed NVIDIA module is loaded, expected the open one"


def test_no_driver_at_all_is_said() -> None:
    found = findings("nvidia_driver", files={"procfs/driver/nvidia/version": ""})
    assert "no NVIDIA driver is loaded" in found


def test_a_driver_too_old_for_the_toolkit_is_said() -> None:
    found = findings("cuda", minimum_driver="580.200.1")
    assert found == "driver 580.126.20 is loaded, CUDA needs 580.200.1 or newer"


def test_gpus_that_do_not_report_the_fabric_are_a_finding_unless_that_is_expected() -> None:
    silent = {"nvidia-smi -q": (0, REPORT.replace("Completed", "N/A").replace("Success", "N/A"))}
    assert "NVLink fabric of GPU 1 is N/A/N/A" in findings("nvidia_fabric", silent)
    assert findings("nvidia_fabric", silent, reports_state=False) == ""


ASKED = [
    (part, command)
    for part, commands in {
        "nvidia_driver": [
            "lsmod", "modinfo -F version nvidia", "lspci -n -d 10de:", QUERY,
            "systemctl is-active nvidia-persistenced",
        ],
        "nvidia_fabric": [
            "nv-fabricmanager --version", "nvidia-smi -q", "nvidia-imex-ctl -q",
            "systemctl is-active nvidia-fabricmanager", "systemctl is-active nvidia-imex",
            "cat /etc/nvidia-imex/nodes_config.cfg", "lspci -n -d 10de:",
        ],
        "cuda": ["nvcc --version", "nvidia-smi -q"],
        "dcgm": ["dcgmi --version", "dcgmi discovery -l", "systemctl is-active nvidia-dcgm"],
        "container_toolkit": [
            "nvidia-ctk --version", "nvidia-ctk cdi list", "nvidia-container-cli info",
        ],
        "gdrcopy": ["modinfo -F version gdrdrv", "lsmod"],
        "rocm": ["amd-smi version --json", "amd-smi list --json", "lspci -n -d 1002:", "lsmod"],
    }.items()
    for command in commands
]  # fmt: skip


@pytest.mark.parametrize(("part", "command"), ASKED)
@pytest.mark.parametrize(
    "answer",
    [(0, ""), (1, ""), (124, ""), (127, ""), (0, "?\n"), (0, GOOD["lsmod"][1][:3])],
    ids=["silent", "failed", "hung", "absent", "nonsense", "cut"],
)
def test_what_cannot_be_read_is_never_a_pass(
    part: str, command: str, answer: tuple[int, str]
) -> None:
    assert findings(part, {command: answer})


@pytest.mark.parametrize(("part", "command"), ASKED)
def test_an_answer_cut_anywhere_is_a_finding_or_says_the_same(part: str, command: str) -> None:
    whole = {**GOOD, "lsmod": (0, LSMOD_EVERY)}[command][1]
    for end in range(len(whole.rstrip())):
        found = findings(part, {command: (0, whole[:end])})
        # What was cut off may be what nobody asks for, behind the last thing that is compared.
        assert found or end >= _last_needed(part, command, whole), whole[:end]


def _last_needed(part: str, command: str, whole: str) -> int:
    tails = {
        "nv-fabricmanager --version": "580.126.20",
        "nvidia-smi -q": "13.0" if part == "cuda" else "Success",
        "nvcc --version": "release 13.0",
        "dcgmi --version": "4.4.1",
        "dcgmi discovery -l": "2 GPUs found",
        "nvidia-ctk --version": "1.18.2",
        "nvidia-ctk cdi list": "gpu=1",
        "nvidia-container-cli info": "580.126.20",
        "lspci -n -d 10de:": "20:00.0 0302: 10de:",
        "lspci -n -d 1002:": "20:00.0 1200: 1002:",
        "lsmod": {"rocm": "amdgpu", "gdrcopy": "gdrdrv"}.get(part, "\nnvidia"),
    }
    tail = tails.get(command, whole.rstrip())
    return whole.rindex(tail) + len(tail)
