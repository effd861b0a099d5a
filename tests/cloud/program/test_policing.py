"""Mistakes made in the program on purpose: a policy stops each, at preview or at up."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_aws
import pytest

from stacks import aws as program
from stacks import build_stack
from stacks.aws import network, template
from tests.cloud.program.recording import Recording, cluster, example, run


@pytest.fixture(params=[True, False], ids=["preview", "up"])
def preview(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def refused(data: dict[str, Any], *, preview: bool) -> tuple[str, Recording]:
    """Run the program, which must be stopped; returns why, and what was asked for before."""
    mocks = Recording()
    with pytest.raises(pulumi.RunError) as stopped:
        run(data, preview=preview, mocks=mocks)
    return str(stopped.value), mocks


def test_a_metadata_service_without_tokens_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    _change_templates(monkeypatch, metadata_options={"http_tokens": "optional"})
    why, mocks = refused(cluster(), preview=preview)
    assert "policy imds-v2: LaunchTemplate test-" in why
    # At up nothing is built that breaks a policy; a preview builds nothing and names every break.
    assert bool(mocks.of("LaunchTemplate")) is preview
    assert (len(why.splitlines()) == 2) is preview


def test_an_unencrypted_disk_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    disk = {"device_name": "/dev/sda1", "ebs": {"encrypted": "false"}}
    _change_templates(monkeypatch, block_device_mappings=[disk])
    assert "policy encrypted: " in refused(cluster(), preview=preview)[0]


def test_a_dropped_efa_interface_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    whole = template._interface

    def all_plain(one: Any, args: Any) -> dict[str, Any]:
        return {**whole(one, args), "interface_type": "interface"}

    monkeypatch.setattr(template, "_interface", all_plain)
    why, _ = refused(cluster(), preview=preview)
    assert (
        "policy efa-layout: LaunchTemplate test-train: 0 EFA interfaces; p5.48xlarge has 32" in why
    )


def test_a_dropped_self_rule_stops_the_program_at_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "let_flow", lambda *_args: None)
    why, _ = refused(cluster(), preview=False)
    assert "policy efa-security-group: LaunchTemplate test-train" in why


def test_a_way_in_for_everybody_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    monkeypatch.setattr("muster.plan.aws.model.PRIVATE_RANGES", ("0.0.0.0/0",))
    access = {**cluster()["access"], "via": "direct"}
    why, _ = refused(cluster(access=access), preview=preview)
    assert "policy no-open-ingress: SecurityGroupIngressRule test-nodes-from-0.0.0.0-0" in why


def test_a_secret_in_user_data_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    text = "#cloud-config\nwrite_files: [{content: '-----BEGIN RSA PRIVATE KEY-----'}]\n"
    monkeypatch.setattr(program, "cloud_config", lambda _access: text)
    assert "policy no-plain-secret: LaunchTemplate" in refused(cluster(), preview=preview)[0]


def test_a_missing_tag_stops_the_program(monkeypatch: pytest.MonkeyPatch, preview: bool) -> None:
    monkeypatch.setattr("stacks.aws.place.STACK_TAG", "stack")
    assert "policy tagged: " in refused(cluster(), preview=preview)[0]


def test_a_bucket_that_is_not_closed_stops_the_program(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    monkeypatch.setattr(pulumi_aws.s3, "BucketPublicAccessBlock", lambda *_a, **_k: None)
    why, _ = refused(example("example-storage"), preview=preview)
    assert "policy closed-bucket: Bucket example-muster-data" in why


def test_a_secret_in_an_output_stops_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"key": pulumi.Output.from_input("-----BEGIN PRIVATE KEY-----")}
    monkeypatch.setitem(build_stack.__globals__["_TARGETS"], "aws", lambda *_args: made)
    why, _ = refused(cluster(), preview=False)
    assert "policy no-plain-secret: output key" in why


def _change_templates(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    original = pulumi_aws.ec2.LaunchTemplate

    def changed(name: str, **given: Any) -> Any:
        return original(name, **{**given, **changes})

    monkeypatch.setattr(pulumi_aws.ec2, "LaunchTemplate", changed)
