"""A lab comes up, is adopted, repaired and removed, whatever was killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from muster.errors import UsageError
from muster.lab import cgroups, netns, network, node, teardown, testing
from muster.lab.model import NodeState
from muster.lab.paths import lab_paths, lab_root
from muster.lab.testing import TrialLab

pytestmark = pytest.mark.lab

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab(make_lab: Callable[..., TrialLab]) -> TrialLab:
    return make_lab(nodes=2, leaves=2)


def _adopt(lab: TrialLab) -> TrialLab:
    return testing.bring_up(lab.wish, project=PROJECT)


def _command_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")
    except OSError:
        return ""


def _supervisor(lab: str, name: str) -> int:
    """Return the one nspawn of a node; fails where there are two, or none."""
    pids = cgroups.pids(f"muster-{lab}/{name}")
    found = [pid for pid in pids if _command_name(pid).startswith("systemd-nspawn")]
    assert len(found) == 1
    return found[0]


def _traces(lab: str) -> list[str]:
    """All that names the lab on this machine, found without our own code."""
    commands = (
        "cat /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -v pytest",
        "cat /proc/self/mountinfo",
        "ls /run/netns",
        "ip -o link",
        "find /sys/fs/cgroup -type d -name 'muster-*'",
        "nft list tables",
        "find /run/systemd/nspawn -maxdepth 2",
        f"find {lab_root()} -maxdepth 2 -not -path '{lab_root()}/img*'",
        f"cat {lab_root()}/ranges.json",
    )
    found: list[str] = []
    for command in commands:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        found += [line for line in done.stdout.splitlines() if lab in line]
    return found


def test_nodes_boot_know_each_other_and_have_what_was_wished(lab: TrialLab) -> None:
    for name in ("head", "gpu-1", "gpu-2"):
        assert lab.ssh(name, "hostname").stdout.strip() == name
        assert lab.ssh(name, "ping -c1 -W2 head && ping -c1 -W2 gpu-2").ok
        assert lab.ssh(name, "cat /etc/muster/serial").stdout.strip() == lab.nodes[name].serial
        assert lab.ssh(name, "cat /shared/.muster-fs-id").stdout.strip() == lab.name
        boot = lab.ssh(name, "cat /proc/sys/kernel/random/boot_id").stdout.strip()
        assert boot == lab.nodes[name].boot_id == node.boot_id(lab.name, name)
    assert lab.ssh("gpu-1", "ls /sys/class/net").stdout.split() == ["eth0", "lo", "rail0", "rail1"]
    assert len(lab.ssh("gpu-1", "nvidia-smi -L").stdout.splitlines()) == 8
    assert not lab.ssh("head", "ls /dev/nvidia0").ok
    assert lab.ssh("head", "nvidia-smi").rc == 127
    assert len({made.serial for made in lab.nodes.values()}) == 3


def test_services_of_one_node_are_not_those_of_another(lab: TrialLab) -> None:
    assert lab.ssh("gpu-1", "systemctl kill -s KILL --kill-whom=all dbus").ok
    assert lab.ssh("gpu-2", "systemctl show -P NRestarts dbus; systemctl is-active dbus").ok
    assert lab.ssh("gpu-2", "systemctl is-system-running").stdout.strip() == "running"
    assert lab.ssh("gpu-1", "systemctl reset-failed; systemctl restart dbus").ok


def test_a_second_run_adopts_what_is_there(lab: TrialLab) -> None:
    assert network.network_problems(lab.wish) == []
    began_s = time.monotonic()
    again = _adopt(lab)
    assert again.nodes == lab.nodes
    assert again.network == lab.network
    assert time.monotonic() - began_s < 20


def test_a_node_whose_supervisor_was_killed_is_booted_again_alone(lab: TrialLab) -> None:
    os.kill(_supervisor(lab.name, "gpu-1"), signal.SIGKILL)
    time.sleep(0.5)
    assert node.node_state(lab.name, "gpu-1") is NodeState.DEAD
    again = _adopt(lab)
    assert node.node_state(lab.name, "gpu-1") is NodeState.RUNNING
    assert again.nodes["gpu-1"].boot_id != lab.nodes["gpu-1"].boot_id
    assert again.nodes["gpu-1"].serial == lab.nodes["gpu-1"].serial
    assert again.nodes["gpu-1"].host_key == lab.nodes["gpu-1"].host_key
    assert node.boot_id(lab.name, "gpu-2") == lab.nodes["gpu-2"].boot_id
    assert again.ssh("gpu-1", "ping -c1 -W2 10.213.0.2").ok


def test_a_node_that_was_powered_off_is_booted_again(lab: TrialLab) -> None:
    lab.ssh("gpu-2", "systemctl poweroff")
    deadline_s = time.monotonic() + 20
    while node.node_state(lab.name, "gpu-2") is not NodeState.DEAD:
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    again = _adopt(lab)
    assert again.nodes["gpu-2"].serial == lab.nodes["gpu-2"].serial
    assert again.ssh("gpu-2", "systemctl is-system-running").stdout.strip() == "running"


def test_a_node_that_reboots_comes_back_by_itself(lab: TrialLab) -> None:
    before = node.boot_id(lab.name, "gpu-1")
    lab.ssh("gpu-1", "systemctl reboot")
    deadline_s = time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline_s
        time.sleep(0.5)
        asked = "systemctl is-system-running --wait; cat /proc/sys/kernel/random/boot_id"
        done = lab.ssh("gpu-1", asked)
        if done.ok and before not in done.stdout:
            break
    assert done.stdout.splitlines()[0] == "running"
    assert lab.ssh("gpu-1", "ping -c1 -W2 10.212.0.2").ok


def test_a_removed_node_comes_back_as_another_machine(lab: TrialLab) -> None:
    node.remove_node(lab.name, "gpu-2")
    assert node.node_state(lab.name, "gpu-2") is NodeState.ABSENT
    assert f"{lab.name}-gpu-2" not in netns.names()
    node.remove_node(lab.name, "gpu-2")
    again = _adopt(lab)
    assert again.nodes["gpu-2"].serial != lab.nodes["gpu-2"].serial
    assert again.ssh("gpu-2", "hostname").stdout.strip() == "gpu-2"


def test_what_is_missing_in_the_network_is_named_and_repaired(lab: TrialLab) -> None:
    boots = {name: node.boot_id(lab.name, name) for name in lab.nodes}
    fabric = f"{lab.name}-fabric"
    netns.batch(fabric, "ip", ["link del dev l0r1", "link set dev n2r0 down"])
    netns.batch(fabric, "tc", ["qdisc del dev u1r0 root"])
    problems = "\n".join(network.network_problems(lab.wish))
    for part in ("l0r1 is missing", "n2r0 is not up", "u1r0 is not limited to 40000"):
        assert f"{fabric}: {part}" in problems
    netns.remove(fabric)
    assert "the fabric is missing" in network.network_problems(lab.wish)
    _adopt(lab)
    assert network.network_problems(lab.wish) == []
    assert lab.ssh("gpu-1", "ping -c1 -W2 10.212.0.2 && ping -c1 -W2 10.213.0.2").ok
    assert {name: node.boot_id(lab.name, name) for name in lab.nodes} == boots


def test_a_changed_wish_is_applied_without_a_boot(lab: TrialLab) -> None:
    boots = {name: node.boot_id(lab.name, name) for name in lab.nodes}
    leaves = {"leaf0": ("gpu-1",), "leaf1": ("gpu-2",), "leaf2": ("gpu-3",)}
    wider = replace(lab.wish, rail_rate_mbit=20, leaves=leaves)
    assert network.network_problems(wider)
    network.ensure_network(wider, PROJECT)
    assert "gpu-3" in lab.ssh("gpu-1", "cat /etc/hosts").stdout
    grown = testing.bring_up(wider, project=PROJECT)
    assert network.network_problems(wider) == []
    assert grown.network.management_cidr == lab.network.management_cidr
    assert grown.ssh("gpu-1", "ping -c1 -W2 gpu-3 && ping -c1 -W2 10.212.0.3").ok
    node.remove_node(lab.name, "gpu-3")
    _adopt(lab)
    assert network.network_problems(lab.wish) == []
    assert {name: node.boot_id(lab.name, name) for name in lab.nodes} == boots


def test_a_lab_of_another_project_is_refused_and_one_whose_project_is_gone_is_adopted(
    lab: TrialLab, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="belongs to"):
        network.ensure_network(lab.wish, tmp_path)
    other = tmp_path / "gone"
    other.mkdir()
    owner = lab_paths(lab.name).owner_file
    before = owner.read_text(encoding="utf-8")
    try:
        owner.write_text(before.replace(str(PROJECT), str(other)), encoding="utf-8")
        with pytest.raises(UsageError, match="gone"):
            network.ensure_network(lab.wish, PROJECT)
        other.rmdir()
        network.ensure_network(lab.wish, PROJECT)
    finally:
        owner.write_text(before, encoding="utf-8")


def test_two_labs_whose_names_begin_alike_do_not_touch_each_other(
    lab_names: Callable[[], str],
) -> None:
    short = lab_names()
    long = f"{short}0"
    try:
        first, second = (
            testing.bring_up(testing.network_wish(name, nodes=1), project=PROJECT, head=False)
            for name in (short, long)
        )
        assert first.network.management_cidr != second.network.management_cidr
        assert second.ssh("gpu-1", "hostname").ok
        teardown.remove_lab(short)
        assert teardown.leftovers(short) == []
        assert node.boot_id(long, "gpu-1") == second.nodes["gpu-1"].boot_id
        assert second.ssh("gpu-1", "hostname").ok
        assert network.network_problems(second.wish) == []
    finally:
        teardown.remove_lab(long)
    assert _traces(short) == []


_CHILD = """
import sys
from pathlib import Path
from muster.lab import testing
testing.bring_up(testing.network_wish(sys.argv[1], nodes=2), project=Path(sys.argv[2]))
"""


@pytest.mark.parametrize("after_s", [0.6, 0.9, 1.3, 2.0, 3.5])
def test_a_run_killed_at_any_moment_is_finished_by_the_next(
    lab_names: Callable[[], str], after_s: float
) -> None:
    name = lab_names()
    argv = [sys.executable, "-c", _CHILD, name, str(PROJECT)]
    with subprocess.Popen(argv, start_new_session=True) as child:
        time.sleep(after_s)
        os.killpg(child.pid, signal.SIGKILL)
    done = testing.bring_up(testing.network_wish(name, nodes=2), project=PROJECT)
    assert network.network_problems(done.wish) == []
    for member in done.nodes:
        assert done.ssh(member, "systemctl is-system-running").stdout.strip() == "running"
        _supervisor(name, member)
    teardown.remove_lab(name)
    assert _traces(name) == []


def test_a_half_made_lab_is_removed_without_a_trace(lab_names: Callable[[], str]) -> None:
    name = lab_names()
    made = testing.bring_up(testing.network_wish(name, nodes=2), project=PROJECT, head=False)
    os.kill(_supervisor(name, "gpu-1"), signal.SIGKILL)
    cgroups.freeze(f"muster-{name}/gpu-2", stop=True)
    made.paths.network_file.unlink()
    made.paths.owner_file.unlink()
    netns.remove(f"{name}-gpu-1")
    assert teardown.leftovers(name) != []
    teardown.remove_lab(name)
    assert _traces(name) == []
    assert made.network.management_cidr not in netns.routes_and_addresses()[0]
    teardown.remove_lab(name)
