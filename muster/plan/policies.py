"""Policies that hold for every stack, judged on what is about to be asked of a cloud. Pure.

A policy looks at one resource as the engine will see it: its type, its name and its inputs by
their names on the wire. What is not known yet (in a preview) breaks nothing and passes nothing: it
is judged again at `up`, when it is known. FSx has no policy: it encrypts always.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from muster.catalog import Catalog
from muster.plan.efa_policies import LAUNCH_TEMPLATE, efa_layout, groups_without_efa
from muster.plan.policy_model import UNKNOWN, Break, Resource, is_list
from muster.plan.secret_forms import secrets_in

STACK_TAG = "muster:stack"
_INSTANCE = "aws:ec2/instance:Instance"
_BUCKET = "aws:s3/bucket:Bucket"
_BUCKET_CLOSED = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
_CLOSED_BY = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
_WIDEST = {4: 8, 6: 16}
"""The shortest prefix that may stand for somebody; a shorter one stands for everybody."""


_Said = tuple[str, str]
_Judge = Callable[[Resource], Iterator[_Said]]
_JudgeAll = Callable[[Sequence[Resource]], Iterator[tuple[Resource, str, str]]]


def broken(resource: Resource, catalog: Catalog) -> tuple[Break, ...]:
    """Judge one resource."""
    efa: _Judge = partial(efa_layout, catalog=catalog)
    judges = {**POLICIES, "efa-layout": efa}
    return tuple(
        Break(policy=policy, type=resource.type, name=resource.name, what=what, do=do)
        for policy, judge in judges.items()
        for what, do in judge(resource)
    )


def broken_together(resources: Iterable[Resource]) -> tuple[Break, ...]:
    """Judge what only shows in all resources of a stack."""
    listed = tuple(resources)
    return tuple(
        Break(policy=policy, type=one.type, name=one.name, what=what, do=do)
        for policy, judge in _TOGETHER.items()
        for one, what, do in judge(listed)
    )


def _open_buckets(resources: Sequence[Resource]) -> Iterator[tuple[Resource, str, str]]:
    """Every bucket has what closes it."""
    closed = [one.at("bucket") for one in resources if one.type == _BUCKET_CLOSED]
    if UNKNOWN in closed:
        return
    for one in resources:
        if one.type == _BUCKET and one.at("bucket") not in (*closed, UNKNOWN):
            yield one, "nothing closes it to the public", "Give it a BucketPublicAccessBlock."


def broken_outputs(outputs: Mapping[str, Any]) -> tuple[Break, ...]:
    """Judge the outputs of a stack, which anybody who may read the stack can read."""
    return tuple(
        Break(
            policy="no-plain-secret",
            type="output",
            name=name,
            what=f"has {what}",
            do="Leave it out; keep secrets in a store made for them.",
        )
        for name, value in outputs.items()
        for what in _secrets(value)
    )


def _metadata_service(resource: Resource) -> Iterator[_Said]:
    """IMDSv2 only: with version 1, a program tricked into one request gives the role away."""
    named = resource.type in {LAUNCH_TEMPLATE, _INSTANCE}
    options = resource.at("metadataOptions")
    if not named or (resource.is_launched and options is None):
        return
    if resource.at("metadataOptions", "httpTokens") not in ("required", UNKNOWN):
        yield "the metadata service answers without a token", 'Set httpTokens to "required".'


def _encryption(resource: Resource) -> Iterator[_Said]:
    """Disks and file systems are encrypted."""
    for disk, encrypted in _disks(resource):
        if not _is_on(encrypted):
            yield f"{disk} is not encrypted", "Set encrypted."


def _disks(resource: Resource) -> Iterator[tuple[str, Any]]:
    """Give each disk and whether it is encrypted; one of which nothing is said is not."""
    if resource.type in {"aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem"}:
        yield "it", resource.at("encrypted")
    elif resource.type == LAUNCH_TEMPLATE:
        if resource.at("blockDeviceMappings") in (None, []):
            yield "its root disk", None
        for one in resource.each("blockDeviceMappings"):
            disk = one.get("ebs")
            if disk is not None:
                yield f"disk {one.get('deviceName')}", _within(disk, "encrypted")
    elif resource.type == _INSTANCE:
        if not resource.is_launched or resource.at("rootBlockDevice") is not None:
            yield "its root disk", resource.at("rootBlockDevice", "encrypted")
        for one in resource.each("ebsBlockDevices"):
            yield f"disk {one.get('deviceName')}", one.get("encrypted")


def _within(value: Any, key: str) -> Any:
    return value if value is UNKNOWN else value.get(key)


def _ingress(resource: Resource) -> Iterator[_Said]:
    """Nobody gets in from everywhere."""
    for cidr in _sources(resource):
        if cidr is not UNKNOWN and _is_everybody(cidr):
            what = f"it lets {cidr} in, which is everybody"
            yield what, "Name a range of your own, or use Session Manager."


def _sources(resource: Resource) -> Iterator[Any]:
    """Give the address ranges that a resource lets in."""
    kind = resource.type
    if kind == "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule":
        yield from (resource.at(key) for key in ("cidrIpv4", "cidrIpv6"))
    elif kind == "aws:ec2/securityGroupRule:SecurityGroupRule":
        if resource.at("type") in ("ingress", UNKNOWN):
            yield from (*resource.each("cidrBlocks"), *resource.each("ipv6CidrBlocks"))
    elif kind.endswith((":SecurityGroup", ":DefaultSecurityGroup")):
        for rule in resource.each("ingress"):
            for key in ("cidrBlocks", "ipv6CidrBlocks"):
                yield from rule.get(key) if is_list(rule.get(key)) else ()
    elif kind == "aws:eks/cluster:Cluster":
        public = resource.at("vpcConfig", "endpointPublicAccess")
        if public is not UNKNOWN and (public is None or _is_on(public)):
            # Who may reach the API is everybody where nobody is named.
            yield from resource.each("vpcConfig", "publicAccessCidrs") or ("0.0.0.0/0",)


def _is_everybody(cidr: Any) -> bool:
    if not isinstance(cidr, str):
        return False
    try:
        found = ipaddress.ip_network(cidr, strict=False)
    except ValueError:
        return True  # not a range: who is meant cannot be told
    return found.prefixlen < _WIDEST[found.version]


def _no_secret(resource: Resource) -> Iterator[_Said]:
    """User data and the state, which others can read, have no secrets."""
    for key, value in resource.inputs.items():
        for what in _secrets(value):
            yield f"{key} has {what}", "Leave it out; keep secrets in a store made for them."


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from secrets_in(value)
        yield from secrets_in(_decoded(value))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            # With its key, which may be what gives a value away.
            named = tuple(secrets_in(f"{key}: {inner}")) if isinstance(inner, str) else ()
            yield from named or _secrets(inner)
    elif is_list(value):
        for inner in value:
            yield from _secrets(inner)


def _decoded(text: str) -> str:
    """Return what base64 hides, as in user data; nothing where it is not base64."""
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""


def _tags(resource: Resource) -> Iterator[_Said]:
    """Every resource says which stack it belongs to, so that it is found, paid and cleared."""
    if not resource.taggable:
        return
    tags = resource.at("tags")
    if tags is UNKNOWN:
        return
    given = [one.get("key") for one in resource.each("tags")] if is_list(tags) else tags or ()
    if STACK_TAG not in given:
        yield f"it has no tag {STACK_TAG}", "Give it the stack's tags."


def _termination(resource: Resource) -> Iterator[_Said]:
    """A single instance, as the head, is not ended by a click; those of groups are replaced."""
    if resource.type != _INSTANCE:
        return
    guard = resource.at("disableApiTermination")
    if guard is not UNKNOWN and not _is_on(guard):
        yield "one call ends it", "Set disableApiTermination."


def _no_public_address(resource: Resource) -> Iterator[_Said]:
    """Nodes cannot be reached from the internet."""
    given: list[Any] = []
    if resource.type == LAUNCH_TEMPLATE:
        given = [n.get("associatePublicIpAddress") for n in resource.each("networkInterfaces")]
    elif resource.type == _INSTANCE:
        given = [resource.at("associatePublicIpAddress")]
    elif resource.type == "aws:ec2/subnet:Subnet":
        given = [resource.at("mapPublicIpOnLaunch")]
    if any(one is not UNKNOWN and _is_on(one) for one in given):
        yield "it gives instances public addresses", "Leave them out; use Session Manager."


def _bucket(resource: Resource) -> Iterator[_Said]:
    """What closes a bucket closes it wholly."""
    if resource.type != _BUCKET_CLOSED:
        return
    for key in _CLOSED_BY:
        if not _is_on(resource.at(key)):
            yield f"{key} is not set", "Set all four."


def _is_on(value: Any) -> bool:
    """Is it true, as a flag or as the word that launch templates use; or not known yet?"""
    return value is True or value == "true" or value is UNKNOWN


POLICIES: Mapping[str, _Judge] = {
    "imds-v2": _metadata_service,
    "encrypted": _encryption,
    "no-open-ingress": _ingress,
    "no-plain-secret": _no_secret,
    "tagged": _tags,
    "termination-protection": _termination,
    "no-public-address": _no_public_address,
    "closed-bucket": _bucket,
}
"""Policies on one resource, by their ids; that of EFA also needs the catalog."""
_TOGETHER: Mapping[str, _JudgeAll] = {
    "closed-bucket": _open_buckets,
    "efa-security-group": groups_without_efa,
}
