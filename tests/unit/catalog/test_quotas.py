"""Quotas: read with their sources, and no class counted twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import muster.catalog
from muster.catalog.model import CatalogError
from muster.catalog.quotas import load_quotas

HERE = Path(muster.catalog.__file__).parent


def changed(directory: Path, old: str, new: str) -> Path:
    """The files of the catalog, with one place of quotas.yaml changed."""
    shutil.copy(HERE / "sources.yaml", directory)
    text = (HERE / "quotas.yaml").read_text(encoding="utf-8")
    assert old in text
    (directory / "quotas.yaml").write_text(text.replace(old, new), encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    ("name", "buying", "code"),
    [
        ("p6-b200.48xlarge", "onDemand", "L-417A185B"),
        ("g6e.48xlarge", "onDemand", "L-DB2E81BA"),
        ("m7i.4xlarge", "onDemand", "L-1216C47A"),
        ("trn2u.48xlarge", "spot", "L-5480EFD2"),
        ("t3.large", "spot", "L-34B43A08"),
    ],
)
def test_a_type_counts_in_the_quota_of_its_class(name: str, buying: str, code: str) -> None:
    found = load_quotas().vcpu_quota(name, buying)
    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(
    ("name", "buying"), [("gr6.8xlarge", "onDemand"), ("dl1.24xlarge", "spot"), ("7", "spot")]
)
def test_a_class_that_no_source_counts_has_no_quota(name: str, buying: str) -> None:
    assert load_quotas().vcpu_quota(name, buying) is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("source: efs-guide", "source: nowhere", "nowhere"),
        ("classes: [dl]", "classes: [p]", "class p has two quotas for onDemand"),
        ("L-6E869C2A", "6E869C2A", "vcpus.4.code"),
        ("hours_wanted: 24", "hours_wanted: 0", "hours_wanted"),
        ("hours_min: 1,", "hours_min: 25,", "hours_wanted 24 is below hours_min 25"),
        ("reserved_addresses: 5", "reserved_adresses: 5", "subnet"),
    ],
)
def test_a_wrong_row_is_refused_in_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(CatalogError, match=says) as error:
        load_quotas(changed(tmp_path, old, new))
    assert "\n" not in str(error.value)
