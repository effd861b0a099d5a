"""What `muster catalog show` prints: every value with its source, and what is not known."""

from __future__ import annotations

import json

import pytest

from muster.catalog import load_catalog
from muster.catalog.show import type_json, type_rows, type_text
from muster.errors import UsageError


@pytest.mark.parametrize("name", sorted(load_catalog().types))
def test_every_shown_value_has_a_source_and_a_date(name: str) -> None:
    for row in type_rows(load_catalog(), name):
        if row.field not in {"target", "note", "shared_cpus"} and row.value != "unknown":
            assert row.source, row
            assert row.as_of, row


def test_an_unknown_value_is_shown_as_unknown() -> None:
    rows = {row.field: row for row in type_rows(load_catalog(), "g6.8xlarge")}
    assert rows["rdma_read"].value == "unknown"
    assert rows["rdma_read"].source == ""


def test_rails_that_are_alike_are_shown_once() -> None:
    rows = {row.field: row.value for row in type_rows(load_catalog(), "p5.48xlarge")}
    assert rows["rails"] == "32 x 100000 Mbit/s"
    lab = {row.field: row.value for row in type_rows(load_catalog(), "lab.8gpu")}
    assert lab["rails"] == "rail0 40 Mbit/s, rail1 40 Mbit/s"


def test_only_the_limits_of_the_narrowest_scope_are_shown() -> None:
    floors = [
        row for row in type_rows(load_catalog(), "lab.8gpu") if "rail-bandwidth ours" in row.field
    ]
    assert {row.value.split()[0] for row in floors} == {"0.85"}


def test_json_names_the_sources_it_cites() -> None:
    document = json.loads(json.dumps(type_json(load_catalog(), "p5.48xlarge")))
    cited = {fact["source"] for fact in document["facts"].values() if "source" in fact}
    assert cited <= set(document["sources"])
    source = document["sources"][document["facts"]["on_demand_usd_per_hour"]["source"]]
    assert document["facts"]["on_demand_usd_per_hour"]["as_of"] == source["as_of"]


def test_text_ends_with_the_titles_of_its_sources() -> None:
    assert "\nprice-list: AWS Price List API" in type_text(load_catalog(), "p5.48xlarge")


def test_a_misspelt_type_gets_a_suggestion_and_exit_2() -> None:
    with pytest.raises(UsageError, match=r"Did you mean p5en\.48xlarge\?") as raised:
        type_rows(load_catalog(), "p5en.48xlrge")
    assert raised.value.exit_code == 2
