"""What is wrong with a fabric is named; what could not be read is wrong as well."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.converge.filters import MISSING, filters, said

fabric = filters("node_fabric")


def fi_info(devices: int) -> str:
    return "".join(
        f"provider: efa\n    fabric: efa\n    domain: rdmap{i}s0-rdm\n    version: 121.0\n"
        "    type: FI_EP_RDM\n    protocol: FI_PROTO_EFA\n"
        for i in range(devices)
    )


def ports(devices: int, layer: str = "InfiniBand", **fields: str) -> str:
    of_each = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": layer,
    } | fields
    return "".join(
        f"/sys/class/infiniband/mlx5_{i}/ports/1/{name}:{value}\n"
        for i in range(devices)
        for name, value in of_each.items()
    )


def test_all_efa_devices_pass() -> None:
    assert fabric.efa_problems(said(fi_info(32)), 32) == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (said(fi_info(31)), "libfabric offers 31 EFA devices, expected 32"),
        (said(fi_info(33)), "libfabric offers 33 EFA devices, expected 32"),
        (said(""), "libfabric offers 0 EFA devices, expected 32"),
        (said(fi_info(32)[:1500]), "EFA devices, expected 32"),
        (said(fi_info(32), rc=61), "fi_info -p efa ended with status 61"),
        (MISSING, "fi_info -p efa cannot be run: is it installed?; expected 32 EFA devices"),
        ({}, "ended with status None and said: nothing"),
    ],
)
def test_efa_devices_that_lack_or_cannot_be_counted_fail(
    result: dict[str, Any], problem: str
) -> None:
    (found,) = fabric.efa_problems(result, 32)
    assert problem in found


def test_a_device_that_is_listed_twice_counts_once() -> None:
    (found,) = fabric.efa_problems(said(fi_info(31) + fi_info(1)), 32)
    assert found.startswith("libfabric offers 31")


MODINFO = (
    "filename: /lib/efa.ko\nversion:        2.17.3\nvermagic:       6.8.0-1024-aws SMP mod_unload\n"
)
LSMOD = "Module                  Size  Used by\nefa 106496 0\nib_core 500000 1 efa\n"


def judged(**change: dict[str, Any]) -> list[str]:
    read = {
        "modinfo": said(MODINFO),
        "kernel": said("6.8.0-1024-aws\n"),
        "lsmod": said(LSMOD),
        "loaded": said("2.17.3\n"),
    } | change
    found: list[str] = fabric.module_problems(
        read["modinfo"], "efa", read["kernel"], read["lsmod"], read["loaded"]
    )
    return found


def test_the_installed_module_that_is_loaded_passes() -> None:
    assert judged() == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"kernel": said("6.8.0-1030-aws")},
            "module efa is built for kernel 6.8.0-1024-aws, 6.8.0-1030-aws runs",
        ),
        (
            {"loaded": said("2.10.0")},
            "module efa 2.10.0 is loaded, 2.17.3 is installed: reboot",
        ),
        ({"loaded": MISSING}, "module efa of unknown version is loaded"),
        ({"lsmod": said(LSMOD.replace("efa 1", "efb 1"))}, "module efa is not loaded"),
        ({"lsmod": said("")}, "module efa is not loaded"),
        ({"modinfo": said("filename: /lib/efa.ko\n")}, "built for kernel unknown"),
        ({"modinfo": said("", rc=1, stderr="modinfo: module efa not found")}, "not found"),
        ({"kernel": MISSING}, "uname -r cannot be run"),
    ],
)
def test_a_module_that_does_not_fit_is_named(
    change: dict[str, dict[str, Any]], problem: str
) -> None:
    assert any(problem in found for found in judged(**change))


def test_all_ports_that_are_up_pass_beside_ports_of_another_kind() -> None:
    read = said(ports(8) + ports(2, "Ethernet").replace("mlx5_", "nvl_"))
    assert fabric.port_problems(read, 8, "InfiniBand", 400) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ports(7), "7 InfiniBand ports are there, expected 8"),
        (ports(8, "Ethernet"), "0 InfiniBand ports are there, expected 8"),
        (
            ports(8, state="1: DOWN", phys_state="3: Disabled"),
            "port mlx5_0/1: state is 1: DOWN (3: Disabled), expected 4: ACTIVE",
        ),
        (
            ports(8, rate="200 Gb/sec (4X HDR)"),
            "port mlx5_7/1: rate is 200 Gb/sec (4X HDR), expected 400 Gb/sec",
        ),
        (ports(8)[:-90], "expected 8"),
        ("/sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE", "link layer is not known"),
        ("", "0 InfiniBand ports are there"),
    ],
)
def test_ports_that_lack_are_down_or_slow_are_named(text: str, problem: str) -> None:
    found = fabric.port_problems(said(text), 8, "InfiniBand", 400)
    assert any(problem in line for line in found)


def test_a_tree_that_is_not_there_is_a_failure() -> None:
    read = said(rc=1, stderr="find: '/sys/class/infiniband': No such file or directory")
    (found,) = fabric.port_problems(read, 8, "InfiniBand")
    assert "No such file" in found


def gids(devices: int, kind: str = "RoCE v2", gid: str = "0000::ffff:0a00:0001") -> str:
    base = "/sys/class/infiniband/mlx5_{}/ports/1"
    return "".join(
        f"{base.format(i)}/gid_attrs/types/3:{kind}\n{base.format(i)}/gids/3:{gid}\n"
        f"/sys/class/infiniband/mlx5_{i}/tc/1/traffic_class:Global tclass=41\n"
        for i in range(devices)
    )


def test_roce_v2_with_its_class_passes() -> None:
    assert fabric.roce_problems(said(gids(8)), 8, 3, 41) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (gids(8, kind="IB/RoCE v1"), "port mlx5_0/1: GID 3 is IB/RoCE v1, expected RoCE v2"),
        (gids(8, gid="0000:0000:0000:0000"), "GID 3 is empty"),
        (gids(7), "7 ports have a GID 3, expected 8"),
        (gids(8).replace("=41", "=0"), "traffic class is Global tclass=0, expected 41"),
        ("", "0 ports have a GID 3, expected 8"),
    ],
)
def test_a_wrong_gid_or_class_is_named(text: str, problem: str) -> None:
    assert any(problem in line for line in fabric.roce_problems(said(text), 8, 3, 41))


def test_the_release_of_ofed_is_compared() -> None:
    assert fabric.ofed_problems(said("OFED-internal-25.10-1.2.3:\n"), "25.10-1.2.3") == []
    (found,) = fabric.ofed_problems(said("OFED-internal-24.04-0.6.6:\n"), "25.10-1.2.3")
    assert found == "OFED is OFED-internal-24.04-0.6.6, expected 25.10-1.2.3"
    assert fabric.ofed_problems(said(""), "25.10") == ["OFED is unknown, expected 25.10"]
    assert fabric.ofed_problems(MISSING, "25.10")


def test_the_installer_that_ran_is_compared() -> None:
    assert fabric.installer_problems(said("1.48.0\n"), "1.48.0") == []
    assert fabric.installer_problems(said("1.47.0\n"), "1.48.0") == [
        "EFA installer 1.47.0 ran, expected 1.48.0"
    ]
    assert fabric.installer_problems(MISSING, "1.48.0")
    assert fabric.installer_problems(said(""), "")


METRICS = "".join(
    f'muster_fabric_counter_total{{device="efa_{i}",port="1",counter="rx_drops"}} 0\n'
    for i in range(4)
)


def test_metrics_of_all_devices_pass_and_others_fail() -> None:
    assert fabric.fabric_metrics_problems(said(METRICS + "# EOF\n"), 4) == []
    (found,) = fabric.fabric_metrics_problems(said(METRICS + "# EOF\n"), 8)
    assert found == "4 fabric devices have counters, expected 8"
    (found,) = fabric.fabric_metrics_problems(said(METRICS), 4)
    assert "cut short" in found
    assert fabric.fabric_metrics_problems(MISSING, 4)


@given(cut=st.integers(min_value=0, max_value=len(ports(8)) - 20))
def test_ports_cut_short_never_pass(cut: int) -> None:
    assert fabric.port_problems(said(ports(8)[:cut]), 8, "InfiniBand", 400)


@given(cut=st.integers(min_value=0, max_value=len(fi_info(32)) - 100))
def test_efa_devices_cut_short_never_pass(cut: int) -> None:
    assert fabric.efa_problems(said(fi_info(32)[:cut]), 32)
