"""The five platforms that the roles are tested on: what such a machine shows of itself. Pure.

Numbers of devices are the catalog's; identities of PCI devices are those of pci.ids.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from muster.lab.fakehw.node.machine import PROCFS, SYSFS

State = dict[str, Any]

KERNEL = "6.12.48+deb13-cloud-amd64"
IN_TREE = (
    "nouveau", "amdgpu", "ib_core", "ib_uverbs", "efa", "mlx5_core", "mlx5_ib", "nvme",
    "overlay", "sunrpc", "nfs", "ceph", "libceph", "drm", "raid0", "xfs", "rdma_cm", "rdma_ucm",
)  # fmt: skip
_COUNTERS = {
    "efa": ("tx_bytes", "rx_bytes", "rx_drops", "retrans_bytes"),
    "mlx": ("port_xmit_data", "port_rcv_data", "symbol_error", "link_downed"),
}
_SYSCTL = {
    "net/ipv4/neigh/default/gc_thresh1": "128",
    "net/ipv4/neigh/default/gc_thresh2": "512",
    "net/ipv4/neigh/default/gc_thresh3": "1024",
    "net/core/somaxconn": "4096",
    "net/core/rmem_max": "212992",
    "net/core/wmem_max": "212992",
    "net/ipv4/tcp_max_syn_backlog": "1024",
    "net/ipv4/tcp_congestion_control": "cubic",
    "kernel/yama/ptrace_scope": "1",
    "kernel/numa_balancing": "1",
    "kernel/pid_max": "4194304",
    "kernel/panic": "0",
    "kernel/panic_on_oops": "0",
    "fs/file-max": "9223372036854775807",
    "fs/inotify/max_user_instances": "128",
    "fs/inotify/max_user_watches": "65536",
    "vm/nr_hugepages": "0",
    "vm/zone_reclaim_mode": "0",
    "vm/min_free_kbytes": "67584",
    "vm/swappiness": "60",
    "vm/max_map_count": "65530",
    "vm/overcommit_memory": "0",
    "vm/dirty_ratio": "20",
    "vm/dirty_background_ratio": "10",
    "vm/dirty_expire_centisecs": "3000",
    "vm/vfs_cache_pressure": "100",
    "sunrpc/tcp_max_slot_table_entries": "65536",
}


def _settings() -> dict[str, str]:
    pages = f"{SYSFS}/kernel/mm/transparent_hugepage"
    found = {f"{PROCFS}/sys/{name}": value for name, value in _SYSCTL.items()}
    found[f"{pages}/enabled"] = "[always] madvise never"
    found[f"{pages}/defrag"] = "always defer defer+madvise [madvise] never"
    for cpu in range(2):
        frequency = f"{SYSFS}/devices/system/cpu/cpu{cpu}/cpufreq"
        found[f"{frequency}/scaling_governor"] = "schedutil"
        found[f"{frequency}/scaling_available_governors"] = "performance schedutil"
    return found


def _pci(slot: str, *facts: str) -> dict[str, str]:
    names = ("vendor", "device", "class", "kind", "name")
    return {"slot": slot, **dict(zip(names, facts, strict=True))}


def _gpus(count: int, vendor: str, device: str, name: str) -> list[dict[str, str]]:
    kind, class_ = ("3D controller", "0302")
    if vendor == "1002":
        kind, class_ = ("Processing accelerators", "1200")
    slots = (f"0000:{(i + 1) * 0x10:02x}:00.0" for i in range(count))
    return [_pci(slot, vendor, device, class_, kind, name) for slot in slots]


def _base(platform: str) -> State:
    return {
        "platform": platform,
        "kernel": {
            "running": KERNEL,
            "architecture": "x86_64",
            "cmdline": f"BOOT_IMAGE=/vmlinuz-{KERNEL} root=/dev/nvme0n1p1 ro",
            "modules": list(IN_TREE),
            "autoload": ["nvme", "overlay"],
        },
        "loaded": {"nvme": {"version": "1.0"}, "overlay": {}},
        "gpu": {"vendor": "none", "model": "", "count": 0, "memory_mib": 0, "gpus": {}},
        "fabric": {"kind": "ethernet", "devices": {}},
        "pci": [],
        "disks": [],
        "lustre": {"networks": {}, "parameters": {}, "mounts": [], "mounted": []},
        "settings": _settings(),
        "slurm": {"PrologFlags": "Alloc,Contain", "ProctrackType": "proctrack/cgroup"},
    }


def _give_gpus(state: State, model: str, count: int, memory_mib: int, pci: tuple[str, str]) -> None:
    vendor = {"10de": "nvidia", "1002": "amd"}[pci[0]]
    state["gpu"] |= {"vendor": vendor, "model": model, "count": count, "memory_mib": memory_mib}
    state["pci"] += _gpus(count, *pci, model)
    # As udev does: what is in the tree comes first, unless it is barred.
    state["kernel"]["autoload"] += {"nvidia": ["nouveau", "nvidia"], "amd": ["amdgpu"]}[vendor]


def _give_switches(state: State, count: int) -> None:
    state["gpu"] |= {"nvswitches": count, "nvlinks": 18, "fabric_ready": False}
    slots = (f"0000:c{i}:00.0" for i in range(count))
    state["pci"] += [
        _pci(s, "10de", "22a3", "0680", "Bridge", "GH100 [H100 NVSwitch]") for s in slots
    ]


def _give_adapters(state: State, kind: str, names: list[str], **own: Any) -> None:
    group = "hw_counters" if kind == "efa" else "counters"
    counters = dict.fromkeys(_COUNTERS["efa" if kind == "efa" else "mlx"], 0)
    device = {"present": True, "state": "ACTIVE", group: counters, **own}
    state["fabric"] = {"kind": kind, "devices": {name: copy.deepcopy(device) for name in names}}
    what = ("1d0f", "efa2", "0200", "Ethernet controller", "Elastic Fabric Adapter (EFA)")
    if kind != "efa":
        class_, name = ("0207", "Infiniband controller")
        if kind == "roce":
            class_, name = ("0200", "Ethernet controller")
        what = ("15b3", "1021", class_, name, "MT2910 Family [ConnectX-7]")
    slots = (f"0000:{0x40 + i // 8:02x}:{i % 8:02x}.1" for i in range(len(names)))
    state["pci"] += [_pci(slot, *what) for slot in slots]
    state["kernel"]["autoload"] += ["efa"] if kind == "efa" else ["mlx5_ib"]


def _give_disks(state: State, count: int, model: str) -> None:
    state["disks"] = [
        {
            "name": f"nvme{i + 1}n1",
            "model": model,
            "serial": f"LAB{i:04}",
            "bytes": 3_840_000_000_000,
        }
        for i in range(count)
    ]


def _h100_efa() -> State:
    state = _base("h100-efa")
    _give_gpus(state, "NVIDIA H100 80GB HBM3", 8, 81559, ("10de", "2330"))
    _give_switches(state, 4)
    _give_adapters(state, "efa", [f"rdmap{i}s0" for i in range(32)], rate=100)
    _give_disks(state, 8, "Amazon EC2 NVMe Instance Storage")
    state["lustre"]["mounts"] = ["/fsx"]
    return state


def _h100_infiniband() -> State:
    state = _base("h100-infiniband")
    _give_gpus(state, "NVIDIA H100 80GB HBM3", 8, 81559, ("10de", "2330"))
    _give_switches(state, 4)
    _give_adapters(state, "infiniband", [f"mlx5_{i}" for i in range(8)], rate=400)
    return state


def _l40s() -> State:
    state = _base("l40s-ethernet")
    _give_gpus(state, "NVIDIA L40S", 4, 46068, ("10de", "26b9"))
    return state


def _mi300x() -> State:
    state = _base("mi300x-roce")
    _give_gpus(state, "AMD Instinct MI300X", 8, 196592, ("1002", "74a1"))
    gids = ["IB/RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE v2"]
    _give_adapters(state, "roce", [f"mlx5_{i}" for i in range(8)], rate=400, gids=gids)
    return state


PLATFORMS: Mapping[str, State] = {
    "h100-efa": _h100_efa(),
    "h100-infiniband": _h100_infiniband(),
    "l40s-ethernet": _l40s(),
    "mi300x-roce": _mi300x(),
    "cpu": _base("cpu"),
}
"""State files by platform, as before any role ran; copy before you change one."""
