"""Which roles a node needs, in order, with their arguments. Pure.

A role that the hardware, the scheduler or the storage does not need is not in the answer, so it is
a play over fewer hosts and never a skipped task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from muster.errors import UsageError
from muster.software.model import (
    FAMILIES,
    Component,
    Hardware,
    MatrixRow,
    Os,
    RoleUse,
    Scheduler,
    StorageUse,
)

_RDMA = frozenset({"efa", "infiniband", "roce"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """All that decides which roles a node needs."""

    hardware: Hardware
    scheduler: Scheduler
    storage: tuple[StorageUse, ...]

    @property
    def nvidia(self) -> bool:
        """Are there GPUs of NVIDIA?"""
        return self.hardware.vendor == "nvidia"

    @property
    def rdma(self) -> bool:
        """Is the fabric one that writes into memory by itself?"""
        return self.hardware.fabric in _RDMA and self.hardware.fabric_devices > 0

    def fabric(self, name: str) -> bool:
        """Is this the fabric, with a device at least?"""
        return self.hardware.fabric == name and self.hardware.fabric_devices > 0

    def stores(self, kind: str) -> bool:
        """Is a file system of this kind mounted?"""
        return any(use.kind == kind for use in self.storage)


@dataclass(frozen=True, slots=True)
class _Rule:
    why: str
    needed: Callable[[Need], bool]
    installs: bool = True
    """Must the row say what to install?"""


def _doca(need: Need) -> bool:
    ours = need.fabric("roce") and need.hardware.fabric_vendor == "nvidia"
    return need.fabric("infiniband") or ours


# The order is that of the plays: EFA before Lustre, as ParallelCluster does since an installer
# failed the other way round; file systems before what keeps files on them; the reboot last.
_RULES: Mapping[str, _Rule] = {
    "packages": _Rule("every node", lambda _: True, installs=False),
    "kernel_hold": _Rule("every node", lambda _: True, installs=False),
    "tuning": _Rule("every node", lambda _: True, installs=False),
    "nvidia_driver": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "nvidia_fabric": _Rule(
        "NVSwitch, or NVLink to other nodes",
        lambda n: n.hardware.nvswitch or n.hardware.nvlink_domain,
    ),
    "rocm": _Rule("AMD GPUs", lambda n: n.hardware.vendor == "amd"),
    "cuda": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "dcgm": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "container_toolkit": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "gdrcopy": _Rule("NVIDIA GPUs on an RDMA fabric", lambda n: n.nvidia and n.rdma),
    "efa": _Rule("EFA interfaces", lambda n: n.fabric("efa")),
    "doca_ofed": _Rule("InfiniBand, or RoCE on NVIDIA adapters", _doca),
    "roce": _Rule("RoCE", lambda n: n.fabric("roce"), installs=False),
    "nccl": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "nccl_tests": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "lustre_client": _Rule("a Lustre file system", lambda n: n.stores("lustre")),
    "nfs": _Rule("an NFS file system", lambda n: n.stores("nfs")),
    "beegfs": _Rule("a BeeGFS file system", lambda n: n.stores("beegfs")),
    "ceph": _Rule("a Ceph file system", lambda n: n.stores("ceph")),
    "spectrum_scale": _Rule("a Spectrum Scale file system", lambda n: n.stores("spectrumScale")),
    "local_nvme": _Rule(
        "local disks that the spec mounts",
        lambda n: n.stores("localNvme") and n.hardware.local_disks > 0,
    ),
    "enroot_pyxis": _Rule("Slurm", lambda n: n.scheduler == "slurm"),
    "pam_access": _Rule("Slurm", lambda n: n.scheduler == "slurm"),
    "dcgm_exporter": _Rule("NVIDIA GPUs", lambda n: n.nvidia),
    "fabric_exporter": _Rule("an RDMA fabric", lambda n: n.rdma, installs=False),
    "reboot": _Rule("every node", lambda _: True, installs=False),
}

ROLE_ORDER: tuple[str, ...] = tuple(_RULES)
"""Every role that may be chosen, in the order in which their plays run."""


def why_chosen(role: str) -> str:
    """Say what makes a node need this role."""
    return _RULES[role].why


def select(
    row: MatrixRow,
    hardware: Hardware,
    *,
    scheduler: Scheduler,
    storage: Iterable[StorageUse],
    os: Os,
) -> tuple[RoleUse, ...]:
    """Return the roles that a node needs, in the order in which they run.

    Raises:
        UsageError: the row is not for this operating system.

    """
    if os not in row.os:
        hint = f"It has {', '.join(row.os)}."
        raise UsageError(f"no software for {os}", where=f"row {row.name}", hint=hint)
    need = Need(hardware=hardware, scheduler=scheduler, storage=tuple(storage))
    return tuple(_use(row, role, need, os) for role, rule in _RULES.items() if rule.needed(need))


def _use(row: MatrixRow, role: str, need: Need, os: Os) -> RoleUse:
    components = {n: c for n, c in row.of_role(role).items() if c.serves(need.hardware)}
    missing = tuple(
        f"{name}: {what}"
        for name, found in components.items()
        for what in found.missing(os, need.hardware.arch)
    )
    if _RULES[role].installs and not components:
        missing = (f"{role}: row {row.name} has none for this hardware",)
    variables = _of_row(role, components, need.hardware, os) | _of_hardware(role, row, need, os)
    return RoleUse(role=role, variables=variables, why=why_chosen(role), missing=missing)


def _of_row(
    role: str, components: Mapping[str, Component], hardware: Hardware, os: Os
) -> dict[str, Any]:
    """Name what the row says: <role>_packages, <role>[_<part>]_version and _artefact."""
    variables: dict[str, Any] = {}
    packages: list[dict[str, str]] = []
    for component in components.values():
        prefix = f"{role}_{component.part}" if component.part else role
        packages += [p.model_dump() for p in component.packages.get(os, ())]
        version = component.version_on(os)
        if version:
            variables[f"{prefix}_version"] = version
        found = component.artefact(os, hardware.arch)
        if found:
            variables[f"{prefix}_artefact"] = {
                "name": found.name,
                "version": version,
                "url": found.url,
                "sha256": found.sha256,
            }
    return variables | ({f"{role}_packages": packages} if packages else {})


def _of_hardware(role: str, row: MatrixRow, need: Need, os: Os) -> dict[str, Any]:
    """Name what the machine says."""
    hardware = need.hardware
    given: dict[str, dict[str, Any]] = {
        "packages": {"packages_family": FAMILIES[os]},
        "nvidia_driver": {
            "nvidia_driver_open": hardware.kernel_module == "open",
            "nvidia_driver_gpus": hardware.gpu_count,
        },
        "rocm": {"rocm_gpus": hardware.gpu_count},
        "dcgm_exporter": {"dcgm_exporter_gpus": hardware.gpu_count},
        "fabric_exporter": {"fabric_exporter_devices": hardware.fabric_devices},
        "nvidia_fabric": {
            "nvidia_fabric_nvswitch": hardware.nvswitch,
            "nvidia_fabric_imex": hardware.nvlink_domain,
        },
        "efa": {"efa_devices": hardware.fabric_devices},
        "doca_ofed": {
            "doca_ofed_devices": hardware.fabric_devices,
            "doca_ofed_link_layer": "Ethernet" if need.fabric("roce") else "InfiniBand",
        },
        "roce": {"roce_devices": hardware.fabric_devices},
        "local_nvme": {"local_nvme_disks": hardware.local_disks},
        "lustre_client": {
            "lustre_client_efa": need.fabric("efa")
            and any(use.efa for use in need.storage if use.kind == "lustre")
        },
    }
    driver = row.components.get("nvidia_driver")
    if driver and driver.version_on(os):
        given["nvidia_fabric"]["nvidia_fabric_driver_version"] = driver.version_on(os)
    pyxis = row.components.get("pyxis")
    if pyxis and pyxis.built_for:
        given["enroot_pyxis"] = {"enroot_pyxis_slurm_version": pyxis.built_for}
    return given.get(role, {})
