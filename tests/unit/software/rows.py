"""Rows and hardware that tests are about; the versions are fictitious."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from muster.software.model import FAMILIES, Fabric, Hardware, MatrixRow, StorageUse, Vendor
from muster.software.selection import ROLE_ORDER

SHA = "a" * 64


def row(**components: dict[str, Any]) -> MatrixRow:
    """Make a row of a component for each role, and those that are given."""
    every = {
        name: {
            "role": name,
            "version": "1.2.3",
            "source": "muster-choice",
            "packages": {os: [{"name": f"{name}-pkg", "version": "1.2.3-1"}] for os in FAMILIES},
        }
        for name in ROLE_ORDER
    }
    parsed = {"name": "test", "os": list(FAMILIES), "components": every | components}
    return MatrixRow.model_validate(parsed)


@st.composite
def machines(draw: st.DrawFn) -> Hardware:
    """Any machine that can be."""
    vendor: Vendor = draw(st.sampled_from(get_args(Vendor)))
    fabric: Fabric = draw(st.sampled_from(get_args(Fabric)))
    nvidia = vendor == "nvidia"
    return Hardware(
        vendor=vendor,
        gpu_count=draw(st.integers(1, 16)) if vendor != "none" else 0,
        nvswitch=nvidia and draw(st.booleans()),
        nvlink_domain=nvidia and draw(st.booleans()),
        fabric=fabric,
        fabric_devices=draw(st.integers(0, 32)),
        fabric_vendor=draw(st.sampled_from(["nvidia", "other", ""])),
        local_disks=draw(st.integers(0, 8)),
        arch=draw(st.sampled_from(["x86_64", "arm64"])),
        kernel_module=draw(st.sampled_from(["open", "closed"])),
    )


def storages() -> st.SearchStrategy[tuple[StorageUse, ...]]:
    """Any file systems."""
    kinds = st.sampled_from(["lustre", "nfs", "beegfs", "ceph", "spectrumScale", "localNvme"])
    use = st.builds(StorageUse, kind=kinds, efa=st.booleans())
    return st.lists(use, max_size=4).map(tuple)
