"""The shipped catalog: complete, sourced, and true where the reference says so."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest

import muster.catalog
from muster.catalog import Catalog, CatalogError, load_catalog
from muster.catalog.model import InstanceType, Source

SHIPPED = Path(muster.catalog.__file__).parent

AWS_TYPES = """
p3dn.24xlarge p4d.24xlarge p4de.24xlarge p5.4xlarge p5.48xlarge p5e.48xlarge p5en.48xlarge
p6-b200.48xlarge p6-b300.48xlarge p6e-gb200.36xlarge g4dn.8xlarge g4dn.12xlarge g4dn.16xlarge
g4dn.metal g5.8xlarge g5.12xlarge g5.16xlarge g5.24xlarge g5.48xlarge g6.8xlarge g6.12xlarge
g6.16xlarge g6.24xlarge g6.48xlarge gr6.8xlarge g6e.8xlarge g6e.12xlarge g6e.16xlarge
g6e.24xlarge g6e.48xlarge g7.8xlarge g7.12xlarge g7.24xlarge g7.48xlarge g7e.8xlarge
g7e.12xlarge g7e.24xlarge g7e.48xlarge trn1.32xlarge trn1n.32xlarge trn2.3xlarge trn2.48xlarge
trn2u.48xlarge m7i.large m7i.xlarge m7i.2xlarge m7i.4xlarge m7i.8xlarge m7i.12xlarge m7i.16xlarge
m7i.24xlarge m7i.48xlarge c7i.4xlarge c7i.8xlarge t3.large
"""


@pytest.fixture
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A catalog that a test may spoil."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "catalog"))


def spoil(directory: Path, file: str, before: str, after: str) -> None:
    path = directory / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_every_type_of_the_reference_is_there(catalog: Catalog) -> None:
    assert set(catalog.types_of("aws")) == {*AWS_TYPES.split(), "paper.8gpu"}
    assert catalog.types_of("lab") == ("lab.8gpu",)


def test_every_value_of_every_type_names_a_listed_source(catalog: Catalog) -> None:
    plain = {"name", "target", "note", "facts", "rails"}
    for found in catalog.types.values():
        stated = {f for f in InstanceType.model_fields if getattr(found, f) is not None} - plain
        unsourced = stated - set(found.facts) - {"shared_cpus"}
        assert not unsourced, (found.name, unsourced)
        assert {fact.source for fact in found.facts.values()} <= set(catalog.sources)


def test_the_lab_type_has_what_lab_acceptance_and_slurm_need(catalog: Catalog) -> None:
    found = catalog.instance_type("lab.8gpu")
    assert found.gpu_count
    assert found.gpu_memory_mib
    assert found.shared_cpus
    assert found.min_nofile
    assert found.memlock_unlimited is not None
    assert [rail.interface for rail in found.rails] == ["rail0", "rail1"]
    assert all(rail.rate_mbit for rail in found.rails)


def test_efa_count_is_not_the_number_of_network_cards(catalog: Catalog) -> None:
    found = catalog.instance_type("p6-b300.48xlarge")
    assert found.network_cards
    assert found.efa_interfaces == found.network_cards - 1
    assert len(found.rails) == found.efa_interfaces


def test_rails_of_a_cloud_type_follow_from_its_efa_interfaces(catalog: Catalog) -> None:
    found = catalog.instance_type("p5en.48xlarge")
    assert [rail.rate_mbit for rail in found.rails] == [found.efa_rate_mbit] * len(found.rails)
    assert len(found.rails) == found.efa_interfaces
    assert catalog.instance_type("m7i.4xlarge").rails == ()


def test_what_no_source_states_is_unknown_not_guessed(catalog: Catalog) -> None:
    assert catalog.instance_type("g6.8xlarge").rdma_read is None
    assert catalog.instance_type("p6e-gb200.36xlarge").gpu_memory_mib is None
    assert catalog.instance_type("g5.8xlarge").on_demand_usd_per_hour is None
    assert catalog.instance_type("g5.48xlarge").gpu_tdp_w is None


def test_a_type_without_on_demand_price_is_not_sold_on_demand(catalog: Catalog) -> None:
    found = catalog.instance_type("p5e.48xlarge")
    assert "onDemand" not in (found.purchase or ())
    assert found.on_demand_usd_per_hour is None


def test_prices_carry_their_date(catalog: Catalog) -> None:
    fact = catalog.instance_type("p5.48xlarge").facts["on_demand_usd_per_hour"]
    assert fact.as_of is not None
    undated = catalog.instance_type("g5.48xlarge").facts["on_demand_usd_per_hour"]
    assert undated.as_of is None


def test_power_of_a_node_is_that_of_its_accelerators(catalog: Catalog) -> None:
    found = catalog.instance_type("p5.48xlarge")
    assert found.node_tdp_w == found.gpu_count * (catalog.gpus[found.gpu_model].tdp_w or 0)
    assert catalog.instance_type("p6-b300.48xlarge").node_tdp_w is None


def test_an_unknown_type_is_an_error_of_one_line(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match=r"no instance type 'p9'"):
        catalog.instance_type("p9")


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        ("instance_types/lab.yaml", "muster-lab:", "hearsay:", "hearsay"),
        ("instance_types/lab.yaml", "gpu_count: ", "gpu_count: about ", "gpu_count"),
        ("instance_types/lab.yaml", "vcpus: ", "vcpu: ", "vcpu"),
        ("instance_types/lab.yaml", "Muster Lab GPU", "Toaster", "gpus.yaml"),
        ("instance_types/lab.yaml", "interface: rail0, ", "", "needs interface and rate_mbit"),
        ("instance_types/lab.yaml", "target: lab", "target: moon", "target"),
        ("instance_types/aws.yaml", "efa_interfaces: 1,", "efa_interfaces: 3,", "network cards"),
        ("instance_types/aws.yaml", "efa_rate_mbit: 100000", "efa_rate_mbit: 900000", "line rate"),
        (
            "instance_types/aws.yaml",
            "efa-guide: {",
            "efa-guide: {vcpus: 96, ",
            "stated by ec2-types",
        ),
        ("sources.yaml", "read: 2026-11-20", "read: 2020-01-01", "after it was read"),
        (
            "sources.yaml",
            "ec2-types:",
            "spare: {title: x, read: 2026-01-01}\nec2-types:",
            "cited by no",
        ),
        ("gpus.yaml", "vendor: nvidia", "vendor: acme", "vendor"),
        ("gpus.yaml", "V100:", "V100: [", "gpus.yaml"),
        ("limits.yaml", "source: ec2-types", "source: hearsay", "hearsay"),
    ],
)
def test_a_spoilt_catalog_does_not_load(
    copy: Path, file: str, before: str, after: str, message: str
) -> None:
    spoil(copy, file, before, after)
    with pytest.raises(CatalogError, match=message):
        load_catalog(copy)


def test_a_type_in_two_files_does_not_load(copy: Path) -> None:
    folder = copy / "instance_types"
    shutil.copy(folder / "lab.yaml", folder / "lab2.yaml")
    with pytest.raises(CatalogError, match="two files"):
        load_catalog(copy)


def test_a_source_may_be_undated(catalog: Catalog) -> None:
    assert Source(title="x", read=date(2026, 1, 1)).as_of is None
    assert catalog.sources["price-repeated"].as_of is None
