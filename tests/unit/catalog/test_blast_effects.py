"""What changes mean is data that does not load when it contradicts itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import muster.catalog.blast as module
from muster.catalog import CatalogError
from muster.catalog.blast import Effect, load_effects
from muster.plan.preview import root_of

CATALOG = Path(module.__file__).parent
GUARDED = [
    "aws:ec2/instance:Instance",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:fsx/windowsFileSystem:WindowsFileSystem",
    "aws:efs/fileSystem:FileSystem",
    "aws:s3/bucket:Bucket",
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
    "aws:ec2/capacityReservation:CapacityReservation",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:eks/cluster:Cluster",
    "aws:ec2/placementGroup:PlacementGroup",
]


def load_changed(directory: Path, entry: dict[str, Any], name: str = "a:b:C") -> None:
    shutil.copy(CATALOG / "sources.yaml", directory)
    content = {"any type": [], "types": {name: entry}}
    (directory / "blast.yaml").write_text(yaml.safe_dump(content))
    load_effects(directory)


@pytest.mark.parametrize("name", GUARDED)
def test_every_type_of_the_safety_list_is_guarded(name: str) -> None:
    known = load_effects().of(name)
    assert known is not None
    assert known.stateful


def test_an_entry_of_its_own_comes_before_a_pattern() -> None:
    effects = load_effects()
    link = effects.of("aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    assert link is not None
    assert link.gone is Effect.DESTROYS
    volume = effects.of("aws:fsx/openZfsVolume:OpenZfsVolume")
    assert volume is not None
    assert volume.gone is Effect.LOSES_DATA
    assert effects.of("gcp:storage/bucket:Bucket") is None


def test_a_rule_for_a_property_holds_for_what_is_in_it_but_not_for_its_neighbours() -> None:
    effects = load_effects()
    assert effects.rule("any:type:AtAll", "tags.owner") is not None
    assert effects.rule("any:type:AtAll", 'tags["a.b"]') is not None
    assert effects.rule("any:type:AtAll", "tagsOfOthers") is None
    assert root_of("a[0].b") == root_of("a.b") == "a"


def test_effects_are_ordered_from_no_op_to_the_loss_of_data() -> None:
    losses = [effect for effect in Effect if effect.is_loss]
    assert losses == [Effect.DESTROYS, Effect.LOSES_RESERVATION, Effect.LOSES_DATA]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"source": "hearsay"}, "does not list"),
        ({"gone": "no-op"}, "never no-op"),
        ({"gone": "loses data"}, "needs a guard"),
        ({"gone": "explodes"}, "gone"),
        ({"colour": "red"}, "colour"),
        ({"amount": {"property": "x", "unit": "bushels"}}, "unit"),
        ({"changes": [{"properties": ["a"], "source": "muster-choice"}]}, "give `does`"),
        (
            {"changes": [{"properties": ["a"], "less": "in place", "source": "muster-choice"}]},
            "give `does`",
        ),
        (
            {"changes": [{"properties": ["a", "a"], "does": "rolling", "source": "muster-choice"}]},
            "two rules",
        ),
        (
            {"changes": [{"properties": ["a"], "does": "rolling", "source": "hearsay"}]},
            "does not list",
        ),
    ],
)
def test_a_wrong_entry_does_not_load(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    good = {"what": "thing", "gone": "in place", "source": "muster-choice"}
    load_changed(tmp_path, good)
    bad = tmp_path / "bad"
    bad.mkdir()
    with pytest.raises(CatalogError, match=reason):
        load_changed(bad, {**good, **change})


def test_a_name_that_is_no_type_does_not_load(tmp_path: Path) -> None:
    good = {"what": "thing", "gone": "in place", "source": "muster-choice"}
    with pytest.raises(CatalogError, match="package:module:Type"):
        load_changed(tmp_path, good, name="bucket")
