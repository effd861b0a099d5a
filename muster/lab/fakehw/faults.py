"""States that a node's software must not be in, each breaking one thing. Pure.

A fault is a change of the state file or a command on the node, the role whose validation must fail
for it, and what that must say.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.lab.fakehw.platforms import State

NEWER_DRIVER = "990.20.2-1"
NEWER_KERNEL = "6.12.57+deb13-cloud-amd64"
"""Of the lab's repository: versions that do not belong to its row."""
_ALL_REDUCE = "/usr/local/bin/all_reduce_perf"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One thing that is wrong."""

    platform: str
    role: str
    says: str
    patch: Mapping[str, Any] = field(default_factory=dict)
    """Merged into the state: None takes away, a number as key is a place in a list."""
    command: str = ""
    mend: str = ""
    """What puts right what the command broke; the state is put back by itself."""


def patched(state: State, patch: Mapping[str, Any]) -> State:
    """Return a copy of the state with the patch merged in."""
    merged = copy.deepcopy(state)
    _merge(merged, patch)
    return merged


def _merge(target: Any, patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        place: Any = int(key) if isinstance(target, list) else key
        if value is None:
            del target[place]
        elif isinstance(value, Mapping) and (isinstance(target, list) or place in target):
            _merge(target[place], value)
        else:
            target[place] = copy.deepcopy(value)


def _on(platform: str, role: str, says: str, **broken: Any) -> Fault:
    return Fault(platform=platform, role=role, says=says, **broken)


def _h100(role: str, says: str, **broken: Any) -> Fault:
    return _on("h100-efa", role, says, **broken)


def _unit(platform: str, role: str, unit: str, says: str) -> Fault:
    start = f"systemctl start {unit}"
    return Fault(
        platform=platform, role=role, says=says, command=f"systemctl stop {unit}", mend=start
    )


def _file(platform: str, role: str, says: str, path: str, line: str) -> Fault:
    """Break by a line in a file, kept aside to put it back."""
    kept = f"cp -a {path} /run/fakehw.kept 2>/dev/null; echo '{line}' >> {path}"
    back = f"rm -f {path}; mv /run/fakehw.kept {path} 2>/dev/null || true"
    return Fault(platform=platform, role=role, says=says, command=kept, mend=back)


_DRIVER: Mapping[str, Fault] = {
    "nouveau-loaded": _h100(
        "nvidia_driver", "nouveau is loaded", patch={"loaded": {"nouveau": {}}}
    ),
    "driver-not-loaded": Fault(
        platform="l40s-ethernet",
        role="nvidia_driver",
        says="no NVIDIA driver is loaded",
        patch={"loaded": {"nvidia": None, "nvidia_uvm": None}},
    ),
    "driver-older-is-loaded": _h100(
        "nvidia_driver",
        "driver 990.9.9 is loaded, 990.10.1 is installed: reboot",
        patch={"loaded": {"nvidia": {"version": "990.9.9"}}},
    ),
    "closed-module-loaded": _on(
        "l40s-ethernet",
        "nvidia_driver",
        "the closed NVIDIA module is loaded",
        patch={"loaded": {"nvidia": {"license": "NVIDIA"}}},
    ),
    "driver-not-built-for-kernel": Fault(
        platform="l40s-ethernet",
        role="nvidia_driver",
        says="no module nvidia for the running kernel",
        patch={"dkms_failed": ["nvidia"]},
    ),
    "uvm-not-loaded": Fault(
        platform="h100-infiniband",
        role="nvidia_driver",
        says="module nvidia_uvm is not loaded",
        patch={"loaded": {"nvidia_uvm": None}},
    ),
    "gpu-fell-off-the-bus": _h100(
        "nvidia_driver",
        "Unable to determine the device handle for GPU3",
        patch={"gpu": {"gpus": {"3": {"state": "lost"}}}},
    ),
    "gpu-not-initialised": _on(
        "l40s-ethernet",
        "nvidia_driver",
        "the driver sees 3 GPUs, 4 are on the bus",
        patch={"gpu": {"gpus": {"1": {"state": "absent"}}}},
    ),
    "gpu-not-on-the-bus": Fault(
        platform="h100-infiniband",
        role="nvidia_driver",
        says="7 GPUs are on the bus, expected 8",
        patch={
            "pci": {"0": {"present": False}},
            "gpu": {"gpus": {"0": {"state": "absent"}}},
        },
    ),
    "persistence-off": _on(
        "l40s-ethernet",
        "nvidia_driver",
        "persistence mode is off on GPU 2",
        patch={"gpu": {"gpus": {"2": {"persistence_mode": "Disabled"}}}},
    ),
    "smi-cut-short": Fault(
        platform="l40s-ethernet",
        role="nvidia_driver",
        says="`nvidia-smi --query-gpu=index,driver_version,persistence_mode",
        patch={"answers": {"nvidia-smi": {"out": ""}}},
    ),
    "persistenced-stopped": _unit(
        "h100-infiniband", "nvidia_driver", "nvidia-persistenced", "nvidia-persistenced is inactive"
    ),
}
_GPU_SOFTWARE: Mapping[str, Fault] = {
    "fabric-manager-newer-than-driver": _h100(
        "nvidia_fabric",
        "fabric manager 990.20.2 is installed, driver 990.10.1 is loaded",
        command="DEBIAN_FRONTEND=noninteractive apt-get -qq -y --allow-change-held-packages install"
        f" nvidia-fabricmanager={NEWER_DRIVER} >/dev/null 2>&1",
        mend="DEBIAN_FRONTEND=noninteractive apt-get -qq -y --allow-change-held-packages"
        " --allow-downgrades install nvidia-fabricmanager=990.10.1-1 >/dev/null 2>&1;"
        " apt-mark hold nvidia-fabricmanager",
    ),
    "fabric-manager-stopped": _unit(
        "h100-infiniband",
        "nvidia_fabric",
        "nvidia-fabricmanager",
        "nvidia-fabricmanager is inactive",
    ),
    "fabric-not-joined": Fault(
        platform="h100-infiniband",
        role="nvidia_fabric",
        says="NVLink fabric of GPU 0 is In Progress/N/A",
        patch={"gpu": {"fabric_ready": False}},
    ),
    "driver-too-old-for-cuda": _on(
        "l40s-ethernet",
        "cuda",
        "the loaded driver is for CUDA 12.4",
        patch={"loaded": {"nvidia": {"cuda": "12.4"}}},
    ),
    "dcgm-stopped": _unit("l40s-ethernet", "dcgm", "nvidia-dcgm", "nvidia-dcgm is inactive"),
    "dcgm-sees-fewer": Fault(
        platform="h100-infiniband",
        role="dcgm",
        says="DCGM sees 6 GPUs, 8 are on the bus",
        patch={"gpu": {"gpus": {"0": {"state": "absent"}, "1": {"state": "absent"}}}},
    ),
    "containers-get-no-gpu": Fault(
        platform="l40s-ethernet",
        role="container_toolkit",
        says="the CDI specification has 0 GPUs, 4 are on the bus",
        command="rm -f /run/cdi/nvidia.yaml",
        mend="nvidia-ctk cdi generate --output=/run/cdi/nvidia.yaml",
    ),
    "gdrdrv-not-loaded": Fault(
        platform="h100-infiniband",
        role="gdrcopy",
        says="module gdrdrv is not loaded",
        patch={"loaded": {"gdrdrv": None}},
    ),
    "amd-gpu-gone": Fault(
        platform="mi300x-roce",
        role="rocm",
        says="the driver sees 7 GPUs, 8 are on the bus",
        patch={"gpu": {"gpus": {"6": {"state": "lost"}}}},
    ),
    "amdgpu-not-loaded": Fault(
        platform="mi300x-roce",
        role="rocm",
        says="module amdgpu is not loaded",
        patch={"loaded": {"amdgpu": None}},
    ),
    "amdgpu-of-the-kernel-is-loaded": Fault(
        platform="mi300x-roce",
        role="rocm",
        says="is loaded, 96.14.0 is installed: reboot",
        patch={"loaded": {"amdgpu": {"version": "90.1.1"}}},
    ),
    "exporter-stopped": _unit(
        "l40s-ethernet",
        "dcgm_exporter",
        "nvidia-dcgm-exporter",
        "dcgm-exporter answers with status",
    ),
}
_FABRICS: Mapping[str, Fault] = {
    "efa-device-missing": _h100(
        "efa",
        "libfabric offers 31 EFA devices, expected 32",
        patch={"fabric": {"devices": {"rdmap7s0": {"present": False}}}},
    ),
    "efa-driver-older-is-loaded": _h100(
        "efa",
        "module efa 97.0 is loaded, 98.1.0.9 is installed: reboot",
        patch={"loaded": {"efa": {"version": "97.0"}}},
    ),
    "efa-other-installer": _h100(
        "efa",
        "EFA installer 97.9.0 ran, expected 98.1.0",
        command="sed -i s/98.1.0/97.9.0/ /opt/amazon/efa_installed_packages",
        mend="sed -i s/97.9.0/98.1.0/ /opt/amazon/efa_installed_packages",
    ),
    "lustre-over-tcp": _h100(
        "lustre_client", "Lustre is not on EFA but on TCP", patch={"lustre": {"falls_back": True}}
    ),
    "lustre-without-efa-interfaces": _h100(
        "lustre_client",
        "LNet has 0 EFA interfaces, 8 expected: Lustre is on TCP",
        patch={"lustre": {"networks": {"efa": []}}},
    ),
    "lustre-not-for-this-kernel": _h100(
        "lustre_client",
        f"there is no module lustre for kernel {NEWER_KERNEL}",
        patch={"kernel": {"running": NEWER_KERNEL}},
    ),
    "lustre-not-tuned-after-a-mount": _h100(
        "lustre_client",
        "max_rpcs_in_flight is 1, 32 expected",
        patch={"lustre": {"parameters": {"osc.*.max_rpcs_in_flight": None}}},
    ),
    "infiniband-port-down": Fault(
        platform="h100-infiniband",
        role="doca_ofed",
        says="port mlx5_3/1: state is 1: DOWN",
        patch={"fabric": {"devices": {"mlx5_3": {"state": "DOWN"}}}},
    ),
    "infiniband-port-slow": Fault(
        platform="h100-infiniband",
        role="doca_ofed",
        says="port mlx5_5/1: rate is 200 Gb/sec",
        patch={"fabric": {"devices": {"mlx5_5": {"rate": 200}}}},
    ),
    "roce-port-missing": Fault(
        platform="mi300x-roce",
        role="roce",
        says="7 Ethernet ports are there, expected 8",
        patch={"fabric": {"devices": {"mlx5_1": {"present": False}}}},
    ),
    "roce-version-1": Fault(
        platform="mi300x-roce",
        role="roce",
        says="port mlx5_2/1: GID 3 is IB/RoCE v1, expected RoCE v2",
        patch={"fabric": {"devices": {"mlx5_2": {"gids": {"3": "IB/RoCE v1"}}}}},
    ),
    "counters-not-exported": Fault(
        platform="mi300x-roce",
        role="fabric_exporter",
        says="6 fabric devices have counters, expected 8",
        patch={"fabric": {"devices": {"mlx5_0": {"present": False}, "mlx5_7": {"present": False}}}},
    ),
    "nccl-set-for-every-login": _file(
        "h100-efa",
        "nccl",
        "/etc/profile.d/nccl.sh sets NCCL_PROTO for every login",
        "/etc/profile.d/nccl.sh",
        "export NCCL_PROTO=simple",
    ),
    "nccl-settings-drifted": _file(
        "h100-infiniband",
        "nccl",
        "NCCL_ALGO is Tree, expected not set",
        "/etc/nccl.conf",
        "NCCL_ALGO=Tree",
    ),
    "nccl-tests-without-mpi": Fault(
        platform="h100-infiniband",
        role="nccl_tests",
        says="all_reduce_perf is not linked with libmpi.so",
        command=f"sed -i --follow-symlinks 's/ libmpi.so.40//' {_ALL_REDUCE}",
        mend=f"sed -i --follow-symlinks 's/libnccl.so.2/& libmpi.so.40/' {_ALL_REDUCE}",
    ),
}
_SYSTEM: Mapping[str, Fault] = {
    "kernel-newer-beside": Fault(
        platform="cpu",
        role="kernel_hold",
        says=f"kernel {NEWER_KERNEL} is installed beside",
        command="DEBIAN_FRONTEND=noninteractive apt-get -qq -y install"
        f" linux-image-{NEWER_KERNEL} >/dev/null 2>&1 && apt-mark hold linux-image-{NEWER_KERNEL}",
        mend="DEBIAN_FRONTEND=noninteractive apt-get -qq -y --allow-change-held-packages purge"
        f" linux-image-{NEWER_KERNEL} >/dev/null 2>&1",
    ),
    "huge-pages-short": Fault(
        platform="cpu",
        role="tuning",
        says="vm.nr_hugepages is 64, at least 128 expected",
        command="sysctl -q -w vm.nr_hugepages=64",
        mend="sysctl -q -w vm.nr_hugepages=128",
    ),
    "numa-balancing-on": Fault(
        platform="l40s-ethernet",
        role="tuning",
        says="kernel.numa_balancing is 1, 0 expected",
        command="sysctl -q -w kernel.numa_balancing=1",
        mend="sysctl -q -w kernel.numa_balancing=0",
    ),
    "huge-pages-always": Fault(
        platform="mi300x-roce",
        role="tuning",
        says="transparent_hugepage/enabled is always, madvise expected",
        command="fakehw-setting /sys/kernel/mm/transparent_hugepage/enabled always",
        mend="fakehw-setting /sys/kernel/mm/transparent_hugepage/enabled madvise",
    ),
    "package-not-held": Fault(
        platform="l40s-ethernet",
        role="cuda",
        says="cuda-toolkit-13-0 13.0.9-1 is not held",
        command="apt-mark unhold cuda-toolkit-13-0",
        mend="apt-mark hold cuda-toolkit-13-0",
    ),
    "package-removed": Fault(
        platform="mi300x-roce",
        role="pam_access",
        says="pam_slurm_adopt.so is not installed",
        command="mv /usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so /run/",
        mend="mv /run/pam_slurm_adopt.so /usr/lib/x86_64-linux-gnu/security/",
    ),
    "upgrades-by-itself": Fault(
        platform="cpu",
        role="packages",
        says="apt-daily-upgrade.timer is",
        command="systemctl -q unmask apt-daily-upgrade.timer",
        mend="systemctl -q mask apt-daily-upgrade.timer",
    ),
    "pyxis-loaded-twice": _file(
        "cpu",
        "enroot_pyxis",
        "loads pyxis 2 times",
        "/etc/slurm/plugstack.conf",
        "required /usr/local/lib/slurm/spank_pyxis.so",
    ),
    "plugstack-with-a-pattern": _file(
        "mi300x-roce",
        "enroot_pyxis",
        "includes /etc/slurm/plugstack.conf.d/*.conf",
        "/etc/slurm/plugstack.conf",
        "include /etc/slurm/plugstack.conf.d/*.conf",
    ),
    "login-escapes-its-job": _file(
        "cpu",
        "pam_access",
        "sshd runs pam_systemd",
        "/etc/pam.d/common-session",
        "session optional pam_systemd.so",
    ),
    "slurm-does-not-contain": Fault(
        platform="mi300x-roce",
        role="pam_access",
        says="PrologFlags of Slurm lacks Contain",
        patch={"slurm": {"PrologFlags": "Alloc"}},
    ),
}
FAULTS: Mapping[str, Fault] = {**_DRIVER, **_GPU_SOFTWARE, **_FABRICS, **_SYSTEM}
"""Every broken state by name."""
