"""Each fault breaks something that can be measured, and mending restores it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest

from muster.errors import UsageError
from muster.lab import faults, network
from muster.lab.faults import Fault, Kind
from muster.lab.testing import TrialLab

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab(make_lab: Callable[..., TrialLab]) -> TrialLab:
    made = make_lab(nodes=4, leaves=2, head=False)
    for name in made.nodes:
        assert made.ssh(name, "systemd-run -q --unit=iperf iperf3 -s").ok
    return made


@pytest.fixture(autouse=True)
def _mended(lab: TrialLab) -> Iterator[None]:
    yield
    faults.mend(lab.name)
    assert faults.active_faults(lab.name) == ()
    assert network.network_problems(lab.wish) == []


def _rate(lab: TrialLab, source: str, target: str, rail: int = 0) -> tuple[float, int]:
    """Send for two seconds; returns Mbit/s as received, and retransmits."""
    own, other = (lab.nodes[name].rail_addresses[rail] for name in (source, target))
    done = lab.ssh(source, f"iperf3 --json -t 2 -B {own} -c {other}")
    end = json.loads(done.stdout)["end"]
    return end["sum_received"]["bits_per_second"] / 1e6, end["sum_sent"]["retransmits"]


def test_a_healthy_rail_carries_its_cap_and_no_more(lab: TrialLab) -> None:
    rate, _ = _rate(lab, "gpu-1", "gpu-2")
    assert 36 < rate < 41
    rate, _ = _rate(lab, "gpu-1", "gpu-3", rail=1)
    assert 36 < rate < 41


def test_slow_rail_is_slow_both_ways_and_the_other_rail_is_not(lab: TrialLab) -> None:
    fault = Fault(kind=Kind.SLOW_RAIL, node="gpu-1", rail=1, percent=20)
    faults.break_fault(lab.name, fault)
    faults.break_fault(lab.name, fault)
    assert faults.active_faults(lab.name) == (fault,)
    assert 28 < _rate(lab, "gpu-1", "gpu-2", rail=1)[0] < 32.5
    assert 28 < _rate(lab, "gpu-2", "gpu-1", rail=1)[0] < 32.5
    assert _rate(lab, "gpu-1", "gpu-2", rail=0)[0] > 36
    assert network.network_problems(lab.wish) == []
    faults.mend(lab.name)
    assert _rate(lab, "gpu-1", "gpu-2", rail=1)[0] > 36


def test_rail_down_takes_the_carrier_away(lab: TrialLab) -> None:
    faults.break_fault(lab.name, Fault(kind=Kind.RAIL_DOWN, node="gpu-2", rail=0))
    assert lab.ssh("gpu-2", "cat /sys/class/net/rail0/carrier").stdout.strip() == "0"
    assert lab.ssh("gpu-2", "cat /sys/class/net/rail1/carrier").stdout.strip() == "1"
    faults.mend(lab.name)
    assert lab.ssh("gpu-2", "cat /sys/class/net/rail0/carrier").stdout.strip() == "1"
    assert _rate(lab, "gpu-1", "gpu-2")[0] > 36


def test_slow_uplink_slows_only_what_crosses_it(lab: TrialLab) -> None:
    fault = Fault(kind=Kind.SLOW_UPLINK, leaf="leaf1", rail=0, percent=75)
    faults.break_fault(lab.name, fault)
    assert _rate(lab, "gpu-1", "gpu-3")[0] < 21
    assert _rate(lab, "gpu-3", "gpu-4")[0] > 36


def test_packet_loss_shows_in_retransmits(lab: TrialLab) -> None:
    before = _rate(lab, "gpu-1", "gpu-2")[1]
    faults.break_fault(lab.name, Fault(kind=Kind.PACKET_LOSS, node="gpu-1", rail=0, percent=2))
    assert _rate(lab, "gpu-1", "gpu-2")[1] > before + 20
    assert _rate(lab, "gpu-2", "gpu-1")[1] > before + 20


def test_missing_gpu_is_gone_from_the_driver_and_from_dev(lab: TrialLab) -> None:
    faults.break_fault(lab.name, Fault(kind=Kind.MISSING_GPU, node="gpu-1", gpu=3))
    assert len(lab.ssh("gpu-1", "nvidia-smi -L").stdout.splitlines()) == 7
    assert not lab.ssh("gpu-1", "test -e /dev/nvidia3").ok
    faults.mend(lab.name)
    assert len(lab.ssh("gpu-1", "nvidia-smi -L").stdout.splitlines()) == 8
    listed = lab.ssh("gpu-1", "stat -c '%t:%T %a' /dev/nvidia2 /dev/nvidia3").stdout.split()
    assert listed == ["c3:2", "666", "c3:3", "666"]


def test_ecc_error_is_counted_on_that_gpu_only(lab: TrialLab) -> None:
    query = "nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader"
    faults.break_fault(lab.name, Fault(kind=Kind.ECC_ERROR, node="gpu-1", gpu=5))
    assert lab.ssh("gpu-1", query).stdout.split() == ["0", "0", "0", "0", "0", "4", "0", "0"]
    faults.mend(lab.name)
    assert set(lab.ssh("gpu-1", query).stdout.split()) == {"0"}


def test_dead_daemon_stays_dead_until_mended(lab: TrialLab) -> None:
    unit = "prometheus-node-exporter.service"
    with pytest.raises(UsageError, match="cannot die"):
        faults.break_fault(lab.name, Fault(kind=Kind.DAEMON_DEAD, node="gpu-2", unit=unit))
    assert lab.ssh("gpu-2", f"systemctl start {unit}").ok
    faults.break_fault(lab.name, Fault(kind=Kind.DAEMON_DEAD, node="gpu-2", unit=unit))
    time.sleep(1)
    assert not lab.ssh("gpu-2", f"systemctl is-active {unit}").ok
    faults.mend(lab.name)
    assert lab.ssh("gpu-2", f"systemctl is-active {unit}").ok


def _written_mb_per_s(lab: TrialLab, node: str) -> float:
    command = (
        "fio --name=w --filename=/var/tmp/fio --size=16m --bs=1m --rw=write --direct=1 "
        "--output-format=json; rm /var/tmp/fio"
    )
    report = json.loads(lab.ssh(node, command).stdout)
    return float(report["jobs"][0]["write"]["bw_bytes"]) / 1e6


def test_slow_disk_is_slow_on_that_node_only(lab: TrialLab) -> None:
    healthy = _written_mb_per_s(lab, "gpu-1")
    faults.break_fault(lab.name, Fault(kind=Kind.SLOW_DISK, node="gpu-1", mbps=8))
    assert _written_mb_per_s(lab, "gpu-1") < 10
    assert _written_mb_per_s(lab, "gpu-2") > 16
    faults.mend(lab.name)
    assert _written_mb_per_s(lab, "gpu-1") > min(16, healthy / 2)


def _cpu_seconds(lab: TrialLab, node: str) -> float:
    """Return wall time per CPU time of a busy process: 1 when it has a core for itself."""
    program = (
        "import time; a, c = time.monotonic(), time.process_time()\n"
        "while time.process_time() - c < 0.5: pass\n"
        "print((time.monotonic() - a) / 0.5)"
    )
    return float(lab.ssh(node, f"python3 -c '{program}'").stdout)


def test_throttled_cpu_takes_its_share_of_one_core_only(lab: TrialLab) -> None:
    faults.break_fault(lab.name, Fault(kind=Kind.CPU_THROTTLED, node="gpu-1", percent=75))
    assert _cpu_seconds(lab, "gpu-1") > 3
    faults.mend(lab.name)
    assert min(_cpu_seconds(lab, "gpu-1") for _ in range(3)) < 3


def test_wrong_clock_is_seen_by_new_processes(lab: TrialLab) -> None:
    faults.break_fault(lab.name, Fault(kind=Kind.WRONG_CLOCK, node="gpu-1", seconds=120))
    assert 110 < int(lab.ssh("gpu-1", "date +%s").stdout) - time.time() < 130
    assert abs(int(lab.ssh("gpu-2", "date +%s").stdout) - time.time()) < 10
    faults.mend(lab.name)
    assert abs(int(lab.ssh("gpu-1", "date +%s").stdout) - time.time()) < 10


def test_hung_node_accepts_connections_and_says_nothing(lab: TrialLab) -> None:
    faults.break_fault(lab.name, Fault(kind=Kind.HUNG_NODE, node="gpu-4"))
    assert lab.ssh("gpu-1", "ping -c1 -W2 gpu-4").ok
    assert not lab.ssh("gpu-4", "true", timeout_s=20).ok
    faults.mend(lab.name)
    assert lab.ssh("gpu-4", "true").ok


def test_faults_of_all_kinds_together_are_mended_at_once(lab: TrialLab) -> None:
    for fault in (
        Fault(kind=Kind.RAIL_DOWN, node="gpu-4", rail=0),
        Fault(kind=Kind.SLOW_RAIL, node="gpu-4", rail=0, percent=50),
        Fault(kind=Kind.PACKET_LOSS, node="gpu-4", rail=1, percent=1),
        Fault(kind=Kind.MISSING_GPU, node="gpu-4", gpu=0),
        Fault(kind=Kind.WRONG_CLOCK, node="gpu-4", seconds=-60),
        Fault(kind=Kind.HUNG_NODE, node="gpu-4"),
    ):
        faults.break_fault(lab.name, fault)
    assert len(faults.mend(lab.name)) == 6
    assert _rate(lab, "gpu-3", "gpu-4")[0] > 36
    assert len(lab.ssh("gpu-4", "nvidia-smi -L").stdout.splitlines()) == 8
