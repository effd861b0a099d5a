"""Packages of the lab's repository: those of the test row, and versions that are wrong for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from muster.lab.fakehw.faults import NEWER_DRIVER, NEWER_KERNEL
from muster.lab.fakehw.install import PROGRAM
from muster.lab.fakehw.platforms import KERNEL
from muster.software.model import MatrixRow, Os
from tests.lab.software import artefacts
from tests.lab.software.repository import Deb

ROW_FILE = Path(__file__).parent / "row.yaml"
OS: Os = "debian-13"


def load_row() -> MatrixRow:
    """Read the row of versions that nobody ever released, its files pinned as they are made."""
    raw: dict[str, Any] = yaml.safe_load(ROW_FILE.read_text(encoding="utf-8"))
    for name, component in raw["components"].items():
        for file in component.get("artefacts", ()):
            file["sha256"] = artefacts.digest(name, component["version"])
    return MatrixRow.model_validate(raw)


def files() -> dict[str, str]:
    """Return the version of each component that comes as a file."""
    found = load_row().components.items()
    return {name: component.version for name, component in found if component.artefacts}


def _driver(deb: Deb) -> Deb:
    module = {"version": deb.upstream, "license": "Dual MIT/GPL", "cuda": "13.0"}
    names = ("nvidia", "nvidia_modeset", "nvidia_uvm", "nvidia_drm", "nvidia_peermem")
    return replace(deb, modules=dict.fromkeys(names, module), dkms="nvidia")


def _tools(*names: str, units: tuple[str, ...] = ()) -> Callable[[Deb], Deb]:
    return lambda deb: replace(deb, tools=dict.fromkeys(names, deb.upstream), units=units)


def _whole(*names: str, units: tuple[str, ...] = ()) -> Callable[[Deb], Deb]:
    """Bring tools that say the whole version of their package."""
    return lambda deb: replace(deb, tools=dict.fromkeys(names, deb.version), units=units)


def _dkms(*modules: str, source: str) -> Callable[[Deb], Deb]:
    def bring(deb: Deb) -> Deb:
        module = {"version": deb.upstream, "license": "Dual MIT/GPL"}
        return replace(deb, modules=dict.fromkeys(modules, module), dkms=source)

    return bring


def _cuda(deb: Deb) -> Deb:
    """Bring the compiler where the real package has it: not on the path of an ssh command."""
    links = {"/usr/local/cuda/bin/nvcc": f"/{PROGRAM}"}
    return replace(deb, tools={"nvcc": deb.upstream}, links=links)


def _lustre(deb: Deb) -> Deb:
    module = {"version": deb.upstream, "license": "GPL", "kernel": KERNEL}
    names = ("libcfs", "lnet", "ptlrpc", "lustre", "ksocklnd", "kefalnd", "ko2iblnd")
    return replace(deb, modules=dict.fromkeys(names, module))


def _ofed(deb: Deb) -> Deb:
    module = {"version": deb.upstream, "license": "Dual BSD/GPL"}
    names = ("ib_core", "ib_uverbs", "mlx5_core", "mlx5_ib", "rdma_ucm")
    return replace(deb, modules=dict.fromkeys(names, module), dkms="mlnx-ofed-kernel")


def _nccl(deb: Deb) -> Deb:
    folder = "/usr/lib/x86_64-linux-gnu"
    real = f"{folder}/libnccl.so.{deb.upstream}"
    files = {real: "not a library\n"}
    links = {f"{folder}/libnccl.so.2": real}
    return replace(deb, files=files, links=links, libraries={"libnccl.so.2": next(iter(links))})


def _toolkit(deb: Deb) -> Deb:
    folder = "/usr/lib/systemd/system/nvidia-cdi-refresh"
    service = (
        "[Service]\nType=oneshot\nExecStart=nvidia-ctk cdi generate --output=/run/cdi/nvidia.yaml\n"
    )
    path = "[Path]\nPathChanged=/var/lib/fakehw/proc/driver/nvidia/version\n"
    install = "[Install]\nWantedBy=multi-user.target\n"
    files = {f"{folder}.service": service + install, f"{folder}.path": path + install}
    return replace(deb, tools={"nvidia-ctk": deb.upstream}, files=files)


def _pyxis(deb: Deb) -> Deb:
    return replace(deb, files={"/usr/local/lib/slurm/spank_pyxis.so": "not a library\n"})


def _adopt(deb: Deb) -> Deb:
    path = "/usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so"
    return replace(deb, files={path: "not a library\n"})


def _lustre_tools(deb: Deb) -> Deb:
    """Bring the tools, and the unit that mounts: the role of mounts is not tested here."""
    wanted = "/usr/lib/systemd/system/multi-user.target.wants/muster-mount.service"
    return replace(
        deb,
        tools=dict.fromkeys(("lctl", "lnetctl", "lfs"), deb.upstream),
        units=("muster-mount",),
        links={wanted: "../muster-mount.service"},
    )


BRINGS: Mapping[str, Callable[[Deb], Deb]] = {
    "nvidia-kernel-open-dkms": _driver,
    "nvidia-driver-cuda": _tools("nvidia-smi"),
    "nvidia-persistenced": _tools(units=("nvidia-persistenced",)),
    "nvidia-fabricmanager": _tools("nv-fabricmanager", units=("nvidia-fabricmanager",)),
    "cuda-toolkit-13-0": _cuda,
    "datacenter-gpu-manager-4-core": _tools("dcgmi", units=("nvidia-dcgm",)),
    "nvidia-container-toolkit-base": _toolkit,
    "nvidia-dcgm-exporter": _tools(units=("nvidia-dcgm-exporter",)),
    "enroot": _tools("enroot"),
    "nvslurm-plugin-pyxis": _pyxis,
    "libpam-slurm-adopt": _adopt,
    "libnvidia-container-tools": _tools("nvidia-container-cli"),
    "gdrdrv-dkms": _dkms("gdrdrv", source="gdrdrv"),
    "gdrcopy-tests": _tools("gdrcopy_sanity"),
    "amdgpu-dkms": _dkms("amdgpu", source="amdgpu"),
    "rocm": _tools("rocm-smi", "amd-smi", "rocminfo"),
    "mlnx-ofed-kernel-dkms": _ofed,
    "ofed-scripts": _whole("ofed_info", units=("openibd",)),
    "infiniband-diags-doca": _tools("ibstat", "ibv_devinfo", "show_gids"),
    "libnccl2": _nccl,
    f"lustre-client-modules-{KERNEL}": _lustre,
    "lustre-client-utils": _lustre_tools,
}
"""What the real package of a name brings, as far as a role or a check asks for it."""


def deb(name: str, version: str) -> Deb:
    """Return an empty package with what one of that name brings."""
    plain = Deb(name=name, version=version)
    return BRINGS[name](plain) if name in BRINGS else plain


def _of_row() -> Iterator[Deb]:
    for component in load_row().components.values():
        for package in component.packages.get(OS, ()):
            yield deb(package.name, package.version)


def _wrong() -> Iterator[Deb]:
    """Versions that upgrades, holds and refusals are tested with."""
    for name in ("nvidia-kernel-open-dkms", "nvidia-driver-cuda", "nvidia-fabricmanager"):
        yield deb(name, NEWER_DRIVER)
    image: dict[str, Any] = {"version": "6.12.57-1", "kernel": NEWER_KERNEL}
    yield Deb(name=f"linux-image-{NEWER_KERNEL}", **image)


DEBS: tuple[Deb, ...] = (*_of_row(), *_wrong())
"""All packages of the repository."""
