"""What the SDK's own types say about inputs that mocks let through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from papercloud.provider import schema, tokens

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
SUBNET = "aws:ec2/subnet:Subnet"


def test_a_launch_template_as_a_program_writes_it_has_no_mistakes() -> None:
    inputs = {
        "instanceType": "p5.48xlarge",
        "ebsOptimized": "true",
        "networkInterfaces": [{"networkCardIndex": 1.0, "interfaceType": "efa-only"}],
        "metadataOptions": {"httpTokens": "required"},
        "tags": {"owner": "me"},
    }
    assert schema.check_inputs(TEMPLATE, inputs) == []


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"instanceTyp": "x"}, "instanceTyp is an unknown property; did you mean instanceType?"),
        ({"metadataOptions": {"http_tokens": "x"}}, "metadataOptions.http_tokens is an unknown"),
        ({"networkInterfaces": [{"networkCard": 0}]}, "networkInterfaces[0].networkCard is an"),
        ({"ebsOptimized": True}, "ebsOptimized is not of type string"),
        ({"networkInterfaces": {"deviceIndex": 0}}, "networkInterfaces is not a list"),
        ({"networkInterfaces": [{"deviceIndex": 0.5}]}, "[0].deviceIndex is not of type integer"),
        ({"placement": "cluster"}, "placement is not a mapping"),
        ({"tags": {"a": 1}}, "tags.a is not of type string"),
    ],
)
def test_a_mistake_is_named_with_its_path(inputs: dict[str, Any], said: str) -> None:
    [line] = schema.check_inputs(TEMPLATE, inputs)
    assert said in line


def test_a_missing_required_input_is_named() -> None:
    assert schema.check_inputs(SUBNET, {}) == [f"{SUBNET}: property vpcId is required"]


def test_what_is_not_known_yet_and_secrets_are_looked_through() -> None:
    secret = {schema.SIGNATURE_KEY: "1b47061264138c4ac30d75fd1eb44270", "value": 7}
    assert schema.check_inputs(SUBNET, {"vpcId": schema.UNKNOWN_VALUE}) == []
    assert schema.check_inputs(SUBNET, {"vpcId": secret}) == [
        f"{SUBNET}: property vpcId is not of type string"
    ]


def test_a_type_that_is_not_modelled_is_a_mistake() -> None:
    [line] = schema.check_inputs("aws:rds/instance:Instance", {})
    assert "does not model" in line


def test_every_modelled_type_and_function_is_in_the_installed_sdk() -> None:
    found = schema.load()
    assert all(found.outputs(token) for token in (*tokens.RESOURCES, *tokens.FUNCTIONS))


def test_the_sdk_is_read_once_and_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(schema, "_read_sdk", lambda: {"resources": {}, "functions": {}})
    schema.load.__wrapped__()
    [kept] = tmp_path.rglob("*.json")
    assert schema.sdk_version() in kept.name
    monkeypatch.setattr(schema, "_read_sdk", lambda: pytest.fail("read twice"))
    assert not schema.load.__wrapped__().models(SUBNET)
