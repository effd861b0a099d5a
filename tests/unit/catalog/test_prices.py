"""The shipped prices, and what keeps wrong ones out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import muster.catalog
from muster.catalog import CatalogError, load_catalog
from muster.catalog.prices import load_prices

SHIPPED = Path(muster.catalog.__file__).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A catalog that a test may spoil."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "catalog"))


def spoil(directory: Path, file: str, before: str, after: str) -> None:
    path = directory / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_every_price_cites_a_listed_source() -> None:
    sources = load_catalog().sources
    assert {row.source for row in load_prices().rows()} <= set(sources)


def test_a_faster_tier_of_lustre_costs_more() -> None:
    tiers = load_prices().fsx_lustre.capacity_usd_per_gb_month["persistent2"]
    in_order = [tiers[speed] for speed in sorted(tiers)]
    assert in_order == sorted(set(in_order))


def test_what_is_not_listed_has_no_price() -> None:
    lustre = load_prices().fsx_lustre
    assert lustre.of_capacity("persistent2", 333) is None
    assert lustre.of_capacity("persistent2", None) is None
    assert lustre.of_capacity("scratch2", 200) is None
    assert lustre.of_capacity(None, 500) is None
    assert lustre.of_metadata("scratch2") is None
    assert lustre.of_metadata(None) is None


def test_a_price_holds_in_the_zones_of_its_region_alone() -> None:
    row = load_prices().instances_on_demand
    assert row.holds_in("use1-az4")
    assert not row.holds_in("use2-az1")
    assert not row.holds_in("use1-dfw2-az1")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("source: fsx-log", "source: hearsay", "hearsay"),
        ("125: 0.145", "125: 0", r"persistent2\.125 .*greater than 0"),
        ("125: 0.145", "125: .inf", "finite"),
        ("125: 0.145", "125: cheap", "number"),
        ("persistent2:", "persistent3:", "persistent"),
        ("zones: use2", "zones: us-east-2", "zones"),
        ("services: {}", "services: {lunch: {}}", "lunch"),
        ("services: {}", "gifts: {}", "gifts|services"),
        (
            "services: {}",
            "services: {natGateway: {region: a, zones: use1, source: hearsay, usd_per_hour: 1}}",
            "hearsay",
        ),
    ],
)
def test_a_spoilt_price_list_does_not_load(
    copy: Path, before: str, after: str, message: str
) -> None:
    spoil(copy, "prices.yaml", before, after)
    with pytest.raises(CatalogError, match=message):
        load_prices(copy)


def test_a_source_that_prices_alone_cite_counts_as_cited(copy: Path) -> None:
    assert "fsx-log" in load_catalog(copy).sources


def test_a_source_that_prices_cease_to_cite_is_refused(copy: Path) -> None:
    # Whichever files beside it cite the log too.
    for path in copy.glob("*.yaml"):
        if path.name != "sources.yaml":
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("source: fsx-log", "source: price-list"), encoding="utf-8")
    with pytest.raises(CatalogError, match=r"'fsx-log' is cited by no value"):
        load_catalog(copy)


def test_a_file_with_its_own_loader_cites_from_any_depth(copy: Path) -> None:
    spoil(copy, "sources.yaml", "fsx-log:", "deep: {title: x, read: 2026-01-01}\nfsx-log:")
    with pytest.raises(CatalogError, match="'deep' is cited by no value"):
        load_catalog(copy)
    (copy / "other.yaml").write_text("a: [{b: {source: deep, value: 1}}]\n", encoding="utf-8")
    assert "deep" in load_catalog(copy).sources
