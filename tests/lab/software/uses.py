"""Which roles each platform needs, by the project's own selection, and the lab's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muster.software.model import Hardware, RoleUse, Scheduler, StorageUse
from muster.software.selection import ROLE_ORDER, select
from tests.lab.software.packages import OS, load_row

HARDWARE: Mapping[str, Hardware] = {
    "h100-efa": Hardware(
        vendor="nvidia",
        gpu_model="h100-sxm5-80gb",
        gpu_count=8,
        nvswitch=True,
        fabric="efa",
        fabric_devices=32,
        local_disks=8,
    ),
    "h100-infiniband": Hardware(
        vendor="nvidia",
        gpu_model="h100-sxm5-80gb",
        gpu_count=8,
        nvswitch=True,
        fabric="infiniband",
        fabric_devices=8,
        fabric_vendor="nvidia",
    ),
    "l40s-ethernet": Hardware(vendor="nvidia", gpu_model="l40s", gpu_count=4),
    "mi300x-roce": Hardware(
        vendor="amd",
        gpu_model="mi300x",
        gpu_count=8,
        fabric="roce",
        fabric_devices=8,
        fabric_vendor="nvidia",
    ),
    "cpu": Hardware(vendor="none"),
}
"""The platforms as the selection knows them."""
STORAGE: Mapping[str, tuple[StorageUse, ...]] = {
    "h100-efa": (StorageUse(kind="lustre", efa=True),),
}
SCHEDULER: Mapping[str, Scheduler] = {"l40s-ethernet": "kubernetes"}
"""Slurm where nothing is said."""


WITH_SERVERS = frozenset({"nfs", "beegfs", "ceph", "spectrum_scale", "local_nvme"})
"""Roles that read back a server or real disks, which no platform here has."""
ROLES = tuple(role for role in ROLE_ORDER if role not in WITH_SERVERS)


def arguments(role: str, hardware: Hardware) -> dict[str, Any]:
    """Return what only the lab can say of a role."""
    given: dict[str, dict[str, Any]] = {
        "reboot": {"reboot_allowed": True, "reboot_timeout_s": 120},
        "tuning": {"tuning_huge_pages": 128},
        "nvidia_driver": {"nvidia_driver_gpus": hardware.gpu_count},
        "rocm": {"rocm_gpus": hardware.gpu_count, "rocm_driver_version": "96.14.0"},
        "efa": {"efa_devices": hardware.fabric_devices},
        "doca_ofed": {
            "doca_ofed_devices": hardware.fabric_devices,
            "doca_ofed_link_layer": "InfiniBand" if hardware.fabric == "infiniband" else "Ethernet",
            "doca_ofed_rate_gbps": 400,
        },
        "roce": {"roce_devices": hardware.fabric_devices, "roce_rate_gbps": 400},
        "nccl": {"nccl_ofi_version": "98.1.0" if hardware.fabric == "efa" else ""},
        "dcgm_exporter": {"dcgm_exporter_gpus": hardware.gpu_count},
        "fabric_exporter": {"fabric_exporter_devices": hardware.fabric_devices},
    }
    return given.get(role, {})


def uses() -> dict[str, list[RoleUse]]:
    """Return the roles of every platform."""
    row = load_row()
    return {
        platform: [
            RoleUse(
                role=use.role,
                variables={**use.variables, **arguments(use.role, hardware)},
                missing=use.missing,
            )
            for use in select(
                row,
                hardware,
                scheduler=SCHEDULER.get(platform, "slurm"),
                storage=STORAGE.get(platform, ()),
                os=OS,
            )
            if use.role in ROLES
        ]
        for platform, hardware in HARDWARE.items()
    }
