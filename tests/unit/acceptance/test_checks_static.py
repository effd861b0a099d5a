"""Each static check says pass, fail or unknown for the right reason, and names the part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from muster.acceptance.checks import (
    clock_offset,
    disk_space,
    gpu_count,
    gpu_health,
    gpu_xid,
    job_limits,
    memory_size,
    nic_count,
    nic_link,
    services,
    shared_mount,
    slurm_registration,
    versions_equal,
)
from muster.acceptance.expected import ExpectedRail
from muster.acceptance.facts import Gpu, GpuState, Interface, Problem, Time, Xid
from muster.findings import Finding, Outcome
from muster.schedulers.model import NodeStatus

PROBLEM = Problem("no answer within 5 s")
GPU = Gpu(
    index=0,
    uuid="u",
    serial="s",
    bus_id="00000000:40:00.0",
    name="NVIDIA H100 80GB HBM3",
    ecc_uncorrected=0,
    temperature_c=40,
    clock_reasons=0,
    driver="580.1",
)
EIGHT = GpuState(gpus=tuple(replace(GPU, index=n, bus_id=f"0:{n}0:00.0") for n in range(8)))
FILES = tuple(f"/dev/nvidia{n}" for n in range(8))
RAILS = tuple(
    ExpectedRail(index=n, interface=f"rail{n}", address=f"10.0.{n}.1", rate_mbit=100)
    for n in range(2)
)
LINKS = {
    f"rail{n}": Interface(
        name=f"rail{n}", carrier=True, speed_mbit=100, mtu=1500, addresses=(f"10.0.{n}.1",)
    )
    for n in range(2)
}


def says(finding: Finding) -> tuple[Outcome, str]:
    return finding.outcome, finding.component


def failing(component: str) -> tuple[Outcome, str]:
    return Outcome.FAIL, component


PASS = (Outcome.PASS, "")
UNKNOWN = (Outcome.UNKNOWN, "")


def count(gpu: GpuState | Problem = EIGHT, **changes: Any) -> Finding:
    given: dict[str, Any] = {"devices": FILES, "count": 8, "model": "NVIDIA H100"} | changes
    return gpu_count.judge(gpu, **given)


def test_all_gpus_pass() -> None:
    assert says(count()) == PASS


def test_one_missing_gpu_is_named() -> None:
    gone = GpuState(gpus=EIGHT.gpus[:7])
    finding = count(gone, devices=tuple(f for f in FILES if f != "/dev/nvidia3"))
    assert says(finding) == failing("gpu:3")
    assert "7 GPUs" in finding.summary


def test_several_missing_gpus_are_the_nodes_fault() -> None:
    assert says(count(GpuState(gpus=EIGHT.gpus[:6]), devices=FILES[:6])) == failing("node")


def test_a_missing_device_file_fails_though_the_tool_sees_all() -> None:
    assert says(count(devices=FILES[:7])) == failing("gpu:7")


def test_a_dead_driver_fails() -> None:
    assert says(count(GpuState(gpus=(), no_driver=True))) == failing("node")


def test_another_model_fails() -> None:
    assert says(count(model="NVIDIA H200")) == failing("node")


def test_gpus_that_could_not_be_counted_are_unknown() -> None:
    assert says(count(PROBLEM)) == UNKNOWN


def test_a_node_without_gpus_needs_no_tool() -> None:
    assert says(count(PROBLEM, count=0, devices=())) == PASS


def health(gpu: GpuState | Problem) -> Finding:
    return gpu_health.judge(gpu, count=8, temperature_max_c=87)


def one_gpu(**changes: Any) -> GpuState:
    return GpuState(gpus=(*EIGHT.gpus[:7], replace(EIGHT.gpus[7], **changes)))


def test_healthy_gpus_pass() -> None:
    assert says(health(EIGHT)) == PASS


@pytest.mark.parametrize(
    "fault",
    [
        {"ecc_uncorrected": 4},
        {"temperature_c": 91},
        {"clock_reasons": 0x40},
        {"clock_reasons": 0x88},
    ],
)
def test_a_sick_gpu_is_named(fault: dict[str, int]) -> None:
    assert says(health(one_gpu(**fault))) == failing("gpu:7")


def test_a_clock_that_is_low_as_the_gpu_is_idle_passes() -> None:
    assert says(health(one_gpu(clock_reasons=0x1))) == PASS


def test_a_lost_gpu_is_named() -> None:
    assert says(health(GpuState(gpus=(), lost="5"))) == failing("gpu:5")


@pytest.mark.parametrize("value", ["ecc_uncorrected", "temperature_c", "clock_reasons"])
def test_a_value_that_is_not_printed_is_unknown(value: str) -> None:
    assert says(health(one_gpu(**{value: None}))) == UNKNOWN


def test_unreadable_gpu_health_is_unknown() -> None:
    assert says(health(PROBLEM)) == UNKNOWN


def xid(*codes: int) -> Finding:
    found = tuple(Xid(bus_id="0000:40:00", code=code, text="") for code in codes)
    return gpu_xid.judge(found, gpus=[GPU], count=8)


def test_no_logged_error_passes() -> None:
    assert says(xid()) == PASS


def test_a_fatal_error_names_the_gpu_by_its_bus() -> None:
    finding = xid(31, 79)
    assert says(finding) == failing("gpu:0")
    assert "79" in finding.summary


def test_an_applications_error_passes() -> None:
    assert says(xid(13, 31)) == PASS


def test_an_error_that_nobody_listed_is_unknown() -> None:
    assert says(xid(999)) == UNKNOWN


def test_an_unreadable_log_is_unknown() -> None:
    assert says(gpu_xid.judge(PROBLEM, gpus=[GPU], count=8)) == UNKNOWN


def test_all_rails_there_pass() -> None:
    assert says(nic_count.judge(LINKS, rails=RAILS)) == PASS


def test_a_missing_rail_is_named() -> None:
    assert says(nic_count.judge({"rail0": LINKS["rail0"]}, rails=RAILS)) == failing("rail:1")


def test_no_rail_at_all_is_the_nodes_fault() -> None:
    assert says(nic_count.judge({}, rails=RAILS)) == failing("node")


def test_interfaces_that_cannot_be_listed_are_unknown() -> None:
    assert says(nic_count.judge(PROBLEM, rails=RAILS)) == UNKNOWN


def link(**changes: Any) -> Finding:
    links = {**LINKS, "rail1": replace(LINKS["rail1"], **changes)}
    return nic_link.judge(links, rails=RAILS)


def test_good_links_pass() -> None:
    assert says(link()) == PASS


@pytest.mark.parametrize(
    "fault",
    [{"carrier": False}, {"speed_mbit": 50}, {"addresses": ()}, {"addresses": ("10.9.9.9",)}],
)
def test_a_bad_link_is_named(fault: dict[str, Any]) -> None:
    assert says(link(**fault)) == failing("rail:1")


def test_a_link_that_states_no_speed_is_unknown() -> None:
    assert says(link(speed_mbit=None)) == UNKNOWN


def test_links_of_missing_rails_are_unknown() -> None:
    assert says(nic_link.judge({"rail0": LINKS["rail0"]}, rails=RAILS)) == UNKNOWN


def test_unreadable_links_are_unknown() -> None:
    assert says(nic_link.judge(PROBLEM, rails=RAILS)) == UNKNOWN


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(2000, PASS), (1900, PASS), (1500, failing("node")), (PROBLEM, UNKNOWN)],
)
def test_memory_is_compared_with_the_type(
    memory: int | Problem, expected: tuple[Outcome, str]
) -> None:
    assert says(memory_size.judge(memory, floor_mib=1880)) == expected


GIB = 2**30


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        ({"/": 5 * GIB}, PASS),
        ({"/": GIB // 2}, failing("node")),
        ({"/": PROBLEM}, UNKNOWN),
        ({"/": 5 * GIB, "/scratch": PROBLEM}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_free_space_is_compared(
    free: dict[str, int | Problem], expected: tuple[Outcome, str]
) -> None:
    assert says(disk_space.judge(free, free_min_gib=1)) == expected


@pytest.mark.parametrize(
    ("own", "head", "expected"),
    [
        ("fs1", "fs1", PASS),
        ("fs2", "fs1", failing("node")),
        (Problem("/shared/x: No such file or directory"), "fs1", failing("node")),
        (Problem("was not asked"), "fs1", UNKNOWN),
        ("fs1", PROBLEM, UNKNOWN),
    ],
)
def test_the_shared_mount_must_be_the_heads(
    own: str | Problem, head: str | Problem, expected: tuple[Outcome, str]
) -> None:
    assert says(shared_mount.judge(own, head_id=head)) == expected


NOW = Time(wall_clock_s=100.5, offset_s=0.001, synchronised=True)


@pytest.mark.parametrize(
    ("time", "wall", "expected"),
    [
        (NOW, 100.5, PASS),
        (NOW, 145.5, failing("node")),
        (PROBLEM, 145.5, failing("node")),
        (replace(NOW, offset_s=-0.2), 100.5, failing("node")),
        (replace(NOW, synchronised=False), 100.5, UNKNOWN),
        (PROBLEM, 100.5, UNKNOWN),
    ],
)
def test_clocks_are_compared_with_the_heads(
    time: Time | Problem, wall: float, expected: tuple[Outcome, str]
) -> None:
    finding = clock_offset.judge(time, wall_clock_s=wall, asked_s=(100, 101), offset_max_s=0.01)
    assert says(finding) == expected


def test_a_clock_without_a_reference_is_unknown() -> None:
    finding = clock_offset.judge(NOW, wall_clock_s=100, asked_s=(0, 0), offset_max_s=0.01)
    assert says(finding) == UNKNOWN


@pytest.mark.parametrize(
    ("limits", "as_job", "expected"),
    [
        ({"memlock": -1, "nofile": 131072}, True, PASS),
        ({"memlock": -1, "nofile": -1}, True, PASS),
        ({"memlock": 65536, "nofile": 131072}, True, failing("node")),
        ({"memlock": -1, "nofile": 1024}, True, failing("node")),
        ({"memlock": -1, "nofile": 131072}, False, UNKNOWN),
        ({"memlock": -1}, True, UNKNOWN),
        (PROBLEM, True, UNKNOWN),
    ],
)
def test_limits_are_those_of_a_job(
    limits: dict[str, int] | Problem,
    as_job: bool,
    expected: tuple[Outcome, str],
) -> None:
    finding = job_limits.judge(limits, memlock_unlimited=True, min_nofile=131072, as_job=as_job)
    assert says(finding) == expected


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ({"slurmd": "active"}, PASS),
        ({"slurmd": "failed", "munge": "active"}, failing("node")),
        ({"slurmd": "unknown"}, failing("node")),
        ({"slurmd": "activating"}, UNKNOWN),
        ({}, UNKNOWN),
        (PROBLEM, UNKNOWN),
    ],
)
def test_every_daemon_must_run(
    units: dict[str, str] | Problem, expected: tuple[Outcome, str]
) -> None:
    assert says(services.judge(units)) == expected


STATUS = NodeStatus(name="n", states=frozenset({"IDLE"}), cpus=16, memory_mib=2000, gpus=8)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (STATUS, PASS),
        (replace(STATUS, states=frozenset({"DOWN"})), failing("node")),
        (replace(STATUS, gpus=7), failing("node")),
        (replace(STATUS, cpus=8), failing("node")),
        (replace(STATUS, memory_mib=9000), failing("node")),
        (replace(STATUS, gpus=None), UNKNOWN),
        (PROBLEM, UNKNOWN),
    ],
)
def test_the_scheduler_must_know_the_node_as_it_is(
    status: NodeStatus | Problem, expected: tuple[Outcome, str]
) -> None:
    finding = slurm_registration.judge(status, gpu_count=8, cpus=16, memory_mib=4000)
    assert says(finding) == expected


def test_shared_cores_are_not_counted() -> None:
    finding = slurm_registration.judge(STATUS, gpu_count=8, cpus=None, memory_mib=4000)
    assert says(finding) == PASS


def drift(own: str | Problem, *others: str) -> Finding:
    peers = {f"n{k}": {"kernel": version} for k, version in enumerate(others)}
    return versions_equal.judge("own", {"own": {"kernel": own}, **peers})


def test_equal_versions_pass() -> None:
    assert says(drift("6.1", "6.1", "6.1")) == PASS


def test_the_odd_one_out_fails() -> None:
    assert says(drift("6.0", "6.1", "6.1")) == failing("node")


def test_the_majority_is_not_blamed_for_the_odd_one() -> None:
    assert says(drift("6.1", "6.1", "6.0")) == PASS


def test_without_a_majority_nobody_is_blamed() -> None:
    assert says(drift("6.0", "6.1")) == UNKNOWN


def test_a_version_that_cannot_be_read_is_unknown() -> None:
    assert says(drift(PROBLEM, "6.1", "6.1")) == UNKNOWN


def test_rails_that_have_no_interface_name_cannot_be_counted() -> None:
    rails = tuple(replace(rail, interface="") for rail in RAILS)
    assert says(nic_count.judge(LINKS, rails=rails)) == UNKNOWN
    assert says(nic_link.judge(LINKS, rails=rails)) == UNKNOWN


def test_a_rail_without_an_address_is_unknown_though_its_link_is_up() -> None:
    rails = (RAILS[0], replace(RAILS[1], address=""))
    assert says(nic_link.judge(LINKS, rails=rails)) == UNKNOWN


def test_a_rail_without_an_address_still_fails_when_its_link_is_down() -> None:
    links = {**LINKS, "rail1": replace(LINKS["rail1"], carrier=False)}
    rails = (RAILS[0], replace(RAILS[1], address=""))
    assert says(nic_link.judge(links, rails=rails)) == failing("rail:1")
