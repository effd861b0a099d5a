"""The kernel: that it stays, what it was booted with, and what it was told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.roles.modules import load

held = load("held_kernel")
settings = load("kernel_settings")
boot = load("boot_arguments")

KERNEL = "6.1.0-56-amd64"
IMAGE = f"linux-image-{KERNEL}"


def test_a_held_kernel_that_runs_is_fine() -> None:
    packages = held.parse_dpkg(f"hold\tinstalled\t{IMAGE}\t6.1.192-2\n")
    assert held.faults(packages, KERNEL, KERNEL) == []
    assert held.faults(packages, KERNEL, "") == []


def test_a_machine_without_packages_of_a_kernel_has_nothing_that_could_move() -> None:
    assert held.faults({}, KERNEL, "") == []


@pytest.mark.parametrize(
    ("packages", "running", "wanted", "said"),
    [
        ({IMAGE: True}, "6.1.0-55-amd64", KERNEL, f"6.1.0-55-amd64 runs, {KERNEL} is installed"),
        ({}, KERNEL, KERNEL, f"kernel {KERNEL} is not installed"),
        (
            {IMAGE: True, "linux-image-6.1.0-57-amd64": True},
            KERNEL,
            "",
            "6.1.0-57-amd64 is installed beside",
        ),
        ({"linux-image-6.1.0-55-amd64": True}, KERNEL, "", "is not installed any more"),
        ({IMAGE: True, "linux-headers-amd64": False}, KERNEL, "", "not held: linux-headers-amd64"),
        ({IMAGE: True}, "", "", "uname did not say"),
        ({"kernel-core-0:5.14.0-427.el9.x86_64": False}, KERNEL, "", "not held"),
    ],
)
def test_whatever_moves_the_kernel_is_named(
    packages: dict[str, bool], running: str, wanted: str, said: str
) -> None:
    assert said in "; ".join(held.faults(packages, running, wanted))


def test_an_answer_of_dpkg_that_was_cut_short_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot read"):
        held.parse_dpkg("hold\tinstal")


def test_a_reboot_is_noted_once(tmp_path: Path) -> None:
    path = tmp_path / "reboot-required.d" / "kernel_hold"
    assert held.note_reboot(path, "why\n", check=True)
    assert not path.exists()
    assert held.note_reboot(path, "why\n", check=False)
    assert not held.note_reboot(path, "why\n", check=False)


def test_values_that_the_kernel_has_are_fine() -> None:
    found = settings.parse_sysctl("a.b = 1\nvm.nr_hugepages = 4096\nnet.x = 1\t2  3\n")
    wanted = {"a.b": "1", "vm.nr_hugepages": "2048", "net.x": "1 2 3"}
    assert settings.sysctl_faults(wanted, found, ["vm.nr_hugepages"]) == []


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (
            "net.ipv4.tcp_congestion_control = cubic\n",
            "net.ipv4.tcp_congestion_control is cubic, brr expected",
        ),
        ("", "this kernel does not have it, brr expected"),
        ("net.ipv4.tcp_congestion_con", "this kernel does not have it, brr expected"),
    ],
)
def test_a_word_that_the_kernel_does_not_know_is_named(shown: str, said: str) -> None:
    wanted = {"net.ipv4.tcp_congestion_control": "brr"}
    assert said in settings.sysctl_faults(wanted, settings.parse_sysctl(shown), [])[0]


def test_huge_pages_that_are_short_are_named() -> None:
    found = settings.parse_sysctl("vm.nr_hugepages = 64\n")
    assert settings.sysctl_faults({"vm.nr_hugepages": "2048"}, found, ["vm.nr_hugepages"]) == [
        "vm.nr_hugepages is 64, at least 2048 expected"
    ]


def test_files_below_sys_are_read_by_pattern(tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / f"cpu{number}").mkdir()
        (tmp_path / f"cpu{number}" / "governor").write_text("performance\n")
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    wanted = {"cpu*/governor": "performance", "enabled": "madvise"}
    assert settings.file_faults(tmp_path, wanted, []) == {}
    (tmp_path / "cpu1" / "governor").write_text("schedutil\n")
    (said,) = settings.file_faults(tmp_path, wanted, []).values()
    assert said.endswith("cpu1/governor is schedutil, performance expected")


def test_a_file_that_is_not_there_is_a_fault_unless_it_is_optional(tmp_path: Path) -> None:
    assert "there is none" in str(settings.file_faults(tmp_path, {"a": "1"}, []))
    assert settings.file_faults(tmp_path, {"a": "1"}, ["a"]) == {}


def test_an_argument_of_the_kernel_counts_only_as_a_whole_word() -> None:
    line = "ro processor.max_cstate=10 quiet\n"
    assert boot.missing(["processor.max_cstate=1", "quiet"], line) == ["processor.max_cstate=1"]


def test_an_argument_cannot_break_out_of_the_file_for_grub() -> None:
    assert "$GRUB_CMDLINE_LINUX a=1" in boot.grub_file(["a=1"])
    with pytest.raises(ValueError, match="not an argument"):
        boot.grub_file(['a"; reboot'])
