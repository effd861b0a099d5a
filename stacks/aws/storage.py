"""Shared file systems and buckets. What holds data is protected, and outlives the stack."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import pulumi
import pulumi_aws as aws

from muster.catalog.aws_stack import load_aws_stack
from muster.catalog.storage import load_storage
from muster.errors import UsageError
from muster.plan.aws.model import FileSystemPlan
from muster.spec import Bucket
from stacks.aws.place import Place
from stacks.aws.traffic import Group, Ports, let_flow, new_group

_CHANGES = ["NEW", "CHANGED", "DELETED"]
_DEPLOYMENT = {
    "scratch2": "SCRATCH_2",
    "persistent2": "PERSISTENT_2",
    "intelligentTiering": "PERSISTENT_2",
}


@dataclass(frozen=True, kw_only=True)
class StorageArgs:
    """`nodes` is the security group of all that mounts.

    `given_up` has (type, name) of what holds data and may be deleted for good: its loss was
    acknowledged. All else outlives the stack.
    """

    place: Place
    systems: tuple[FileSystemPlan, ...]
    buckets: tuple[Bucket, ...]
    vpc_id: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    nodes: Group
    given_up: frozenset[tuple[str, str]] = frozenset()


class Storage(pulumi.ComponentResource):
    """All file systems of a stack; `addresses` maps each mount to its id or DNS name."""

    def __init__(
        self, name: str, args: StorageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("muster:aws:Storage", name, {}, opts)
        self._args, self._place = args, args.place
        self._child = pulumi.ResourceOptions(parent=self)
        self._buckets = {bucket.name: self._bucket(bucket.name) for bucket in args.buckets}
        self.addresses: dict[str, pulumi.Input[str]] = {
            system.mount: system.id or self._made(system)
            for system in args.systems
            if system.kind != "localNvme"
        }
        self.register_outputs({"addresses": self.addresses})

    def _bucket(self, name: str) -> pulumi.Resource:
        """Make a bucket that nobody outside can read, encrypted; returns what completes it."""
        bucket = aws.s3.Bucket(
            name,
            bucket=name,
            tags=self._place.tagged(name),
            opts=self._guarded("aws:s3/bucket:Bucket", name),
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket.bucket,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=self._kept,
        )
        closed: pulumi.Resource = aws.s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self._kept,
        )
        return closed

    @property
    def _kept(self) -> pulumi.ResourceOptions:
        """What guards a bucket stays with it."""
        return pulumi.ResourceOptions(parent=self, retain_on_delete=True)

    def _made(self, system: FileSystemPlan) -> pulumi.Output[str]:
        # A point is in no mount, so /a/b and /a-b have two names.
        word = system.mount.strip("/").replace("/", ".")
        about = f"file system {system.mount}"
        group = new_group(self._place, f"fs-{word}", about, self._args.vpc_id, self._child)
        rules = self._let_mount(system, group)
        name = self._place.name(word)
        if system.kind == "efs":
            return self._efs(name, system, group)
        if system.kind == "fsxOpenZfs":
            kind = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
            return self._openzfs(name, system, group, self._made_slowly(kind, name, rules))
        kind = "aws:fsx/lustreFileSystem:LustreFileSystem"
        return self._lustre(name, system, group, self._made_slowly(kind, name, rules))

    def _let_mount(self, system: FileSystemPlan, group: Group) -> list[pulumi.Resource]:
        """Open the ports; Lustre's servers call back, and over EFA only rules for all hold."""
        nodes = self._args.nodes
        ports = [Ports()] if system.efa else _ports(system)
        pairs = [(nodes, group)]
        if system.kind == "fsxLustre":
            pairs += [(group, nodes), (group, group)]
        rules = (let_flow(self._place, a, b, ports, self._child) for a, b in pairs)
        return list(chain.from_iterable(rules))

    def _guarded(self, kind: str, name: str) -> pulumi.ResourceOptions:
        """Protect what holds data; it outlives the stack unless its loss was acknowledged."""
        kept = (kind, name) not in self._args.given_up
        return pulumi.ResourceOptions(parent=self, protect=True, retain_on_delete=kept)

    def _made_slowly(
        self, kind: str, name: str, rules: list[pulumi.Resource]
    ) -> pulumi.ResourceOptions:
        """Guard a file system, and make it after its rules: FSx refuses a group without them."""
        limits = load_aws_stack().file_system_minutes
        minutes = {key: f"{getattr(limits, key)}m" for key in ("create", "update", "delete")}
        more = pulumi.ResourceOptions(
            custom_timeouts=pulumi.CustomTimeouts(**minutes), depends_on=rules
        )
        return pulumi.ResourceOptions.merge(self._guarded(kind, name), more)

    def _lustre(
        self, name: str, system: FileSystemPlan, group: Group, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        made = aws.fsx.LustreFileSystem(
            name,
            subnet_ids=self._args.subnet_id,
            security_group_ids=[group.id],
            deployment_type=_DEPLOYMENT[system.deployment or "persistent2"],
            file_system_type_version=load_aws_stack().lustre.version,
            skip_final_backup=True,
            tags=self._place.tagged(name),
            opts=opts,
            **lustre_size(system),
        )
        if system.data_repository is not None:
            self._repository(name, system, made.id)
        address: pulumi.Output[str] = made.dns_name
        return address

    def _repository(self, name: str, system: FileSystemPlan, made: pulumi.Input[str]) -> None:
        """Tie a file system to its bucket."""
        address = system.data_repository or ""
        policies = {"auto_import_policy": {"events": _CHANGES}}
        if system.export:
            policies["auto_export_policy"] = {"events": _CHANGES}
        bucket = self._buckets.get(address.removeprefix("s3://").partition("/")[0])
        aws.fsx.DataRepositoryAssociation(
            name,
            file_system_id=made,
            data_repository_path=address,
            file_system_path="/",
            batch_import_meta_data_on_create=True,
            delete_data_in_filesystem=False,
            s3=policies,
            tags=self._place.tagged(name),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[bucket] if bucket else []),
        )

    def _openzfs(
        self, name: str, system: FileSystemPlan, group: Group, opts: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        made = aws.fsx.OpenZfsFileSystem(
            name,
            subnet_ids=[self._args.subnet_id],
            security_group_ids=[group.id],
            deployment_type=_openzfs_deployment(system),
            storage_capacity=system.capacity_gib,
            throughput_capacity=system.throughput,
            skip_final_backup=True,
            tags=self._place.tagged(name),
            opts=opts,
        )
        address: pulumi.Output[str] = made.dns_name
        return address

    def _efs(self, name: str, system: FileSystemPlan, group: Group) -> pulumi.Output[str]:
        given = system.throughput is not None
        made = aws.efs.FileSystem(
            name,
            encrypted=True,
            throughput_mode="provisioned" if given else "elastic",
            provisioned_throughput_in_mibps=system.throughput,
            tags=self._place.tagged(name),
            opts=self._guarded("aws:efs/fileSystem:FileSystem", name),
        )
        aws.efs.MountTarget(
            name,
            file_system_id=made.id,
            subnet_id=self._args.subnet_id,
            security_groups=[group.id],
            opts=self._child,
        )
        address: pulumi.Output[str] = made.dns_name
        return address


def lustre_size(system: FileSystemPlan) -> dict[str, Any]:
    """Return size, speed and metadata of an FSx for Lustre, as its deployment has them."""
    iops = system.metadata_iops
    if system.deployment == "scratch2":
        return {"storage_type": "SSD", "storage_capacity": system.capacity_gib}
    # Cannot be added to a file system later, and EFA asks for it.
    metadata = {"mode": "USER_PROVISIONED", "iops": iops} if iops else {"mode": "AUTOMATIC"}
    if system.deployment == "intelligentTiering":
        return {
            "storage_type": "INTELLIGENT_TIERING",
            "throughput_capacity": system.throughput,
            "metadata_configuration": metadata,
            "data_read_cache_configuration": {"sizing_mode": "PROPORTIONAL_TO_THROUGHPUT_CAPACITY"},
            **({"efa_enabled": True} if system.efa else {}),
        }
    return {
        "storage_type": "SSD",
        "storage_capacity": system.capacity_gib,
        "per_unit_storage_throughput": system.throughput,
        "metadata_configuration": metadata,
        "efa_enabled": system.efa,
    }


def _ports(system: FileSystemPlan) -> list[Ports]:
    if system.kind == "localNvme":
        return []
    facts = load_storage().ports[system.kind]
    tcp = [Ports.parse("tcp", text) for text in facts.tcp]
    return tcp + [Ports.parse("udp", text) for text in facts.udp]


def _openzfs_deployment(system: FileSystemPlan) -> str:
    """Return the deployment that has the throughput asked for, the newest of several."""
    ways = [
        way
        for way, rates in load_storage().fsx_openzfs.throughput.items()
        if system.throughput in rates
    ]
    if not ways:
        what = f"{system.throughput} MB/s; FSx for OpenZFS has no such throughput"
        hint = "`muster plan` lists those it has."
        raise UsageError(what, where=f"muster:cluster.storage: {system.mount}", hint=hint)
    return max(ways)
