"""Reasons why nodes would not boot, or could not be named as the spec asks."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from muster.catalog import InstanceType
from muster.catalog.nodes import BucketNames, NameLimit, load_node_facts
from muster.plan.cloud_view import Image, Unread, look_up
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown, untold

_MIB_OF_GB = 1024
"""A GB of the rule that was taken over is a GiB of the instance's memory."""


@dataclass(frozen=True, slots=True)
class _Booted:
    """Nodes of one kind: where they stand in the spec, and what boots them."""

    path: str
    what: str
    type: InstanceType
    image: str | None
    root_gib: int


def _booted(view: View) -> Iterator[_Booted]:
    for number, pool in enumerate(view.plan.pools):
        what = f"pool {pool.name}"
        yield _Booted(f"pools[{number}]", what, pool.type, pool.image, pool.root_gib)
    head = view.plan.head
    if head is not None:
        yield _Booted("head", "the head", head.type, head.image, head.root_gib)


def images_are_given(view: View) -> Iterator[Said]:
    """Every node boots an image that the spec names by id."""
    for nodes in _booted(view):
        if nodes.image:
            yield passed(f"{nodes.what} boots {nodes.image}", f"{nodes.path}.image")
        else:
            do = "Give image, as ami-0123456789abcdef0, for the cluster or here."
            yield failed(f"{nodes.what} has no image", f"{nodes.path}.image", do)


def images_fit_types(view: View) -> Iterator[Said]:
    """An image has the architecture of its nodes, a boot mode they have, and room on the disk."""
    groups: dict[str, list[_Booted]] = defaultdict(list)
    for nodes in _booted(view):
        if nodes.image:
            groups[nodes.image].append(nodes)
    for image, group in groups.items():
        path = f"{group[0].path}.image"
        arches = sorted({nodes.type.arch for nodes in group})
        if len(arches) > 1:
            what = f"{image} would boot {' and '.join(arches)}; an image has one architecture"
            do = f"Give {group[-1].what} or {group[0].what} an image of its own."
            yield failed(what, path, do)
            continue
        yield _fits(view, image, group, path)


def _fits(view: View, image: str, group: list[_Booted], path: str) -> Said:
    arch, found = group[0].type.arch, look_up(view.cloud.images, image)
    if isinstance(found, Unread):
        query = "Images[].[State,Architecture,BootMode,BlockDeviceMappings[].Ebs.VolumeSize]"
        do = f"See: aws ec2 describe-images --image-ids {image} --query '{query}'"
        return untold(f"{image} must exist and be {_needs(arch, group)}", path, do, found)
    if found is None:
        what = f"{image} does not exist in {view.cloud.region}, or is not shared with this account"
        return failed(what, path, "Image ids differ between regions: name that of this one.")
    if found.state != "available":
        return failed(f"{image} is {found.state}", path, "Use an image that is available.")
    if found.arch != arch:
        return failed(f"{image} is {found.arch}; its nodes are {arch}", path, f"Use one of {arch}.")
    room = min(nodes.root_gib for nodes in group)
    if found.root_gib is not None and found.root_gib > room:
        do = f"Set rootGiB to {found.root_gib} or more."
        return failed(f"{image} has {found.root_gib} GiB, the root disk {room}", path, do)
    return _boots(view, image, found, group, path)


def _boots(view: View, image: str, found: Image, group: list[_Booted], path: str) -> Said:
    """Where the image asks for a boot mode, every type has it; "uefi-preferred" asks for none."""
    wanted = found.boot_mode
    modes = {nodes.type.name: _boot_modes(view, nodes.type) for nodes in group}
    asks = wanted in {"legacy-bios", "uefi"}
    cannot = [name for name, has in modes.items() if has is not None and wanted not in has]
    untold_ = [name for name, has in modes.items() if has is None]
    if asks and cannot:
        do = "Use another image, or types that boot it."
        return failed(f"{image} boots by {wanted}; {', '.join(cannot)} cannot", path, do)
    if asks and untold_:
        what = f"{image} boots by {wanted}; no source says whether {', '.join(untold_)} can"
        do = f"See: aws ec2 describe-instance-types --instance-types {' '.join(untold_)}"
        return unknown(what, path, do)
    return passed(f"{image} is {found.arch}, and fits the root disks", path)


def _boot_modes(view: View, found: InstanceType) -> frozenset[str] | None:
    types = view.cloud.types
    if not isinstance(types, Unread) and found.name in types:
        return types[found.name].boot_modes
    return None if found.boot_modes is None else frozenset(found.boot_modes)


def _needs(arch: str, group: list[_Booted]) -> str:
    legacy = sorted({n.type.name for n in group if n.type.boot_modes == ("legacy-bios",)})
    untold = sorted({n.type.name for n in group if n.type.boot_modes is None})
    room = min(nodes.root_gib for nodes in group)
    needs = [arch, f"at most {room} GiB large"]
    if legacy:
        needs.append(f"able to boot by legacy BIOS, the only way of {', '.join(legacy)}")
    if untold:
        needs.append(f"of a boot mode that {', '.join(untold)} has, which no source states")
    return "; ".join(needs)


def head_is_large_enough(view: View) -> Iterator[Said]:
    """The head has the memory that a scheduler needs for so many nodes."""
    head = view.plan.head
    if head is None:
        return
    needed = load_node_facts().head_memory.needed_gb(view.plan.nodes)
    has = head.type.memory_mib / _MIB_OF_GB
    what = f"{head.type.name} has {has:g} GB; {view.plan.nodes} nodes need {needed:g}"
    if has >= needed:
        yield passed(what, "head.type")
    else:
        yield failed(what, "head.type", "Use a type with more memory.")


def names_are_short_enough(view: View) -> Iterator[Said]:
    """Names that the stack makes of stack and pool names fit into what AWS takes."""
    names = load_node_facts().names
    room = names.word.length + names.random_suffix.length
    for kind, limit in names.most.items():
        if limit.scheduler in {None, view.plan.scheduler}:
            longest, path = _longest_base(view, limit)
            length = len(longest) + room
            what = f"{kind} {longest}…: {length} characters with what is added"
            if length <= limit.most:
                yield passed(f"{what}, at most {limit.most}", path)
            else:
                over = length - limit.most
                do = f"Shorten the stack's name by {over}."
                yield failed(f"{what}; AWS takes {limit.most}", path, do)


def _longest_base(view: View, limit: NameLimit) -> tuple[str, str]:
    stack = view.plan.stack
    names = {f"{stack}-{p.name}": f"pools[{n}].name" for n, p in enumerate(view.plan.pools)}
    if limit.of == "stack" or not names:
        return stack, "stack"
    longest = max(names, key=len)
    return longest, names[longest]


def bucket_names_are_allowed(view: View) -> Iterator[Said]:
    """S3 takes the name of every bucket that the stack makes, and nobody else has it."""
    facts = load_node_facts().bucket_names
    for number, bucket in enumerate(view.plan.buckets):
        path = f"buckets[{number}].name"
        wrong = _wrong_bucket(bucket.name, facts)
        if wrong:
            yield failed(f"{bucket.name} {wrong}; S3 refuses it", path, "Choose another name.")
        else:
            yield _is_free(view, bucket.name, path)


def _is_free(view: View, name: str, path: str) -> Said:
    found = look_up(view.cloud.buckets, name)
    if isinstance(found, Unread):
        do = f"See: aws s3api head-bucket --bucket {name}; 404 says that it is free."
        return untold(f"{name} must be free: bucket names are world-wide", path, do, found)
    if found is None:
        return passed(f"{name} is free", path)
    if found.own:
        return passed(f"{name} is this stack's already", path)
    do = "Choose another name, or import the bucket and leave it out here."
    return failed(f"{name} exists already", path, do)


def _wrong_bucket(name: str, facts: BucketNames) -> str:
    """Say what S3 does not like about a name; empty where it is as it must be."""
    for part in facts.not_within:
        if part in name:
            return f"has {part} in it"
    for part in facts.not_first:
        if name.startswith(part):
            return f"begins with {part}"
    for part in facts.not_last:
        if name.endswith(part):
            return f"ends with {part}"
    return "looks like an IP address" if _is_address(name) else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True


def imported_buckets_exist(view: View) -> Iterator[Said]:
    """The bucket that fills a file system exists, or is made by the same stack."""
    made = {bucket.name for bucket in view.plan.buckets}
    for number, system in enumerate(view.plan.file_systems):
        if system.data_repository is None:
            continue
        path = f"storage[{number}].import"
        bucket = system.data_repository.removeprefix("s3://").partition("/")[0]
        if bucket in made:
            yield passed(f"{bucket} is made by this stack", path)
        else:
            yield _is_here(view, bucket, path)


def _is_here(view: View, bucket: str, path: str) -> Said:
    found = look_up(view.cloud.buckets, bucket)
    if isinstance(found, Unread):
        do = f"See: aws s3api head-bucket --bucket {bucket}; its region must be this one."
        return untold(f"{bucket} must exist, in this region and readable", path, do, found)
    if found is None:
        return failed(f"{bucket} does not exist", path, "Make it, or correct the name.")
    if found.region != view.cloud.region:
        what = f"{bucket} is in {found.region or 'an unknown region'}, not {view.cloud.region}"
        return failed(what, path, "Use a bucket of the stack's region.")
    return passed(f"{bucket} exists in {found.region}", path)


_FILE = "in catalog/nodes.yaml"

RULES: tuple[Rule, ...] = (
    Rule(
        id="image-given",
        title="Every node boots an image that the spec names by id.",
        source="a choice of this project: an image that floats replaces nodes by itself",
        ask=images_are_given,
    ),
    Rule(
        id="image-fits",
        title="An image exists, with the architecture, boot mode and size that its nodes take.",
        source="EC2 API, DescribeInstanceTypes; AWS ParallelCluster, InstanceTypeBaseAMICompatible",
        ask=images_fit_types,
    ),
    Rule(
        id="head-memory",
        title="The head has the memory that the scheduler needs for so many nodes.",
        source=f"AWS ParallelCluster, HeadNodeMemorySize, {_FILE}",
        ask=head_is_large_enough,
    ),
    Rule(
        id="name-lengths",
        title="Names made of stack and pool fit into what AWS takes.",
        source=f"models of IAM, EC2 and EKS in botocore, {_FILE}",
        ask=names_are_short_enough,
    ),
    Rule(
        id="bucket-names",
        title="S3 takes the name of every new bucket, and nobody else has it.",
        source=f"S3 user guide, {_FILE}",
        ask=bucket_names_are_allowed,
    ),
    Rule(
        id="import-bucket",
        title="The bucket that fills a file system exists.",
        source="S3 API, HeadBucket",
        ask=imported_buckets_exist,
    ),
)
