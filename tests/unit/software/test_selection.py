"""A node gets the roles that it needs, in order, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import UsageError
from muster.software.model import FAMILIES, Hardware, RoleUse, StorageUse
from muster.software.selection import ROLE_ORDER, select
from tests.unit.software.rows import SHA, machines, row, storages

ROW = row()
OSES = st.sampled_from(sorted(FAMILIES))
SCHEDULERS = st.sampled_from(["slurm", "kubernetes"])

H100_EFA = Hardware(
    vendor="nvidia",
    gpu_model="H100",
    gpu_count=8,
    nvswitch=True,
    fabric="efa",
    fabric_devices=32,
    local_disks=8,
)
L40S = Hardware(vendor="nvidia", gpu_model="L40S", gpu_count=4)
MI300X = Hardware(vendor="amd", gpu_model="MI300X", gpu_count=8, fabric="roce", fabric_devices=8)
CPU = Hardware(vendor="none")

COMMON = ["packages", "kernel_hold", "tuning"]
NVIDIA_ONLY = {
    "nvidia_driver", "nvidia_fabric", "cuda", "dcgm", "container_toolkit", "gdrcopy", "nccl",
    "nccl_tests", "dcgm_exporter",
}  # fmt: skip
STORAGE_ROLES = {
    "lustre": "lustre_client", "nfs": "nfs", "beegfs": "beegfs", "ceph": "ceph",
    "spectrumScale": "spectrum_scale",
}  # fmt: skip


def chosen(
    hardware: Hardware, *storage: StorageUse, scheduler: Any = "slurm", matrix: Any = ROW
) -> dict[str, RoleUse]:
    """Select on Ubuntu 24.04."""
    found = select(matrix, hardware, scheduler=scheduler, storage=storage, os="ubuntu-24.04")
    return {use.role: use for use in found}


def test_a_cpu_node_gets_what_every_node_needs_and_the_scheduler() -> None:
    assert list(chosen(CPU)) == [*COMMON, "enroot_pyxis", "pam_access", "reboot"]
    assert list(chosen(CPU, scheduler="kubernetes")) == [*COMMON, "reboot"]


def test_h100_with_efa_and_lustre_gets_all_of_its_stack_with_efa_before_lustre() -> None:
    uses = (StorageUse(kind="lustre", efa=True), StorageUse(kind="localNvme"))
    found = chosen(H100_EFA, *uses)
    assert list(found) == [
        *COMMON, "nvidia_driver", "nvidia_fabric", "cuda", "dcgm", "container_toolkit", "gdrcopy",
        "efa", "nccl", "nccl_tests", "lustre_client", "local_nvme", "enroot_pyxis", "pam_access",
        "dcgm_exporter", "fabric_exporter", "reboot",
    ]  # fmt: skip
    assert found["efa"].variables["efa_devices"] == 32
    assert found["local_nvme"].variables["local_nvme_disks"] == 8
    assert found["lustre_client"].variables["lustre_client_efa"] is True
    assert found["nvidia_fabric"].variables["nvidia_fabric_driver_version"] == "1.2.3"


def test_l40s_on_ethernet_gets_no_fabric_software() -> None:
    assert not {"nvidia_fabric", "gdrcopy", "efa", "doca_ofed", "roce", "fabric_exporter"} & set(
        chosen(L40S)
    )


def test_mi300x_gets_rocm_and_roce_and_nothing_of_nvidia() -> None:
    found = set(chosen(MI300X))
    assert {"rocm", "roce", "fabric_exporter"} <= found
    assert not found & NVIDIA_ONLY
    assert "doca_ofed" not in found


def test_infiniband_and_roce_on_nvidias_adapters_get_doca_ofed_told_apart() -> None:
    def links(fabric: Any) -> Any:
        nodes = Hardware(vendor="none", fabric=fabric, fabric_devices=8, fabric_vendor="nvidia")
        given = chosen(nodes)["doca_ofed"].variables
        return given["doca_ofed_devices"], given["doca_ofed_link_layer"]

    assert links("infiniband") == (8, "InfiniBand")
    assert links("roce") == (8, "Ethernet")


def test_lustre_over_efa_is_asked_for_only_where_efa_is() -> None:
    found = chosen(L40S, StorageUse(kind="lustre", efa=True))
    assert found["lustre_client"].variables["lustre_client_efa"] is False


@given(machines(), storages(), SCHEDULERS, OSES)
def test_no_role_is_chosen_that_the_hardware_cannot_use(
    hardware: Hardware, storage: tuple[StorageUse, ...], scheduler: Any, os: Any
) -> None:
    found = {u.role for u in select(ROW, hardware, scheduler=scheduler, storage=storage, os=os)}
    if hardware.vendor != "nvidia":
        assert not found & NVIDIA_ONLY
    if hardware.vendor != "amd":
        assert "rocm" not in found
    if hardware.fabric_devices == 0:
        assert not found & {"efa", "doca_ofed", "roce", "gdrcopy", "fabric_exporter"}
    assert ("efa" in found) <= (hardware.fabric == "efa")
    assert ("roce" in found) <= (hardware.fabric == "roce")
    assert ("doca_ofed" in found) <= (hardware.fabric in {"infiniband", "roce"})
    assert ("nvidia_fabric" in found) <= (hardware.nvswitch or hardware.nvlink_domain)
    assert ("local_nvme" in found) <= (hardware.local_disks > 0)


@given(machines(), storages(), SCHEDULERS, OSES)
def test_every_role_is_chosen_that_is_needed(
    hardware: Hardware, storage: tuple[StorageUse, ...], scheduler: Any, os: Any
) -> None:
    found = {u.role for u in select(ROW, hardware, scheduler=scheduler, storage=storage, os=os)}
    needed = {*COMMON, "reboot"} | {STORAGE_ROLES.get(use.kind, "reboot") for use in storage}
    if hardware.vendor == "nvidia":
        needed |= {"nvidia_driver", "dcgm", "container_toolkit", "nccl"}
    if hardware.vendor == "amd":
        needed.add("rocm")
    if hardware.nvswitch:
        needed.add("nvidia_fabric")
    if hardware.fabric_devices and hardware.fabric != "ethernet":
        needed |= {{"infiniband": "doca_ofed"}.get(hardware.fabric, hardware.fabric)}
    if scheduler == "slurm":
        needed |= {"enroot_pyxis", "pam_access"}
    assert needed <= found


@given(machines(), storages(), SCHEDULERS, OSES)
def test_the_order_is_stable_and_each_role_comes_once(
    hardware: Hardware, storage: tuple[StorageUse, ...], scheduler: Any, os: Any
) -> None:
    found = [u.role for u in select(ROW, hardware, scheduler=scheduler, storage=storage, os=os)]
    again = select(ROW, hardware, scheduler=scheduler, storage=storage[::-1], os=os)
    assert found == [use.role for use in again]
    assert found == [role for role in ROLE_ORDER if role in set(found)]


@given(machines(), storages(), SCHEDULERS, OSES)
def test_every_argument_bears_the_name_of_its_role(
    hardware: Hardware, storage: tuple[StorageUse, ...], scheduler: Any, os: Any
) -> None:
    for use in select(ROW, hardware, scheduler=scheduler, storage=storage, os=os):
        assert all(name.startswith(f"{use.role}_") for name in use.variables)


def test_an_unknown_version_is_named_and_never_left_out_in_silence() -> None:
    efa = {
        "role": "efa",
        "source": "muster-choice",
        "version": "9.9",
        "artefacts": [{"name": "efa-{version}.tar.gz", "url": "https://example.org/{version}"}],
    }
    use = chosen(H100_EFA, matrix=row(efa=efa))["efa"]
    assert use.variables["efa_artefact"] == {
        "name": "efa-9.9.tar.gz", "version": "9.9", "url": "https://example.org/9.9", "sha256": "",
    }  # fmt: skip
    assert use.missing == ("efa: no sha256 of efa-9.9.tar.gz",)
    efa["artefacts"] = [{"name": "efa", "url": "https://example.org/e", "sha256": SHA}]
    assert chosen(H100_EFA, matrix=row(efa=efa))["efa"].missing == ()
    nothing = chosen(H100_EFA, matrix=row(efa={"role": "efa", "source": "muster-choice"}))["efa"]
    assert nothing.missing == ("efa: no source states the version",)


def test_the_plugin_for_one_fabric_is_given_on_that_fabric_only() -> None:
    plugin = {
        "role": "nccl", "part": "ofi", "version": "7", "source": "muster-choice", "fabric": "efa",
        "packages": {"ubuntu-24.04": [{"name": "ofi", "version": "7-1"}]},
    }  # fmt: skip
    matrix = row(ofi=plugin)
    assert chosen(H100_EFA, matrix=matrix)["nccl"].variables["nccl_ofi_version"] == "7"
    assert "nccl_ofi_version" not in chosen(L40S, matrix=matrix)["nccl"].variables


def test_a_gpu_too_old_for_the_only_driver_of_the_row_is_named() -> None:
    driver = {
        "role": "nvidia_driver", "version": "7", "source": "muster-choice", "kernel_module": "open",
        "packages": {"ubuntu-24.04": [{"name": "nvidia-open", "version": "7-1"}]},
    }  # fmt: skip
    matrix = row(nvidia_driver=driver)
    volta = Hardware(vendor="nvidia", gpu_model="V100", gpu_count=8, kernel_module="closed")
    assert chosen(L40S, matrix=matrix)["nvidia_driver"].missing == ()
    found = chosen(volta, matrix=matrix)["nvidia_driver"]
    assert found.missing == ("nvidia_driver: row test has none for this hardware",)
    assert found.variables == {"nvidia_driver_open": False, "nvidia_driver_gpus": 8}


def test_a_row_that_lacks_the_operating_system_is_refused() -> None:
    matrix = ROW.model_copy(update={"os": ("rhel-9",)})
    with pytest.raises(UsageError, match="no software for al2023. It has rhel-9"):
        select(matrix, CPU, scheduler="slurm", storage=(), os="al2023")
