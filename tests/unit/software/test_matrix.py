"""The shipped matrix loads, and a spoilt one does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from muster.catalog import load_catalog
from muster.catalog import software as loading
from muster.catalog.model import CatalogError
from muster.catalog.software import (
    load_hardware,
    load_row,
    load_row_file,
    load_rules,
    row_names,
)
from muster.errors import UsageError
from muster.software.model import Component, Hardware, MatrixRow
from muster.software.needs import hardware_of, storage_uses
from muster.spec import Storage

CATALOG = Path(loading.__file__).parent
ROW = "software/2026.11.yaml"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CATALOG, tmp_path / "catalog"))


def spoil(catalog: Path, file: str, before: str, after: str) -> None:
    text = (catalog / file).read_text()
    assert before in text
    (catalog / file).write_text(text.replace(before, after, 1))


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        (ROW, "source: talos-nvidia", "source: hearsay", "hearsay"),
        (ROW, "kernels_source: lustre-azure", "kernels_source: hearsay", "hearsay"),
        (ROW, "role: cuda", "role: CUDA", "components.cuda.role"),
        (ROW, "version: 13.0.2", "versoin: 13.0.2", "versoin"),
        (ROW, "comes_with: rocm", "comes_with: rok", "rccl comes with rok"),
        (ROW, "part: nvml", "part: ''", "are both part"),
        (ROW, "v{version}.tar.gz", "v{release}.tar.gz", "other than version"),
        (ROW, "https://github", "http://github", "url"),
        (ROW, 'name: "2026.11"', 'name: "2026.10"', "names itself '2026.10'"),
        (ROW, "os: [debian-12,", "fictitious: true\nos: [debian-12,", "is fictitious"),
        (ROW, "os: [debian-12,", "os: [debian-11,", "os.0"),
        ("software/hardware.yaml", "volta", "volt", "architecture"),
    ],
)
def test_a_spoilt_row_or_table_does_not_load(
    copy: Path, file: str, before: str, after: str, message: str
) -> None:
    spoil(copy, file, before, after)
    with pytest.raises(CatalogError, match=message):
        (load_row("2026.11", catalog=copy), load_hardware(copy))


def test_a_checksum_without_a_source_does_not_load(copy: Path) -> None:
    spoil(copy, ROW, "v{version}.tar.gz\n", f"v{{version}}.tar.gz\n        sha256: {'a' * 64}\n")
    with pytest.raises(CatalogError, match=r"nccl_tests: the sha256 of .* has no source"):
        load_row("2026.11", catalog=copy)


def test_a_spoilt_rule_does_not_load(copy: Path) -> None:
    spoil(copy, "software/rules.yaml", "kind: same", "kind: similar")
    with pytest.raises(CatalogError, match=r"rules\.yaml"):
        load_rules(copy)


def test_a_source_that_only_the_matrix_cites_counts_as_cited(copy: Path) -> None:
    spoil(copy, "software/2026.11.yaml", "kernels_source: lustre-azure", "kernels_source: deepops")
    with pytest.raises(CatalogError, match="'lustre-azure' is cited by no value"):
        load_catalog(copy)


def test_an_unknown_row_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no row '2026\.12' .* Did you mean 2026\.11\?"):
        load_row("2026.12")
    assert row_names() == ("2026.11",)


def test_nothing_in_the_shipped_row_is_stated_by_a_choice_of_ours() -> None:
    """A component without an outside source states nothing."""
    for name, found in load_row("2026.11").components.items():
        if found.source == "muster-choice":
            assert (found.version, found.versions, found.packages) == ("", {}, {}), name


def test_a_row_of_ones_own_loads_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "row.yaml"
    path.write_text(
        "name: mine\nfictitious: true\nos: [debian-13]\n"
        "components: {efa: {role: efa, version: '9', source: muster-choice}}\n"
    )
    assert load_row_file(path).components["efa"].version == "9"


def test_every_gpu_of_the_tables_is_in_the_catalog() -> None:
    facts, gpus = load_hardware(), load_catalog().gpus
    assert set(facts.gpus) | set(facts.nvlink) <= set(gpus)
    assert {name for name, gpu in gpus.items() if gpu.vendor == "nvidia"} == set(facts.gpus)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("p5.48xlarge", {"nvswitch": True, "fabric": "efa", "fabric_devices": 32}),
        ("p5.4xlarge", {"nvswitch": False, "gpu_count": 1, "fabric": "efa"}),
        ("p3dn.24xlarge", {"kernel_module": "closed", "nvswitch": False}),
        ("p6e-gb200.36xlarge", {"nvlink_domain": True, "nvswitch": False, "arch": "arm64"}),
        ("m7i.4xlarge", {"vendor": "none", "fabric": "ethernet", "fabric_devices": 0}),
        ("lab.8gpu", {"vendor": "none", "gpu_count": 0}),
        ("trn1.32xlarge", {"vendor": "none", "fabric": "efa"}),
    ],
)
def test_what_decides_about_software_comes_from_the_catalog(
    kind: str, expected: dict[str, Any]
) -> None:
    catalog = load_catalog()
    found = hardware_of(catalog.instance_type(kind), catalog, load_hardware())
    assert {name: getattr(found, name) for name in expected} == expected


def test_every_type_of_the_catalog_is_hardware() -> None:
    catalog = load_catalog()
    for kind in catalog.types.values():
        found = hardware_of(kind, catalog, load_hardware())
        assert (found.vendor == "none") == (found.gpu_count == 0), kind.name
        assert (found.fabric == "efa") == bool(kind.efa_interfaces), kind.name


def test_the_specs_file_systems_become_what_roles_serve() -> None:
    storage = [
        Storage.model_validate({"mount": f"/{name}", "kind": kind, "efa": name == "a"})
        for name, kind in [
            ("a", "fsxLustre"),
            ("b", "efs"),
            ("c", "localNvme"),
            ("d", "labDirectory"),
        ]
    ]
    uses = storage_uses(storage)
    assert [(use.kind, use.efa) for use in uses] == [
        ("lustre", True), ("nfs", False), ("localNvme", False),
    ]  # fmt: skip


def test_no_machine_has_gpus_of_nobody_or_nvlink_of_amd() -> None:
    with pytest.raises(ValueError, match="8 GPUs of vendor none"):
        Hardware(vendor="none", gpu_count=8)
    with pytest.raises(ValueError, match="NVLink on a node of vendor amd"):
        Hardware(vendor="amd", gpu_count=8, nvswitch=True)


def test_files_have_one_version() -> None:
    data = {
        "role": "efa", "source": "x", "versions": {"al2023": "1"},
        "artefacts": [{"name": "a", "url": "https://example.org/a"}],
    }  # fmt: skip
    with pytest.raises(ValidationError, match="files have one version"):
        Component.model_validate(data)
    assert MatrixRow.model_fields["fictitious"].default is False
