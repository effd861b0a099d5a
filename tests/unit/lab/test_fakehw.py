"""Fake hardware, read by the very code that judges a node: right, and with each thing broken."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from muster.lab.fakehw import install
from muster.lab.fakehw.faults import FAULTS, Fault, patched
from muster.lab.fakehw.node import kernel, lustre, settings, tree
from muster.lab.fakehw.node.machine import PACKAGES, PROCFS, STATE, SYSFS, Answer, Machine
from muster.lab.fakehw.node.main import OVERRIDES, TOOLS, answer
from muster.lab.fakehw.platforms import PLATFORMS
from tests.lab.software.packages import OS, deb, load_row
from tests.lab.software.repository import brought
from tests.lab.software.uses import HARDWARE, uses
from tests.unit.roles.modules import load

JUDGE, LUSTRE = load("gpu_software"), load("lustre_client")
READ_BACK = frozenset(JUDGE.CHECKS)
CDI = "nvidia-ctk cdi generate --output=/run/cdi/nvidia.yaml"


class Node:
    """A node below a directory: fake hardware, the row's packages, and a boot."""

    def __init__(self, root: Path, platform: str) -> None:
        self.root = root
        install.install(root, copy.deepcopy(PLATFORMS[platform]))
        (root / PACKAGES).mkdir(parents=True)
        for use in uses()[platform]:
            for package in use.variables.get(f"{use.role}_packages", ()):
                self.add(package["name"], package["version"])
        (root / "etc/modprobe.d").mkdir(parents=True)
        (root / "etc/modprobe.d/nouveau.conf").write_text("blacklist nouveau\n", encoding="utf-8")
        (root / "etc/modules-load.d").mkdir()
        names = "nvidia_uvm\ngdrdrv\namdgpu\n"
        (root / "etc/modules-load.d/gpu.conf").write_text(names, encoding="utf-8")
        self.boot()

    def add(self, name: str, version: str) -> None:
        facts = json.dumps(brought(deb(name, version)))
        (self.root / PACKAGES / f"{name}.json").write_text(facts, encoding="utf-8")

    def boot(self) -> None:
        machine = Machine(self.root)
        kernel.boot(machine)
        # What the fabric manager does once it runs.
        machine.gpu["fabric_ready"] = True
        machine.save()
        tree.write(machine)
        if machine.gpu["vendor"] == "nvidia":
            self.run(CDI.split())

    def break_(self, patch: dict[str, Any]) -> None:
        install.write_state(self.root, patched(Machine(self.root).state, patch))
        tree.write(Machine(self.root))

    def run(self, argv: Sequence[str]) -> tuple[int, str]:
        name, *rest = argv
        if name == "systemctl":
            return 0, "active\n"
        there = name in OVERRIDES or bool(Machine(self.root).version_of(name))
        if not there:
            return 127, f"{name}: not found"
        given = answer(self.root, name, rest)
        return given.status, given.out or given.err

    def read(self, path: str) -> str:
        kind, _, rest = path.partition("/")
        place = {"procfs": PROCFS, "sysfs": SYSFS}.get(kind)
        file = self.root / place / rest if place else self.root / PROCFS / path
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def findings(self, part: str, expected: dict[str, Any]) -> list[str]:
        node = JUDGE.Node(run=self.run, read=self.read)
        found: list[str] = JUDGE.findings(part, node, expected)
        return found


def expected(platform: str, role: str) -> dict[str, Any]:
    """Return what the role gives the module for this platform."""
    use = next(use for use in uses()[platform] if use.role == role)
    hardware, version = HARDWARE[platform], use.variables.get(f"{role}_version", "")
    special: dict[str, dict[str, Any]] = {
        "nvidia_driver": {"open": True, "modules": ["nvidia", "nvidia_uvm"]},
        "nvidia_fabric": {"nvswitch": hardware.nvswitch, "reports_state": True},
        "container_toolkit": {"cdi": True},
        "rocm": {"driver_version": "96.14.0"},
    }
    return {"version": version, "gpus": hardware.gpu_count, **special.get(role, {})}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Node]:
    return {name: Node(tmp_path_factory.mktemp(name), name) for name in PLATFORMS}


def judged(platform: str) -> list[str]:
    return [use.role for use in uses()[platform] if use.role in READ_BACK]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_healthy_platform_has_nothing_wrong(healthy: dict[str, Node], platform: str) -> None:
    for role in judged(platform):
        assert healthy[platform].findings(role, expected(platform, role)) == [], role


STATES = {name: f for name, f in FAULTS.items() if f.patch and f.role in READ_BACK}


@pytest.mark.parametrize("fault", STATES.values(), ids=STATES)
def test_broken_state_is_named(tmp_path: Path, fault: Fault) -> None:
    node = Node(tmp_path, fault.platform)
    node.break_(dict(fault.patch))
    found = "; ".join(node.findings(fault.role, expected(fault.platform, fault.role)))
    assert fault.says in found


@pytest.mark.parametrize("tool", ["nvidia-smi", "nv-fabricmanager", "dcgmi", "nvcc", "nvidia-ctk"])
def test_tool_is_not_there_before_its_package_is(tmp_path: Path, tool: str) -> None:
    install.install(tmp_path, copy.deepcopy(PLATFORMS["h100-efa"]))
    assert not Machine(tmp_path).version_of(tool)
    assert not (tmp_path / "usr/local/bin" / tool).exists()


def test_every_tool_refuses_what_it_was_not_taught(healthy: dict[str, Node]) -> None:
    silent = {"depmod", "update-initramfs", "dracut", "udevadm", "ldconfig", "ldd", "rocminfo"}
    lists = {"lsmod", "nvcc", "gdrcopy_sanity", "show_gids", "ibstat", "ibv_devinfo", "rocm-smi"}
    for platform, node in healthy.items():
        for name in set(TOOLS) - silent - lists:
            given = answer(node.root, name, ["--no-such-question"])
            assert given.status != 0, f"{platform}: {name}"


def test_upgrade_leaves_the_old_driver_loaded_until_a_boot(tmp_path: Path) -> None:
    node = Node(tmp_path, "l40s-ethernet")
    for name in ("nvidia-kernel-open-dkms", "nvidia-driver-cuda"):
        node.add(name, "990.20.2-1")
    assert node.run(["modinfo", "-F", "version", "nvidia"]) == (0, "990.20.2\n")
    status, said = node.run(["nvidia-smi"])
    assert (status, "Driver/library version mismatch" in said) == (18, True)
    node.boot()
    assert node.run(["nvidia-smi"])[0] == 0


def test_uname_answers_what_ansible_asks_before_a_reboot(tmp_path: Path) -> None:
    status, said = Node(tmp_path, "cpu").run(["uname", "-v"])
    assert (status, said[:6]) == (0, "#1 SMP")


def test_boot_takes_the_newest_kernel_and_modules_of_the_old_one_are_gone(tmp_path: Path) -> None:
    node = Node(tmp_path, "h100-efa")
    assert node.run(["modprobe", "lustre"]) == (0, "")
    (tmp_path / PACKAGES / "newer.json").write_text('{"kernel": "6.12.57+deb13-cloud-amd64"}')
    node.boot()
    assert node.run(["uname", "-r"]) == (0, "6.12.57+deb13-cloud-amd64\n")
    assert "lustre not found" in node.run(["modprobe", "lustre"])[1]


def test_module_in_use_stays_and_nouveau_keeps_the_driver_out(tmp_path: Path) -> None:
    node = Node(tmp_path, "l40s-ethernet")
    assert "in use by: nvidia_uvm" in node.run(["rmmod", "nvidia"])[1]
    assert node.run(["modprobe", "-r", "nvidia_uvm"])[0] == 0
    assert node.run(["rmmod", "nvidia"])[0] == 0
    assert not (tmp_path / PROCFS / "driver/nvidia/version").exists()
    node.break_({"loaded": {"nouveau": {}}})
    assert "No such device" in node.run(["modprobe", "nvidia"])[1]


def lustre_node(root: Path) -> Node:
    node = Node(root, "h100-efa")
    for number in range(8):
        node.run(["modprobe", "lnet"])
        argv = ["lnetctl", "net", "add", "--net", "efa", "--if", f"rdmap{number}s0"]
        assert node.run([*argv, "--peer-credits", "32"])[0] == 0
    assert lustre.mount(Machine(root)) == ""
    tree.write(Machine(root))
    return node


def ask_servers(node: Node) -> list[str]:
    show = ["lnetctl", "net", "show", "-v", "--net", "efa"]
    before = LUSTRE.parse_interfaces(node.run(show)[1])
    assert node.run(["lfs", "df", "/fsx"])[0] == 0
    faults: list[str] = LUSTRE.efa_faults(before, LUSTRE.parse_interfaces(node.run(show)[1]), 32)
    return faults


def test_data_of_lustre_go_over_efa_or_that_is_named(tmp_path: Path) -> None:
    node = lustre_node(tmp_path)
    assert LUSTRE.mounted(node.read("procfs/mounts")) == ["/fsx"]
    assert ask_servers(node) == []
    node.break_(dict(FAULTS["lustre-over-tcp"].patch))
    assert FAULTS["lustre-over-tcp"].says in "; ".join(ask_servers(node))
    node.break_(dict(FAULTS["lustre-without-efa-interfaces"].patch))
    assert FAULTS["lustre-without-efa-interfaces"].says in "; ".join(ask_servers(node))


def test_mount_forgets_what_was_tuned(tmp_path: Path) -> None:
    node = lustre_node(tmp_path)
    name = "osc.*.max_rpcs_in_flight"
    wanted = [{"name": name, "value": 32}]
    node.run(["lctl", "set_param", f"{name}=32"])
    assert LUSTRE.parameter_faults(wanted, {name: node.run(["lctl", "get_param", name])[1]}) == []
    assert lustre.mount(Machine(tmp_path)) == ""
    said = LUSTRE.parameter_faults(wanted, {name: node.run(["lctl", "get_param", name])[1]})
    assert FAULTS["lustre-not-tuned-after-a-mount"].says in said[0]


def test_boot_sets_what_sysctl_and_tmpfiles_say(tmp_path: Path) -> None:
    node = Node(tmp_path, "cpu")
    for folder, text in {
        "sysctl.d": "kernel.numa_balancing = 0\n",
        "tmpfiles.d": "w- /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n",
    }.items():
        (tmp_path / "etc" / folder).mkdir(exist_ok=True)
        (tmp_path / "etc" / folder / "90.conf").write_text(text, encoding="utf-8")
    settings.boot(Machine(tmp_path))
    assert node.run(["sysctl", "-n", "kernel.numa_balancing"]) == (0, "0\n")
    enabled = tmp_path / SYSFS / "kernel/mm/transparent_hugepage/enabled"
    assert enabled.read_text(encoding="utf-8") == "always [madvise] never\n"


def test_kernel_gives_fewer_huge_pages_than_asked_for_without_an_error(tmp_path: Path) -> None:
    node = Node(tmp_path, "cpu")
    node.break_({"sysctl_ceilings": {"vm.nr_hugepages": 64}})
    assert node.run(["sysctl", "-w", "vm.nr_hugepages=128"])[0] == 0
    assert node.run(["sysctl", "-n", "vm.nr_hugepages"]) == (0, "64\n")


def test_setting_below_sys_is_a_choice(tmp_path: Path) -> None:
    node = Node(tmp_path, "cpu")
    path = "kernel/mm/transparent_hugepage/enabled"
    node.run(["fakehw-setting", f"/sys/{path}", "never"])
    assert (tmp_path / SYSFS / path).read_text(encoding="utf-8") == "always madvise [never]\n"


def test_answer_of_ones_own_stands_for_any_tool(tmp_path: Path) -> None:
    node = Node(tmp_path, "cpu")
    node.break_({"answers": {"uname": {"out": "", "err": "cut", "status": 3}}})
    assert answer(tmp_path, "uname", ["-r"]) == Answer("", "cut", 3)


def test_program_runs_as_nodes_run_it(tmp_path: Path) -> None:
    node = Node(tmp_path, "l40s-ethernet")
    link = tmp_path / "nvidia-smi"
    link.symlink_to(tmp_path / install.PROGRAM)
    done = subprocess.run(
        [link, "-L"],
        env={**os.environ, "FAKEHW_ROOT": str(node.root)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.count("NVIDIA L40S") == 4


def test_every_fault_is_of_a_role_that_its_platform_has() -> None:
    assert len(FAULTS) >= 25
    for name, fault in FAULTS.items():
        assert fault.patch or fault.command, name
        assert bool(fault.command) == bool(fault.mend), name
        assert fault.role in {use.role for use in uses()[fault.platform]}, name


def test_row_of_the_lab_says_all_that_its_roles_install() -> None:
    lacking = {f"{p}: {use.missing}" for p, found in uses().items() for use in found if use.missing}
    assert not lacking


def test_every_package_of_the_row_is_in_the_repository() -> None:
    names = {p.name for c in load_row().components.values() for p in c.packages.get(OS, ())}
    assert {"nvidia-kernel-open-dkms", "nvidia-fabricmanager"} <= names
    assert (Path(STATE).name, len(names) > 15) == ("state.json", True)
