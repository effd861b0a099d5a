"""A row of the version matrix, the hardware it is for, and what a role is given. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from muster.catalog.model import Entry

Arch = Literal["x86_64", "arm64"]
Os = Literal["debian-12", "debian-13", "ubuntu-22.04", "ubuntu-24.04", "rhel-9", "al2023"]
Family = Literal["debian", "redhat"]
Fabric = Literal["efa", "infiniband", "roce", "ethernet"]
StorageKind = Literal["lustre", "nfs", "beegfs", "ceph", "spectrumScale", "localNvme"]
Vendor = Literal["nvidia", "amd", "none"]
Scheduler = Literal["slurm", "kubernetes"]
KernelModule = Literal["open", "closed"]
Role = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Sha256 = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]

FAMILIES: Mapping[Os, Family] = {
    "debian-12": "debian",
    "debian-13": "debian",
    "ubuntu-22.04": "debian",
    "ubuntu-24.04": "debian",
    "rhel-9": "redhat",
    "al2023": "redhat",
}
"""Whose package manager an operating system has."""


class Package(Entry):
    """One package of a distribution; an empty version is unknown and cannot be installed."""

    name: str = Field(min_length=1)
    version: str = ""


class Artefact(Entry):
    """A file that is downloaded; with an empty sha256 it is refused."""

    name: str = Field(min_length=1)
    url: str = Field(pattern=r"^(https|file)://")
    """It and the name may hold {version}."""
    sha256: Sha256 = ""
    sha256_source: str = ""
    """Who states the sha256: a key of sources.yaml, or who pinned it."""
    os: tuple[Os, ...] = ()
    """Where it is for; empty for all."""
    arch: tuple[Arch, ...] = ()

    @model_validator(mode="after")
    def _template_is_known(self) -> Self:
        try:
            self.filled("")
        except (KeyError, IndexError, ValueError) as error:
            message = "name or url has a place other than version"
            raise ValueError(message) from error
        return self

    def filled(self, version: str) -> Self:
        """Return it with name and address as they are for a version."""
        name, url = (text.format(version=version) for text in (self.name, self.url))
        return self.model_copy(update={"name": name, "url": url})

    def fits(self, os: Os, arch: Arch) -> bool:
        """Is it for this operating system and architecture?"""
        return (not self.os or os in self.os) and (not self.arch or arch in self.arch)


class Component(Entry):
    """One thing that is installed: its version, and where it comes from."""

    role: Role
    """The role that installs it; several components may share one."""
    part: str = Field(default="", pattern=r"^([a-z][a-z0-9_]*)?$")
    """Which of them, in the names of the role's variables; empty for the first."""
    version: str = ""
    """Empty: no source states it."""
    source: str
    arch: tuple[Arch, ...] = ("x86_64", "arm64")
    fabric: Fabric | None = None
    """The only fabric that it is for; None for all."""
    kernel_module: KernelModule | None = None
    """Of a driver: which of the two kernel modules this is."""
    on: tuple[Literal["nvswitch", "nvlinkDomain"], ...] = ()
    """Of the fabric software: the hardware that needs it; empty for all."""
    packages: Mapping[Os, tuple[Package, ...]] = Field(default_factory=dict)
    artefacts: tuple[Artefact, ...] = ()
    versions: Mapping[Os, str] = Field(default_factory=dict)
    """Where it differs between operating systems, as a kernel does."""
    comes_with: str = ""
    """The component that brings it along, so that nothing is installed for it."""
    built_for: str = ""
    """The version of what it was built against; empty: not known."""
    kernels: Mapping[Os, tuple[str, ...]] = Field(default_factory=dict)
    """Kernel releases that it supports, as patterns ("6.8.*"); none for a system: not known."""
    kernels_source: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _one_version_of_files(self) -> Self:
        if self.artefacts and self.versions:
            message = "files have one version, and so no versions by system"
            raise ValueError(message)
        return self

    def version_on(self, os: Os) -> str:
        """Return its version on an operating system; empty where it is not known."""
        return self.versions.get(os, self.version)

    def serves(self, hardware: Hardware) -> bool:
        """Can this hardware use it?"""
        has = {"nvswitch": hardware.nvswitch, "nvlinkDomain": hardware.nvlink_domain}
        fabric = hardware.fabric if hardware.fabric_devices else "ethernet"
        return (
            self.fabric in {None, fabric}
            and self.kernel_module in {None, hardware.kernel_module}
            and (not self.on or any(has[needed] for needed in self.on))
        )

    def artefact(self, os: Os, arch: Arch) -> Artefact | None:
        """Return the file for this operating system and architecture."""
        fitting = (found for found in self.artefacts if found.fits(os, arch))
        return next((found.filled(self.version) for found in fitting), None)

    def missing(self, os: Os, arch: Arch) -> tuple[str, ...]:
        """Say what is not known and so keeps it from being installed."""
        if arch not in self.arch:
            return (f"there is none for {arch}",)
        if self.comes_with:
            return ()
        found, packages = self.artefact(os, arch), self.packages.get(os, ())
        version = self.version_on(os)
        lacking = [] if version else ["no source states the version"]
        lacking += [f"no version of package {p.name} for {os}" for p in packages if not p.version]
        if found and not found.sha256:
            lacking.append(f"no sha256 of {found.name}")
        if version and not found and not packages:
            lacking.append(f"neither packages nor a file for {os}")
        return tuple(lacking)


class MatrixRow(Entry):
    """One tested set of versions."""

    name: str = Field(min_length=1)
    fictitious: bool = False
    """A row for tests, whose versions nobody ever released."""
    os: tuple[Os, ...] = Field(min_length=1)
    components: Mapping[str, Component] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, found in self.components.items():
            for other, theirs in self.of_role(found.role).items():
                modules = {found.kernel_module, theirs.kernel_module}
                apart = modules == {"open", "closed"} or found.part != theirs.part
                if other != name and not apart:
                    message = f"{name} and {other} are both part {found.part!r} of {found.role}"
                    raise ValueError(message)
            if found.comes_with and found.comes_with not in self.components:
                message = f"{name} comes with {found.comes_with}, which is not in the row"
                raise ValueError(message)
        return self

    def of_role(self, role: str) -> dict[str, Component]:
        """Return the components that a role installs."""
        return {name: found for name, found in self.components.items() if found.role == role}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """What of a node decides about its software."""

    vendor: Vendor
    gpu_model: str = ""
    gpu_count: int = 0
    nvswitch: bool = False
    """Has it NVSwitches of its own, which need a fabric manager?"""
    nvlink_domain: bool = False
    """Does its NVLink reach other nodes, as in an NVL72, which needs IMEX?"""
    fabric: Fabric = "ethernet"
    fabric_devices: int = 0
    fabric_vendor: Literal["nvidia", "other", ""] = ""
    """Maker of the adapters; empty where it is not known. DOCA-OFED is for NVIDIA's."""
    local_disks: int = 0
    arch: Arch = "x86_64"
    kernel_module: KernelModule = "open"
    """The NVIDIA kernel module that its GPUs need."""

    def __post_init__(self) -> None:
        """Refuse what no machine can be."""
        if (self.gpu_count > 0) != (self.vendor != "none"):
            message = f"{self.gpu_count} GPUs of vendor {self.vendor}"
            raise ValueError(message)
        if (self.nvswitch or self.nvlink_domain) and self.vendor != "nvidia":
            message = f"NVLink on a node of vendor {self.vendor}"
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageUse:
    """A file system that nodes mount."""

    kind: StorageKind
    efa: bool = False
    """Is it to be reached over EFA?"""


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleUse:
    """A role that a node needs, and its arguments.

    While `missing` says anything, the role must not run: its arguments are not all known.
    """

    role: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    missing: tuple[str, ...] = ()
