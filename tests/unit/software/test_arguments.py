"""What the selection hands to roles is what the roles take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.software.model import Hardware, RoleUse, StorageUse
from muster.software.selection import ROLE_ORDER, select
from tests.unit.software.rows import row

ROLES = Path(__file__).parents[3] / "playbooks" / "roles"
SPECS = "meta/argument_specs.yml"
STORAGE = tuple(
    StorageUse(kind=kind, efa=True)
    for kind in ("lustre", "nfs", "beegfs", "ceph", "spectrumScale", "localNvme")
)
RDMA: dict[str, Any] = {"fabric_devices": 8, "local_disks": 2, "fabric_vendor": "nvidia"}
MACHINES = (
    Hardware(vendor="nvidia", gpu_count=8, nvswitch=True, fabric="efa", **RDMA),
    Hardware(vendor="nvidia", gpu_count=8, nvlink_domain=True, fabric="infiniband", **RDMA),
    Hardware(vendor="amd", gpu_count=8, fabric="roce", **RDMA),
)
GIVEN_ELSEWHERE = {
    "lustre_client_mounts", "nfs_mounts", "beegfs_mounts", "ceph_mounts", "spectrum_scale_mounts",
    "beegfs_management", "ceph_filesystem", "ceph_fsid", "ceph_key_file", "ceph_monitors",
    "ceph_user",
}  # fmt: skip
"""Arguments that come from the fleet and the spec, or name a site's own servers."""
OF_THE_ROW = ("_version", "_packages", "_artefact")


def uses() -> Iterator[RoleUse]:
    """Give the roles of all machines, as far as playbooks/roles has them."""
    for machine in MACHINES:
        chosen = select(row(), machine, scheduler="slurm", storage=STORAGE, os="debian-13")
        yield from (use for use in chosen if (ROLES / use.role / SPECS).is_file())


def options(role: str) -> dict[str, Any]:
    specs = yaml.safe_load((ROLES / role / SPECS).read_text())
    entries = specs["argument_specs"].values()
    return {name: of for entry in entries for name, of in (entry.get("options") or {}).items()}


@pytest.mark.parametrize("use", list(uses()), ids=lambda use: use.role)
def test_a_role_takes_what_the_hardware_says(use: RoleUse) -> None:
    ours = {name for name in use.variables if not name.endswith(OF_THE_ROW)}
    assert ours <= set(options(use.role))


@pytest.mark.parametrize("use", list(uses()), ids=lambda use: use.role)
def test_a_role_is_given_all_that_it_requires(use: RoleUse) -> None:
    required = {name for name, of in options(use.role).items() if of.get("required")}
    assert required <= set(use.variables) | GIVEN_ELSEWHERE


def test_every_role_of_the_selection_is_asked_about() -> None:
    there = {role for role in ROLE_ORDER if (ROLES / role / SPECS).is_file()}
    assert {use.role for use in uses()} == there
    assert {"nvidia_driver", "efa", "rocm"} <= there
