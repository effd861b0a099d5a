"""Naming, checking and comparing, which need no cloud."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from papercloud.provider import schema
from papercloud.provider.account import Account, PaperError, Services, require_loopback
from papercloud.provider.configuration import configuration_mistakes
from papercloud.provider.duration import seconds
from papercloud.provider.kinds import KINDS
from papercloud.provider.lifecycle import STAMP, Lifecycle
from papercloud.provider.schema import UNKNOWN_VALUE

GROUP = "aws:ec2/securityGroup:SecurityGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
BUCKET = "aws:s3/bucket:Bucket"

Of = Callable[[str], Lifecycle]


@pytest.fixture(scope="module")
def of() -> Of:
    services = Services("http://127.0.0.1:1")
    account = Account(services=services, region="us-east-2", default_tags={"cost": "x"})
    return lambda token: Lifecycle(
        token=token, kind=KINDS[token], schema=schema.load(), account=account
    )


def _check(lifecycle: Lifecycle, inputs: dict[str, Any], **olds: Any) -> dict[str, Any]:
    checked, mistakes = lifecycle.check(inputs, olds, name="Efa", seed=b"1")
    assert mistakes == []
    return checked


def test_a_resource_without_a_name_gets_one_and_keeps_it(of: Of) -> None:
    first = _check(of(PLACEMENT), {"strategy": "cluster"})
    assert first["name"].startswith("Efa-")
    assert first["__defaults"] == ["name"]
    again, _ = of(PLACEMENT).check({"strategy": "spread"}, first, name="Efa", seed=b"2")
    assert again["name"] == first["name"]


def test_a_given_name_stays_and_a_bucket_has_no_capitals(of: Of) -> None:
    assert _check(of(PLACEMENT), {"strategy": "cluster", "name": "near"})["name"] == "near"
    assert _check(of(BUCKET), {})["bucket"].startswith("efa-")


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        (PLACEMENT, {"strategy": "close"}, "'close' is not one of cluster, spread, partition"),
        (PLACEMENT, {"stratgy": "cluster"}, "did you mean strategy?"),
        (GROUP, {"ingress": []}, "does not model property ingress"),
        (LUSTRE, {"subnetIds": "subnet-1", "storageCapacity": -1}, "min"),
        (TEMPLATE, {"metadataOptions": {"httpTokens": "maybe"}}, "is not one of optional"),
    ],
)
def test_a_request_that_aws_could_not_take_fails_the_check(
    of: Of, token: str, inputs: dict[str, Any], said: str
) -> None:
    _checked, mistakes = of(token).check(inputs, {}, name="x", seed=b"")
    assert any(said in mistake for mistake in mistakes), mistakes


def test_a_request_with_unknown_parts_is_checked_as_far_as_it_is_known(of: Of) -> None:
    partly = [{"subnetId": UNKNOWN_VALUE}]
    assert _check(of(TEMPLATE), {"networkInterfaces": partly})["networkInterfaces"] == partly
    misspelt = {"networkInterfaces": [{"subnetId": UNKNOWN_VALUE, "subnet": "s"}]}
    _checked, mistakes = of(TEMPLATE).check(misspelt, {}, name="x", seed=b"")
    assert mistakes, "what is known beside it is still checked"


def test_an_instance_type_newer_than_botocore_is_no_mistake(of: Of) -> None:
    checked = _check(of(TEMPLATE), {"instanceType": "paper.8gpu"})
    assert checked["instanceType"] == "paper.8gpu"


def test_what_no_operation_carries_replaces(of: Of) -> None:
    old = _check(of(PLACEMENT), {"strategy": "cluster"})
    change = of(PLACEMENT).diff(old, {}, {**old, "strategy": "spread"})
    assert change.replaces == ("strategy",)
    assert not change.delete_first, "it was named by us: both can stand side by side"


def test_a_replacement_of_the_same_given_name_deletes_first(of: Of) -> None:
    old = _check(of(PLACEMENT), {"strategy": "cluster", "name": "near"})
    assert of(PLACEMENT).diff(old, {}, {**old, "strategy": "spread"}).delete_first


@pytest.mark.parametrize(("capacity", "replaces"), [(9600, ()), (2400, ("storageCapacity",))])
def test_a_file_system_grows_in_place_and_shrinks_by_replacement(
    of: Of, capacity: int, replaces: tuple[str, ...]
) -> None:
    old = {"subnetIds": "subnet-1", "storageCapacity": 4800}
    change = of(LUSTRE).diff(old, {}, {**old, "storageCapacity": capacity})
    assert change.paths == {"storageCapacity": "update"}
    assert change.replaces == replaces


def test_ignored_changes_are_none(of: Of) -> None:
    old = {"metadataOptions": {"httpTokens": "required"}, "name": "a"}
    new = {**old, "metadataOptions": {"httpTokens": "optional"}}
    assert of(TEMPLATE).diff(old, {}, new).paths == {"metadataOptions.httpTokens": "update"}
    ignored = of(TEMPLATE).diff(old, {}, new, ["metadataOptions.httpTokens"])
    assert ignored.paths == {}


def test_another_region_replaces(of: Of) -> None:
    old = {"name": "a", "strategy": "cluster"}
    state = {STAMP: "simulated", "region": "us-east-2"}
    assert of(PLACEMENT).diff(old, state, {**old, "region": "us-east-2"}).paths == {}
    assert of(PLACEMENT).diff(old, state, {**old, "region": "us-west-2"}).replaces == ("region",)


def test_new_default_tags_are_an_update(of: Of) -> None:
    state = {STAMP: "simulated", "tagsAll": {"cost": "old"}}
    assert of(GROUP).diff({"name": "a"}, state, {"name": "a"}).paths == {"tagsAll.cost": "update"}


def test_a_preview_knows_inputs_and_tags_and_nothing_else(of: Of) -> None:
    seen = of(TEMPLATE).preview_create({"name": "a", "tags": {"b": "c"}})
    assert seen["name"] == "a"
    assert seen["tagsAll"] == {"cost": "x", "b": "c"}
    assert seen["latestVersion"] == UNKNOWN_VALUE
    state = {"latestVersion": 3, "arn": "arn:x"}
    updated = of(TEMPLATE).preview_update(state, {"name": "a"})
    assert updated["latestVersion"] == UNKNOWN_VALUE
    assert updated["arn"] == "arn:x"


def test_state_of_the_real_provider_is_refused(of: Of) -> None:
    with pytest.raises(PaperError, match="made by the real AWS provider"):
        of(GROUP).diff({}, {"__meta": "{}", "arn": "arn:x"}, {})


@pytest.mark.parametrize("address", ["", "https://ec2.us-east-2.amazonaws.com", "http://10.0.0.1"])
def test_only_loopback_is_talked_to(address: str) -> None:
    with pytest.raises(PaperError, match="loopback only"):
        require_loopback(address)


def test_settings_of_the_provider_that_are_not_modelled_are_named() -> None:
    assert configuration_mistakes({"region": "us-east-2", "maxRetries": 3}) == []
    [(key, _reason)] = configuration_mistakes({"assumeRoles": []})
    assert key == "assumeRoles"


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("10m", 600), ("1h30m", 5400), ("3s", 3)])
def test_durations_are_read_as_go_writes_them(text: str, value: float) -> None:
    assert seconds(text) == value


def test_a_null_in_a_list_is_a_mistake(of: Of) -> None:
    interfaces = [{"securityGroups": ["sg-1", None]}]
    inputs = {"networkInterfaces": interfaces}
    _checked, mistakes = of(TEMPLATE).check(inputs, {}, name="x", seed=b"")
    assert "networkInterfaces.securityGroups has an item that is null" in mistakes[0]
