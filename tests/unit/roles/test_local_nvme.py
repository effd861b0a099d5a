"""Local disks: what the boot program does with them, and what is read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from muster import shell
from muster.converge.slurm_config import TEMPLATES
from muster.shell import Completed
from tests.unit.roles.modules import load

disks = load("local_disks")
mounts = load("mounted_paths")

MODEL = "Amazon EC2 NVMe Instance Storage"
TWO = "Personalities : [raid0]\nmd127 : active raid0 nvme2n1[1] nvme1n1[0]\n      1 blocks\n"
MOUNTED = {"SOURCE": "/dev/md127", "OPTIONS": "rw,noatime"}
NAMES = ["nvme1n1", "nvme2n1"]


class Machine:
    """A directory that stands for a node, with tools that write down what they were asked."""

    def __init__(self, root: Path, present: int = 2) -> None:
        self.root = root
        (root / "bin").mkdir()
        for number in range(1, present + 1):
            self.disk(f"nvme{number}", f"{MODEL}  ")
        self.disk("nvme0", "Amazon Elastic Block Store")
        for name in ("mdadm", "mkfs.xfs", "mount", "chmod", "mkdir"):
            self.program(name, f'echo "{name} $*" >>{root}/asked')
        self.program("mountpoint", "exit 1")
        self.blkid({})

    def disk(self, name: str, model: str) -> None:
        path = self.root / "sys/class/nvme" / name / "model"
        path.parent.mkdir(parents=True)
        path.write_text(f"{model}\n")

    def program(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def blkid(self, held: dict[str, tuple[str, str]]) -> None:
        cases = "".join(
            f"*TYPE*{dev}) echo {type_};;\n*LABEL*{dev}) echo {label};;\n"
            for dev, (type_, label) in held.items()
        )
        self.program("blkid", f'case "$*" in\n{cases}*) exit 2;;\nesac')

    def run(self, expected: int = 2) -> Completed:
        places = FileSystemLoader(TEMPLATES / "local_nvme")
        # Ansible's own templates trim like this; what is written is a shell script, not HTML.
        loaded = Environment(
            loader=places,
            undefined=StrictUndefined,
            trim_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # noqa: S701
        )
        text = loaded.get_template("muster-local-nvme.j2").render(
            local_nvme_model=MODEL,
            local_nvme_disks=expected,
            local_nvme_path="/local",
            local_nvme_mode="1777",
            software_sysfs=str(self.root / "sys"),
        )
        script = self.root / "script"
        script.write_text(text.replace("export PATH=", f"export PATH={self.root}/bin:"))
        script.chmod(0o755)
        return shell.run([str(script)], timeout_s=30)

    def asked(self) -> list[str]:
        path = self.root / "asked"
        lines = path.read_text().splitlines() if path.is_file() else []
        return [" ".join(line.split()[:2]) for line in lines]


def test_blank_disks_become_one_file_system(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine.run().rc == 0
    created, made, *_ = (tmp_path / "asked").read_text().splitlines()
    assert created.startswith("mdadm --create /dev/md/muster-local --run --level=0")
    assert created.endswith("/dev/nvme1n1 /dev/nvme2n1")
    assert made == "mkfs.xfs -q -f -L muster-local /dev/md/muster-local"
    assert "mount -t" in machine.asked()


def test_after_a_reboot_what_the_disks_hold_is_kept(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    ours = ("linux_raid_member", "any:muster-local")
    machine.blkid({"nvme1n1": ours, "nvme2n1": ours, "muster-local": ("xfs", "muster-local")})
    assert machine.run().rc == 0
    assert machine.asked()[0] == "mdadm --assemble"
    assert not {"mdadm --create", "mkfs.xfs -q"} & set(machine.asked())


def test_an_array_that_lost_a_disk_is_made_anew(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.blkid({"nvme1n1": ("linux_raid_member", "any:muster-local")})
    assert machine.run().rc == 0
    assert machine.asked()[:2] == ["mdadm --create", "mkfs.xfs -q"]


def test_a_disk_that_holds_something_else_is_never_written(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.blkid({"nvme2n1": ("ext4", "data")})
    done = machine.run()
    assert done.rc == 1
    assert "/dev/nvme2n1 holds ext4, which is not ours" in done.stderr
    assert machine.asked() == []


def test_a_missing_disk_stops_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path, present=1)
    done = machine.run()
    assert f"local disks: 1 of model '{MODEL}', 2 expected" in done.stderr
    assert machine.asked() == []


def test_what_is_mounted_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.program("mountpoint", "exit 0")
    assert machine.run().rc == 0
    assert machine.asked() == []


def test_all_disks_in_a_mounted_array_are_fine() -> None:
    assert disks.faults(NAMES, 2, MOUNTED, TWO, "/local") == []
    single = {"SOURCE": "/dev/nvme1n1", "OPTIONS": "rw"}
    assert disks.faults(["nvme1n1"], 1, single, "", "/local") == []


@pytest.mark.parametrize(
    ("present", "mounted", "mdstat", "said"),
    [
        (NAMES[:1], MOUNTED, TWO, "1 local disks, 2 expected"),
        (NAMES, {}, TWO, "nothing is mounted on /local"),
        (NAMES, {"SOURCE": "/dev/sda1", "OPTIONS": "rw"}, TWO, "an active raid0 expected"),
        (NAMES, MOUNTED, "md127 : active raid0 nvme1n1[0]\n", "made of nvme1n1, all 2"),
        (NAMES, MOUNTED, TWO.replace("active raid0", "inactive"), "an active raid0 expected"),
        (NAMES, MOUNTED, TWO[:40], "an active raid0 expected"),
        (NAMES, {**MOUNTED, "OPTIONS": "ro"}, TWO, "/local cannot be written"),
        (NAMES, {"SOURCE": "/dev/md127"}, TWO, "/local cannot be written"),
    ],
)
def test_each_fault_of_the_local_disks_is_named(
    present: list[str], mounted: dict[str, str], mdstat: str, said: str
) -> None:
    assert said in "; ".join(disks.faults(present, 2, mounted, mdstat, "/local"))


def test_only_disks_of_the_model_count(tmp_path: Path) -> None:
    Machine(tmp_path)
    assert disks.present(tmp_path / "sys", MODEL) == NAMES


TABLE = "10.0.0.1:/home /home nfs4 rw,nconnect=16 0 0\n"
WANTED = {"path": "/home", "kind": "nfs4", "options": ["nconnect=16"]}


def test_a_mount_with_its_options_is_fine() -> None:
    assert mounts.faults(WANTED, mounts.parse_mounts(TABLE, "/home")) == []


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("", "/home: nothing is mounted, nfs4 expected"),
        (TABLE.replace("nfs4", "nfs"), "/home is nfs, nfs4 expected"),
        (TABLE.replace("16", "1"), "/home is mounted without nconnect=16"),
        (TABLE.replace("rw", "ro"), "/home is mounted read-only"),
        (TABLE[:30], "/home: nothing is mounted"),
        (TABLE[:40], "/home: nothing is mounted"),
    ],
)
def test_each_fault_of_a_mount_is_named(shown: str, said: str) -> None:
    assert said in "; ".join(mounts.faults(WANTED, mounts.parse_mounts(shown, "/home")))


def test_the_last_mount_on_a_path_counts_and_blanks_are_undone() -> None:
    table = r"a /my\040home nfs4 ro 0 0" + "\n" + r"b /my\040home nfs4 rw 0 0" + "\n"
    assert mounts.parse_mounts(table, "/my home")["SOURCE"] == "b"
    assert disks.parse_mounts(table, "/my home")["OPTIONS"] == "rw"


def test_an_nfs_mount_that_reads_little_ahead_is_named(tmp_path: Path) -> None:
    volumes = "NV SERVER PORT DEV FSID FSC\nv4 0a000001 801 0:52 1:2 no\n"
    bdi = tmp_path / "class/bdi/0:52"
    bdi.mkdir(parents=True)
    assert "unknown KiB" in mounts.read_ahead_faults(volumes, tmp_path, 15380)[0]
    (bdi / "read_ahead_kb").write_text("128\n")
    (said,) = mounts.read_ahead_faults(volumes, tmp_path, 15380)
    assert said == "NFS device 0:52 reads 128 KiB ahead, 15380 expected"
    (bdi / "read_ahead_kb").write_text("15380\n")
    assert mounts.read_ahead_faults(volumes, tmp_path, 15380) == []
