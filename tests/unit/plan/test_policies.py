"""Each policy: what breaks it, what keeps it, and what is not judged before it is known."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from muster.catalog import load_catalog
from muster.plan.policies import POLICIES, broken, broken_outputs, broken_together
from muster.plan.policy_model import UNKNOWN, Break, Resource

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
OLD_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
EKS = "aws:eks/cluster:Cluster"
SUBNET = "aws:ec2/subnet:Subnet"
CLOSED = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
BUCKET = "aws:s3/bucket:Bucket"
EFS = "aws:efs/fileSystem:FileSystem"
VOLUME = "aws:ebs/volume:Volume"
ANY = "aws:ec2/vpc:Vpc"

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----"
AWS_SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab"  # noqa: S105 - the form, not a key
TAGS = {"muster:stack": "test"}
ALL_CLOSED = dict.fromkeys(
    ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"), True
)


def disks(encrypted: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"encrypted": encrypted}}]}


def interfaces(public: Any) -> dict[str, Any]:
    return {"networkInterfaces": [{"deviceIndex": 0, "associatePublicIpAddress": public}]}


def inline(cidr: Any) -> dict[str, Any]:
    return {"ingress": [{"cidrBlocks": [cidr]}]}


def api(public: Any, *cidrs: Any) -> dict[str, Any]:
    return {"vpcConfig": {"endpointPublicAccess": public, "publicAccessCidrs": list(cidrs)}}


BREAKS: list[tuple[str, str, dict[str, Any]]] = [
    ("imds-v2", TEMPLATE, {}),
    ("imds-v2", TEMPLATE, {"metadataOptions": {"httpTokens": "optional"}}),
    ("imds-v2", INSTANCE, {}),
    ("imds-v2", INSTANCE, {"launchTemplate": {"id": "lt-0"}, "metadataOptions": {}}),
    ("encrypted", TEMPLATE, {}),
    ("encrypted", TEMPLATE, disks("false")),
    ("encrypted", TEMPLATE, disks(None)),
    ("encrypted", EFS, {}),
    ("encrypted", VOLUME, {"encrypted": False}),
    ("encrypted", INSTANCE, {}),
    ("encrypted", INSTANCE, {"launchTemplate": {"id": "lt-0"}, "rootBlockDevice": {}}),
    ("encrypted", INSTANCE, {"ebsBlockDevices": [{"deviceName": "/dev/sdb"}]}),
    ("no-open-ingress", INGRESS, {"cidrIpv4": "0.0.0.0/0"}),
    ("no-open-ingress", INGRESS, {"cidrIpv4": "0.0.0.0/1"}),
    ("no-open-ingress", INGRESS, {"cidrIpv6": "::/0"}),
    ("no-open-ingress", INGRESS, {"cidrIpv4": "anywhere"}),
    ("no-open-ingress", GROUP, inline("0.0.0.0/0")),
    ("no-open-ingress", OLD_RULE, {"type": "ingress", "ipv6CidrBlocks": ["::/0"]}),
    ("no-open-ingress", EKS, {}),
    ("no-open-ingress", EKS, api(True, "0.0.0.0/0")),
    ("no-plain-secret", TEMPLATE, {"userData": base64.b64encode(KEY.encode()).decode()}),
    ("no-plain-secret", ANY, {"deep": [{"list": f"aws_secret_access_key = {AWS_SECRET}"}]}),
    ("no-plain-secret", ANY, {"environ": {"SecretAccessKey": AWS_SECRET}}),
    ("no-plain-secret", ANY, {"text": "AKIAIOSFODNN7EXAMPLE"}),
    ("no-plain-secret", ANY, {"text": "ghp_" + "a" * 36}),
    ("no-plain-secret", ANY, {"text": "hf_" + "a" * 34}),
    ("no-plain-secret", ANY, {"environ": {"MYSQL_PASSWORD": "correct-horse"}}),
    ("termination-protection", INSTANCE, {}),
    ("termination-protection", INSTANCE, {"disableApiTermination": False}),
    ("no-public-address", TEMPLATE, interfaces("true")),
    ("no-public-address", INSTANCE, {"associatePublicIpAddress": True}),
    ("no-public-address", SUBNET, {"mapPublicIpOnLaunch": True}),
    ("closed-bucket", CLOSED, {**ALL_CLOSED, "blockPublicPolicy": False}),
    ("closed-bucket", CLOSED, {}),
]
KEEPS: list[tuple[str, str, dict[str, Any]]] = [
    ("imds-v2", TEMPLATE, {"metadataOptions": {"httpTokens": "required"}}),
    ("imds-v2", INSTANCE, {"launchTemplate": {"id": "lt-0"}}),
    ("encrypted", TEMPLATE, disks("true")),
    ("encrypted", TEMPLATE, {"blockDeviceMappings": [{"virtualName": "ephemeral0"}]}),
    ("encrypted", EFS, {"encrypted": True}),
    ("encrypted", INSTANCE, {"launchTemplate": {"id": "lt-0"}}),
    ("encrypted", INSTANCE, {"rootBlockDevice": {"encrypted": True}}),
    ("no-open-ingress", INGRESS, {"cidrIpv4": "10.0.0.0/8"}),
    ("no-open-ingress", INGRESS, {"referencedSecurityGroupId": "sg-0"}),
    ("no-open-ingress", EGRESS, {"cidrIpv4": "0.0.0.0/0"}),
    ("no-open-ingress", OLD_RULE, {"type": "egress", "cidrBlocks": ["0.0.0.0/0"]}),
    ("no-open-ingress", EKS, api(False)),
    ("no-open-ingress", EKS, api(True, "192.0.2.0/24")),
    ("no-plain-secret", TEMPLATE, {"userData": base64.b64encode(b"#cloud-config\n").decode()}),
    ("no-plain-secret", ANY, {"publicKeys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI you"]}),
    ("no-plain-secret", ANY, {"keyFile": "~/.ssh/id_ed25519", "secretName": "a"}),
    ("termination-protection", INSTANCE, {"disableApiTermination": True}),
    ("no-public-address", TEMPLATE, interfaces("false")),
    ("no-public-address", SUBNET, {"mapPublicIpOnLaunch": False}),
    ("closed-bucket", CLOSED, ALL_CLOSED),
]
NOT_KNOWN: list[tuple[str, str, dict[str, Any]]] = [
    ("imds-v2", TEMPLATE, {"metadataOptions": UNKNOWN}),
    ("imds-v2", TEMPLATE, {"metadataOptions": {"httpTokens": UNKNOWN}}),
    ("encrypted", TEMPLATE, {"blockDeviceMappings": UNKNOWN}),
    ("encrypted", TEMPLATE, {"blockDeviceMappings": [{"ebs": UNKNOWN}]}),
    ("encrypted", EFS, {"encrypted": UNKNOWN}),
    ("no-open-ingress", INGRESS, {"cidrIpv4": UNKNOWN}),
    ("no-open-ingress", GROUP, inline(UNKNOWN)),
    ("no-open-ingress", EKS, {"vpcConfig": UNKNOWN}),
    ("no-plain-secret", TEMPLATE, {"userData": UNKNOWN}),
    ("tagged", ANY, {"tags": UNKNOWN}),
    ("termination-protection", INSTANCE, {"disableApiTermination": UNKNOWN}),
    ("no-public-address", TEMPLATE, {"networkInterfaces": [UNKNOWN]}),
    ("closed-bucket", CLOSED, dict.fromkeys(ALL_CLOSED, UNKNOWN)),
]


def found(kind: str, inputs: dict[str, Any], *, taggable: bool = False) -> dict[str, Break]:
    resource = Resource(type=kind, name="it", inputs=inputs, taggable=taggable)
    return {one.policy: one for one in broken(resource, load_catalog())}


@pytest.mark.parametrize(("policy", "kind", "inputs"), BREAKS)
def test_a_broken_policy_is_one_line_that_says_what_to_do(
    policy: str, kind: str, inputs: dict[str, Any]
) -> None:
    one = found(kind, inputs)[policy]
    assert str(one).startswith(f"policy {policy}: ")
    assert "\n" not in str(one)
    assert one.do.endswith(".")


@pytest.mark.parametrize(("policy", "kind", "inputs"), KEEPS)
def test_what_keeps_a_policy_is_let_through(policy: str, kind: str, inputs: dict[str, Any]) -> None:
    assert policy not in found(kind, inputs)


@pytest.mark.parametrize(("policy", "kind", "inputs"), NOT_KNOWN)
def test_what_is_not_known_in_a_preview_breaks_nothing_yet(
    policy: str, kind: str, inputs: dict[str, Any]
) -> None:
    assert policy not in found(kind, inputs, taggable=True)


@pytest.mark.parametrize(
    "tags", [None, {"Name": "it"}, [{"key": "Name", "value": "it"}]], ids=["none", "map", "list"]
)
def test_a_resource_without_the_stacks_tag_is_named(tags: Any) -> None:
    assert "tagged" in found(ANY, {"tags": tags} if tags else {}, taggable=True)


@pytest.mark.parametrize("tags", [TAGS, [{"key": "muster:stack", "value": "test"}]])
def test_the_stacks_tag_may_be_in_a_map_or_a_list(tags: Any) -> None:
    assert "tagged" not in found(ANY, {"tags": tags}, taggable=True)


def test_a_type_without_tags_needs_none() -> None:
    assert "tagged" not in found(ANY, {}, taggable=False)


def test_every_policy_is_broken_kept_and_not_known_in_some_test() -> None:
    tested = {policy for policy, _, _ in BREAKS} | {"tagged"}
    assert tested == set(POLICIES)
    assert {policy for policy, _, _ in KEEPS} | {"tagged"} == set(POLICIES)
    assert {policy for policy, _, _ in NOT_KNOWN} == set(POLICIES)


def test_a_break_never_repeats_the_secret() -> None:
    assert AWS_SECRET not in str(found(ANY, {"environ": {"SecretAccessKey": AWS_SECRET}}))


def test_an_output_with_a_secret_is_named() -> None:
    [one] = broken_outputs({"head": "10.0.0.9", "key": {"pem": KEY}})
    assert (one.policy, one.name) == ("no-plain-secret", "key")


def bucket(name: Any) -> Resource:
    return Resource(type=BUCKET, name="data", inputs={"bucket": name})


def closing(name: Any) -> Resource:
    return Resource(type=CLOSED, name="data", inputs={"bucket": name, **ALL_CLOSED})


def test_a_bucket_that_nothing_closes_is_named() -> None:
    [one] = broken_together([bucket("open"), closing("other")])
    assert (one.policy, one.name) == ("closed-bucket", "data")


@pytest.mark.parametrize(("one", "other"), [("data", "data"), (UNKNOWN, "a"), ("a", UNKNOWN)])
def test_a_bucket_that_is_closed_or_not_known_is_let_through(one: Any, other: Any) -> None:
    assert not broken_together([bucket(one), closing(other)])


def launched(*kinds: tuple[int, int, str], group: Any = "sg-nodes") -> Resource:
    listed = [
        {"networkCardIndex": c, "deviceIndex": d, "interfaceType": k, "securityGroups": [group]}
        for c, d, k in kinds
    ]
    inputs = {"instanceType": "p4d.24xlarge", "networkInterfaces": listed}
    return Resource(type=TEMPLATE, name="train", inputs=inputs)


def rule(kind: str, group: Any, other: Any, protocol: str = "-1") -> Resource:
    inputs = {
        "securityGroupId": group,
        "referencedSecurityGroupId": other,
        "ipProtocol": protocol,
    }
    return Resource(type=kind, name="rule", inputs=inputs)


P4D = ((0, 0, "interface"), (0, 1, "efa-only"), *((card, 0, "efa-only") for card in (1, 2, 3)))


@pytest.mark.parametrize(
    ("kinds", "what"),
    [
        (P4D[:-1], "3 EFA interfaces; p4d.24xlarge has 4"),
        ((*P4D[:-1], (0, 2, "efa-only")), "2 EFA interfaces on card 0, which takes one"),
        (((0, 0, "efa-only"), *P4D[2:]), "its primary interface is not one with an address"),
        (((0, 0, "interface"),), "0 EFA interfaces; p4d.24xlarge has 4"),
    ],
)
def test_a_template_without_all_its_efa_interfaces_is_named(kinds: Any, what: str) -> None:
    breaks = broken(launched(*kinds), load_catalog())
    assert what in {one.what for one in breaks if one.policy == "efa-layout"}


def test_a_template_with_all_its_efa_interfaces_is_let_through() -> None:
    breaks = broken(launched(*P4D), load_catalog())
    assert not [one for one in breaks if one.policy == "efa-layout"]


BOTH = [rule(INGRESS, "sg-nodes", "sg-nodes"), rule(EGRESS, "sg-nodes", "sg-nodes")]


@pytest.mark.parametrize(
    "rules",
    [
        BOTH[:1],
        BOTH[1:],
        [BOTH[0], rule(EGRESS, "sg-nodes", "sg-other")],
        [BOTH[0], rule(EGRESS, "sg-nodes", "sg-nodes", "tcp")],
        [rule(INGRESS, "sg-other", "sg-other"), rule(EGRESS, "sg-other", "sg-other")],
    ],
)
def test_a_group_that_efa_cannot_use_is_named(rules: list[Resource]) -> None:
    [one] = broken_together([launched(*P4D), *rules])
    assert (one.policy, one.name) == ("efa-security-group", "train")


@pytest.mark.parametrize("group", ["sg-nodes", UNKNOWN])
def test_a_group_that_is_open_to_itself_both_ways_is_let_through(group: Any) -> None:
    rules = [rule(INGRESS, group, group), rule(EGRESS, group, group)]
    assert not broken_together([launched(*P4D, group=group), *rules])
