"""Each rule can pass, can fail, and says unknown where a value is not stated."""

from __future__ import annotations

from typing import Any

import pytest

from muster.catalog import load_catalog
from muster.catalog.software import load_hardware, load_row, load_rules
from muster.findings import Outcome
from muster.software.asking import about_row, about_type
from muster.software.model import MatrixRow, StorageUse
from muster.software.rules import Judged, check
from tests.unit.software.rows import row

FACTS = load_hardware()
PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN


def part(role: str, version: str = "", **more: Any) -> dict[str, Any]:
    return {"role": role, "version": version, "source": "muster-choice", **more}


def judged(matrix: MatrixRow, type_name: str = "", os: Any = "ubuntu-24.04", **more: Any) -> Any:
    """Judge a row by the shipped rules; findings by rule."""
    storage = more.get("storage", (StorageUse(kind="lustre", efa=True),))
    if type_name:
        catalog = load_catalog()
        kind = catalog.instance_type(type_name)
        asked = about_type(matrix, os, kind, catalog, FACTS, scheduler="slurm", storage=storage)
    else:
        asked = about_row(matrix, os, FACTS)
    return {found.rule: found for found in check(load_rules(), asked)}


def outcome(rule: str, matrix: MatrixRow, type_name: str = "", **more: Any) -> Outcome | None:
    found: Judged | None = judged(matrix, type_name, **more).get(rule)
    return found.outcome if found else None


def drivers(version: str, manager: str, nvml: str = "") -> MatrixRow:
    return row(
        nvidia_driver=part("nvidia_driver", version, kernel_module="open"),
        nvidia_fabric=part("nvidia_fabric", "1", part="other"),
        fabric_manager=part("nvidia_fabric", manager, on=["nvswitch"]),
        nvml=part("nvidia_driver", nvml, part="nvml", comes_with="nvidia_driver"),
    )


@pytest.mark.parametrize(
    ("driver", "manager", "expected"),
    [("580.1", "580.1", PASS), ("580.1", "580.2", FAIL), ("580.1", "", UNKNOWN)],
)
def test_fabric_manager_and_driver_are_one_version(
    driver: str, manager: str, expected: Outcome
) -> None:
    matrix = drivers(driver, manager)
    assert outcome("fabric-manager-is-the-drivers", matrix, "p5.48xlarge") is expected


def test_a_node_without_nvswitch_is_not_asked_about_its_fabric_manager() -> None:
    assert outcome("fabric-manager-is-the-drivers", drivers("1", "2"), "g6.8xlarge") is None


@pytest.mark.parametrize(("nvml", "expected"), [("580.1", PASS), ("580.1.1", FAIL), ("", UNKNOWN)])
def test_nvml_is_that_of_the_driver(nvml: str, expected: Outcome) -> None:
    assert outcome("nvml-is-the-drivers", drivers("580.1", "1", nvml)) is expected


@pytest.mark.parametrize(
    ("driver", "cuda", "expected"),
    [
        ("580.126.20", "13.0.2", PASS),
        ("575.57", "13.0.2", FAIL),
        ("575.57", "12.9.0", PASS),
        ("520.1", "12.9.0", FAIL),
        ("", "13.0.2", UNKNOWN),
        ("580.1", "", UNKNOWN),
        ("580.1", "14.0", UNKNOWN),
    ],
)
def test_the_driver_is_new_enough_for_cuda(driver: str, cuda: str, expected: Outcome) -> None:
    matrix = row(
        nvidia_driver=part("nvidia_driver", driver, kernel_module="open"), cuda=part("cuda", cuda)
    )
    assert outcome("driver-runs-cuda", matrix) is expected


@pytest.mark.parametrize(
    ("kernel", "kernels", "expected"),
    [
        ("6.8.0-1", ["6.8.*"], PASS),
        ("6.14.0-1", ["6.8.*"], FAIL),
        ("6.8.0-1", [], UNKNOWN),
        ("", ["6.8.*"], UNKNOWN),
    ],
)
def test_every_module_supports_the_kernel(
    kernel: str, kernels: list[str], expected: Outcome
) -> None:
    supports = {"kernels": {"ubuntu-24.04": kernels}}
    names = ("nvidia_driver", "efa", "doca_ofed", "lustre_client", "rocm")
    parts = {name: part(name, "1", **supports) for name in names}
    matrix = row(kernel=part("kernel_hold", kernel, part="kernel"), **parts)
    assert outcome("kernel-is-supported", matrix) is expected


@pytest.mark.parametrize(
    ("built", "slurm", "expected"),
    [
        ("25.05.1", "25.05.4", PASS),
        ("24.11.5", "25.05.4", FAIL),
        ("", "25.05.4", UNKNOWN),
        ("25.05.1", "", UNKNOWN),
    ],
)
def test_pyxis_is_built_for_the_major_release_of_slurm(
    built: str, slurm: str, expected: Outcome
) -> None:
    pyxis = part("enroot_pyxis", "0.20", part="pyxis", built_for=built)
    matrix = row(pyxis=pyxis, slurm=part("slurmd", slurm))
    assert outcome("pyxis-is-built-for-slurm", matrix) is expected


def test_a_gpu_older_than_turing_needs_the_closed_module() -> None:
    rule, both = "driver-for-the-gpu", part("nvidia_driver", "580.1", kernel_module="closed")
    only_open = row(nvidia_driver=part("nvidia_driver", "580.1", kernel_module="open"))
    assert outcome(rule, only_open, "p3dn.24xlarge") is FAIL
    assert outcome(rule, only_open, "g4dn.8xlarge") is PASS
    closed = row(
        nvidia_driver=part("nvidia_driver", "580.1", kernel_module="open"),
        nvidia_driver_closed=both,
    )
    assert outcome(rule, closed, "p3dn.24xlarge") is PASS


def test_a_driver_after_580_does_not_drive_volta() -> None:
    def found(version: str) -> Outcome | None:
        closed = part("nvidia_driver", version, kernel_module="closed")
        matrix = row(nvidia_driver_closed=closed, nvidia_driver=part("cuda", "1", part="x"))
        return outcome("drivers-after-580-need-turing", matrix, "p3dn.24xlarge")

    assert found("595.1") is FAIL
    assert found("580.126") is None
    assert found("") is UNKNOWN


def test_cuda_13_is_not_for_volta() -> None:
    assert outcome("cuda-13-needs-turing", row(cuda=part("cuda", "13.0")), "p3dn.24xlarge") is FAIL
    assert outcome("cuda-13-needs-turing", row(cuda=part("cuda", "12.9")), "p3dn.24xlarge") is None
    assert outcome("cuda-13-needs-turing", row(cuda=part("cuda", "13.0")), "p5.48xlarge") is PASS


def test_a_type_that_boots_by_bios_only_is_never_taken_for_granted() -> None:
    assert outcome("image-boots-the-type", row(), "p4d.24xlarge") is UNKNOWN
    assert outcome("image-boots-the-type", row(), "p5.48xlarge") is PASS


@pytest.mark.parametrize(
    ("kernel", "os", "expected"),
    [
        ("6.8.0-1", "ubuntu-24.04", PASS),
        ("6.5.0-1", "ubuntu-22.04", FAIL),
        ("", "ubuntu-22.04", UNKNOWN),
        ("6.12", "debian-13", FAIL),
        ("", "al2023", PASS),
    ],
)
def test_lustre_over_efa_needs_a_system_and_a_kernel(
    kernel: str, os: str, expected: Outcome
) -> None:
    matrix = row(kernel=part("kernel_hold", kernel, part="kernel"))
    assert outcome("lustre-over-efa", matrix, "p5.48xlarge", os=os) is expected
    assert outcome("lustre-over-efa", matrix, "m7i.4xlarge", os=os) is None


def test_efa_comes_before_lustre() -> None:
    assert outcome("efa-before-lustre", row(), "p5.48xlarge") is PASS
    assert outcome("efa-before-lustre", row(), "m7i.4xlarge") is None


def test_what_is_not_for_arm64_fails_on_an_arm64_type() -> None:
    matrix = row(cuda=part("cuda", "13", arch=["x86_64"]))
    assert outcome("everything-is-stated", matrix, "p6e-gb200.36xlarge") is FAIL
    assert outcome("everything-is-stated", matrix, "p5.48xlarge") is UNKNOWN
    assert outcome("everything-is-stated", row(), "p5.48xlarge") is PASS


def test_accelerators_without_a_role_are_said_so() -> None:
    found = judged(row(), "trn1.32xlarge")["accelerators-have-a-role"]
    assert (found.outcome, found.evidence) == (FAIL, "no role installs software for Trainium")
    assert outcome("accelerators-have-a-role", row(), "p5.48xlarge") is None
    assert outcome("accelerators-have-a-role", row(), "lab.8gpu") is None


def test_the_shipped_row_breaks_no_rule_on_h100_and_hides_no_unknown() -> None:
    found = judged(load_row("2026.11"), "p5.48xlarge").values()
    assert FAIL not in {one.outcome for one in found}
    assert {one.rule for one in found if one.outcome is UNKNOWN} >= {
        "kernel-is-supported", "pyxis-is-built-for-slurm", "everything-is-stated",
    }  # fmt: skip


def test_every_rule_of_the_shipped_book_is_about_components_of_the_shipped_row() -> None:
    parts = load_row("2026.11").components
    for rule in load_rules().rules:
        named = {getattr(rule, field, "") for field in ("component", "for_", "kernel")}
        named |= set(getattr(rule, "components", ()))
        assert named - {""} <= set(parts), rule.name
