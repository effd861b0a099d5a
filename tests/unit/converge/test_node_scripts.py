"""The scripts that run on nodes, run here as programs with a false nvidia-smi and scontrol."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from muster import shell
from muster.converge.options import lab_options
from muster.converge.slurm_config import render, texts
from muster.fleet import Mount
from muster.shell import Completed
from tests.unit.converge.sample import TYPES, lab_fleet

EIGHT = "\n".join(str(i) for i in range(8))


@dataclass
class Machine:
    """A directory that stands for a node."""

    root: Path

    def program(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def nvidia_smi(self, output: str, rc: int = 0) -> None:
        self.program("nvidia-smi", f"cat <<'E'\n{output}\nE\nexit {rc}")

    def run(self, name: str) -> Completed:
        env = {
            "MUSTER_NODES_FILE": str(self.root / "nodes"),
            "MUSTER_NODE_NAME": "gpu-1",
            "MUSTER_SHARED_DIRECTORY": str(self.root / "shared"),
            "MUSTER_DEVICES": str(self.root / "dev"),
            "MUSTER_FABRIC_FILE": str(self.root / "fabric"),
            "PATH": "/usr/bin:/bin",
        }
        return shell.run([str(self.root / "bin" / name)], timeout_s=30, env=env)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A healthy node with eight GPUs."""
    for folder in ("bin", "dev", "shared"):
        (tmp_path / folder).mkdir()
    found = Machine(tmp_path)
    rendered = texts(render(lab_fleet(), TYPES, lab_options()))
    for name in ("muster-node-check", "muster-node-health"):
        text = rendered[f"nodes/usr/local/sbin/{name}"]
        body = text.replace("export PATH=", f"export PATH={tmp_path / 'bin'}:")
        (tmp_path / "bin" / name).write_text(body, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "nodes").write_text(rendered["nodes/etc/muster/nodes"], encoding="utf-8")
    (tmp_path / "shared" / ".muster-fs-id").touch()
    for i in range(8):
        (tmp_path / "dev" / f"nvidia{i}").touch()
    (tmp_path / "dev" / "nvidiactl").touch()
    found.nvidia_smi(EIGHT)
    return found


def test_healthy_node_passes(machine: Machine) -> None:
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout) == (0, "")


def test_missing_gpu_fails_and_is_counted(machine: Machine) -> None:
    machine.nvidia_smi(EIGHT.rsplit("\n", 1)[0])
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout) == (1, "gpu-count: 7 GPUs answer; expected 8\n")


def test_lost_gpu_fails_although_eight_lines_are_printed(machine: Machine) -> None:
    machine.nvidia_smi(EIGHT, rc=255)
    done = machine.run("muster-node-check")
    assert done.rc == 1
    assert 'status 255 and said "7"; expected 8 GPUs' in done.stdout


def test_gpu_without_device_file_fails(machine: Machine) -> None:
    (machine.root / "dev" / "nvidia3").unlink()
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout.split(":")[0]) == (1, "gpu-count")


def test_shared_directory_that_is_not_mounted_fails(machine: Machine) -> None:
    (machine.root / "shared" / ".muster-fs-id").unlink()
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout.split(":")[0]) == (1, "shared-mount")


def test_node_that_nobody_expects_is_unknown_not_passed(machine: Machine) -> None:
    (machine.root / "nodes").write_text("other S 8\n", encoding="utf-8")
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout.split(":")[0]) == (3, "node-known")


def test_missing_vendor_tool_is_unknown_not_passed(machine: Machine) -> None:
    (machine.root / "bin" / "nvidia-smi").unlink()
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout.split(":")[0]) == (3, "gpu-count")


def test_gpus_of_amd_are_counted_by_its_own_tool(machine: Machine) -> None:
    (machine.root / "bin" / "nvidia-smi").unlink()
    gpus = "".join(f"GPU: {i}\n    BDF: 0000:0{i}:00.0\n" for i in range(8))
    machine.program("amd-smi", f"cat <<'E'\n{gpus}E")
    assert machine.run("muster-node-check").rc == 0
    machine.program("amd-smi", f"cat <<'E'\n{gpus.replace('GPU: 7', '')}E")
    done = machine.run("muster-node-check")
    assert (done.rc, done.stdout) == (1, "gpu-count: 7 GPUs answer; expected 8\n")
    machine.program("amd-smi", "echo no driver >&2; exit 1")
    assert (
        'amd-smi ended with status 1 and said "no driver"'
        in machine.run("muster-node-check").stdout
    )


def port(machine: Machine, name: str, layer: str = "Unspecified", state: str = "4: ACTIVE") -> None:
    folder = machine.root / "infiniband" / name / "ports" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link_layer").write_text(f"{layer}\n", encoding="utf-8")
    (folder / "state").write_text(f"{state}\n", encoding="utf-8")


@pytest.fixture
def fabric(machine: Machine) -> Machine:
    """A node with four EFA ports that are up, and one port of another kind that is down."""
    for i in range(4):
        port(machine, f"rdmap{i}s0")
    port(machine, "mlx5_0", "InfiniBand", "1: DOWN")
    wanted = f"Unspecified 4 {machine.root / 'infiniband'}\n"
    (machine.root / "fabric").write_text(wanted, encoding="utf-8")
    return machine


def test_a_fabric_whose_ports_are_all_up_passes(fabric: Machine) -> None:
    assert fabric.run("muster-node-check").stdout == ""


def test_a_port_that_is_down_fails(fabric: Machine) -> None:
    port(fabric, "rdmap3s0", state="1: DOWN")
    done = fabric.run("muster-node-check")
    expected = "fabric-ports: 3 Unspecified ports are active; expected 4\n"
    assert (done.rc, done.stdout) == (1, expected)


def test_a_port_that_cannot_be_read_is_not_counted(fabric: Machine) -> None:
    (fabric.root / "infiniband" / "rdmap3s0" / "ports" / "1" / "state").unlink()
    assert fabric.run("muster-node-check").rc == 1


def test_a_fabric_that_nobody_described_is_unknown_not_passed(fabric: Machine) -> None:
    (fabric.root / "fabric").write_text("Unspecified\n", encoding="utf-8")
    done = fabric.run("muster-node-check")
    assert (done.rc, done.stdout.split(":")[0]) == (3, "fabric-ports")


def health(machine: Machine, state: str) -> tuple[int, str]:
    """Run the health program against a node state; its exit status and what it asked of Slurm."""
    log = machine.root / "asked"
    machine.program(
        "scontrol", f'case "$*" in *show*) echo "{state}";; *) echo "$*" >> {log};; esac'
    )
    done = machine.run("muster-node-health")
    return done.rc, log.read_text(encoding="utf-8") if log.exists() else ""


def test_health_leaves_a_healthy_node_alone(machine: Machine) -> None:
    assert health(machine, "NodeName=gpu-1 State=IDLE") == (0, "")


def test_health_drains_a_bad_node_with_our_reason(machine: Machine) -> None:
    machine.nvidia_smi("0")
    rc, asked = health(machine, "NodeName=gpu-1 State=IDLE")
    assert rc == 1
    assert asked == (
        "update nodename=gpu-1 state=drain "
        "reason=muster:gpu-count:fail:health 1 GPUs answer; expected 8\n"
    )


def test_health_says_unknown_where_it_could_not_tell(machine: Machine) -> None:
    (machine.root / "bin" / "nvidia-smi").unlink()
    assert "muster:gpu-count:unknown:health" in health(machine, "State=IDLE")[1]


def test_health_never_writes_over_a_reason_that_stands(machine: Machine) -> None:
    machine.nvidia_smi("0")
    state = "NodeName=gpu-1 State=IDLE+DRAIN Reason=fan is loud [root@now]"
    assert health(machine, state) == (1, "")


@pytest.fixture
def reservation(tmp_path: Path) -> ModuleType:
    """The program that fills the reservation, as a module."""
    text = texts(render(lab_fleet(), TYPES, lab_options()))[
        "head/usr/local/sbin/muster-reservation"
    ]
    path = tmp_path / "muster_reservation.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("muster_reservation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KNOWN = {("a", "1"), ("b", "2"), ("c", "3")}


def test_nodes_that_were_never_accepted_are_all_reserved(reservation: ModuleType) -> None:
    assert reservation.plan(KNOWN, set(), None) == {"a", "b", "c"}


def test_accepted_nodes_stay_with_their_users(reservation: ModuleType) -> None:
    assert reservation.plan(KNOWN, {("a", "1"), ("b", "2")}, {"c"}) == {"c"}


def test_new_hardware_under_an_old_name_is_reserved_again(reservation: ModuleType) -> None:
    assert reservation.plan(KNOWN, {("a", "1"), ("b", "0"), ("c", "3")}, set()) == {"b"}


def test_node_that_acceptance_holds_is_not_let_go(reservation: ModuleType) -> None:
    assert reservation.plan(KNOWN, KNOWN, {"a"}) == {"a"}


def test_node_that_no_longer_exists_is_dropped(reservation: ModuleType) -> None:
    assert reservation.plan(KNOWN, KNOWN, {"a", "gone"}) == {"a"}


@dataclass
class Mounting:
    """muster-mount, on a machine where `mount` makes a directory a mount point."""

    root: Path

    def run(self, *words: str) -> Completed:
        return shell.run([str(self.root / "muster-mount"), *words], timeout_s=30)

    def program(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        path = self.root / "asked"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def mounting(tmp_path: Path) -> Mounting:
    (tmp_path / "bin").mkdir()
    found = Mounting(tmp_path)
    found.program("mountpoint", f'grep -qx "$2" {tmp_path}/mounted 2>/dev/null')
    found.program(
        "mount",
        f'echo "$@" >>{tmp_path}/asked; for path; do :; done; echo "$path" >>{tmp_path}/mounted',
    )
    mount = Mount(path=f"{tmp_path}/fsx", source="fs-1@tcp:/abc", kind="lustre", options="flock")
    fleet = lab_fleet().model_copy(update={"mounts": (mount,)})
    text = texts(render(fleet, TYPES, lab_options()))["nodes/usr/local/sbin/muster-mount"]
    program = tmp_path / "muster-mount"
    program.write_text(text.replace("export PATH=", f"export PATH={tmp_path}/bin:"))
    program.chmod(0o755)
    return found


def test_a_file_system_is_mounted_once_and_marked(mounting: Mounting) -> None:
    assert mounting.run().rc == 0
    assert mounting.asked == [f"-t lustre -o flock fs-1@tcp:/abc {mounting.root}/fsx"]
    marker = mounting.root / "fsx" / ".muster-fs-id"
    assert marker.read_text(encoding="utf-8") == "fs-1@tcp:/abc\n"
    assert (mounting.run().rc, len(mounting.asked)) == (0, 1)


def test_a_marker_that_is_there_stays_as_it_is(mounting: Mounting) -> None:
    mounting.run()
    marker = mounting.root / "fsx" / ".muster-fs-id"
    marker.write_text("of another stack\n", encoding="utf-8")
    assert mounting.run().rc == 0
    assert marker.read_text(encoding="utf-8") == "of another stack\n"


def test_a_file_system_that_cannot_be_mounted_fails_and_marks_nothing(mounting: Mounting) -> None:
    mounting.program("mount", "echo unknown filesystem type >&2; exit 32")
    done = mounting.run()
    assert done.rc == 1
    assert "unknown filesystem type" in done.stderr
    assert "fs-1@tcp:/abc is not mounted" in done.stderr
    assert not (mounting.root / "fsx" / ".muster-fs-id").exists()


def test_a_check_says_what_is_not_mounted_and_changes_nothing(mounting: Mounting) -> None:
    assert mounting.run("--check").rc == 1
    assert not mounting.asked
    assert not (mounting.root / "fsx").exists()
    mounting.run()
    assert mounting.run("--check").rc == 0
