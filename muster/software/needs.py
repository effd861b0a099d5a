"""From an instance type and a spec's storage to what decides about software. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from pydantic import Field

from muster.catalog.model import Catalog, Entry, InstanceType
from muster.software.model import Hardware, KernelModule, StorageKind, StorageUse

Architecture = Literal["volta", "turing", "ampere", "ada", "hopper", "blackwell"]

_STORAGE_KINDS: Mapping[str, StorageKind] = {
    "fsxLustre": "lustre",
    "fsxOpenZfs": "nfs",
    "efs": "nfs",
    "localNvme": "localNvme",
}


class NvidiaGpu(Entry):
    """What of a GPU model decides about its driver."""

    architecture: Architecture
    source: str


class Nvlink(Entry):
    """How many GPUs of a model one fabric joins inside a node, or that it reaches other nodes."""

    nvswitch_gpus: int = Field(default=0, ge=0)
    """A node of so many GPUs has NVSwitches of its own; 0: no node has."""
    domain: bool = False
    source: str


class HardwareFacts(Entry):
    """What the catalog's types do not say of NVIDIA GPUs."""

    gpus: Mapping[str, NvidiaGpu]
    nvlink: Mapping[str, Nvlink]
    open_module: tuple[Architecture, ...]
    """Architectures whose GPUs the open kernel module drives."""
    open_module_source: str

    def module_of(self, gpu_model: str) -> KernelModule:
        """Return the kernel module that a GPU model needs."""
        found = self.gpus.get(gpu_model)
        return "closed" if found and found.architecture not in self.open_module else "open"


class _Storage(Protocol):
    """A file system as the spec has it."""

    @property
    def kind(self) -> str: ...
    @property
    def efa(self) -> bool | None: ...


def hardware_of(kind: InstanceType, catalog: Catalog, facts: HardwareFacts) -> Hardware:
    """Return what of an instance type decides about its software.

    Accelerators of other makers than NVIDIA and AMD need no role of ours: the lab's are device
    files, and for AWS's own there is no role.
    """
    gpu = catalog.gpus.get(kind.gpu_model) if kind.gpu_count else None
    nvidia = gpu is not None and gpu.vendor == "nvidia"
    ours = gpu is not None and gpu.vendor in {"nvidia", "amd"}
    nvlink = facts.nvlink.get(kind.gpu_model) if nvidia else None
    efa = kind.efa_interfaces or 0
    return Hardware(
        vendor="nvidia" if nvidia else "amd" if ours else "none",
        gpu_model=kind.gpu_model if ours else "",
        gpu_count=kind.gpu_count if ours else 0,
        nvswitch=nvlink is not None and 0 < nvlink.nvswitch_gpus == kind.gpu_count,
        nvlink_domain=nvlink is not None and nvlink.domain,
        fabric="efa" if efa else "ethernet",
        fabric_devices=efa,
        local_disks=kind.local_disk_count or 0,
        arch=kind.arch,
        kernel_module=facts.module_of(kind.gpu_model) if nvidia else "open",
    )


def storage_uses(storage: Iterable[_Storage]) -> tuple[StorageUse, ...]:
    """Return what of a spec's storage decides about software; a lab's directory decides nothing."""
    known = ((_STORAGE_KINDS.get(found.kind), bool(found.efa)) for found in storage)
    return tuple(StorageUse(kind=kind, efa=efa) for kind, efa in known if kind)
