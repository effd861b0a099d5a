"""Reasons why a plan's file systems could not be made, reached or mounted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from muster.catalog.storage import (
    Choice,
    EfaClients,
    LustreClass,
    Mounts,
    Ports,
    Sizes,
    load_storage,
)
from muster.plan.aws.model import AwsPlan, FileSystemPlan, PoolPlan
from muster.plan.cloud_view import FileSystem, Subnet, Unread, look_up
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown, untold
from muster.plan.rules.ports import closed_ports

_REMOVE = "Remove it."


def _numbered(plan: AwsPlan) -> Iterator[tuple[str, FileSystemPlan]]:
    """Give each file system with its place in the spec."""
    for number, system in enumerate(plan.file_systems):
        yield f"storage[{number}]", system


def lustre_can_be_made(view: View) -> Iterator[Said]:
    """Every figure of a new FSx for Lustre is one that AWS sells."""
    for path, system in _numbered(view.plan):
        if system.kind != "fsxLustre" or not system.is_new or system.deployment is None:
            continue
        facts = load_storage().fsx_lustre[system.deployment]
        wrong = [
            *_capacity(path, system, facts),
            *_throughput(path, system, facts),
            *_metadata(path, system, facts),
            *_efa(path, system, facts),
            *_repository(path, system, facts),
        ]
        yield from wrong
        if not wrong:
            yield passed(f"{system.mount}: {system.deployment} as AWS sells it", path)


def _capacity(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    size, sizes = system.capacity_gib, facts.capacity
    figure = _Figure(f"{path}.capacityGiB", system.mount, size, " GiB", "grows by itself")
    do = f"Use {sizes.least_for(size)}." if sizes and size else ""
    yield from _judged(figure, sizes, system.deployment or "", do)


def _throughput(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    rate = system.throughput
    figure = _Figure(f"{path}.throughput", system.mount, rate, "", "has one that AWS fixes")
    yield from _judged(figure, facts.throughput, system.deployment or "", "Use one of these.")


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of a file system, and what is said where there is nothing to choose."""

    path: str
    mount: str
    value: int | None
    unit: str
    fixed: str


def _judged(
    figure: _Figure, sold: Sizes | Choice | None, deployment: str, do: str
) -> Iterator[Said]:
    """Judge a figure by what is sold: given where AWS decides, missing, or not on the list."""
    shown = f"{figure.mount}: {figure.value}{figure.unit}"
    if sold is None:
        if figure.value is not None:
            yield failed(f"{shown}; {deployment} {figure.fixed}", figure.path, _REMOVE)
    elif figure.value is None:
        what = f"{figure.mount}: missing; {deployment} needs {sold}"
        yield failed(what, figure.path, "Give it.")
    elif not sold.holds(figure.value):
        yield failed(f"{shown}; {deployment} has {sold}", figure.path, do)


def _metadata(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    path, value = f"{path}.metadataIops", system.metadata_iops
    if value is None:
        if facts.metadata_iops and facts.metadata_iops.required:
            what = f"{system.mount}: missing; {system.deployment} needs {facts.metadata_iops}"
            yield failed(what, path, "Give it.")
    elif facts.metadata_iops is None:
        what = f"{system.mount}: {value}; {system.deployment} has no such setting"
        yield failed(what, path, _REMOVE)
    elif not facts.metadata_iops.holds(value):
        what = f"{system.mount}: {value}; {system.deployment} has {facts.metadata_iops}"
        yield failed(what, path, "Use one of these.")


def _efa(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    if not system.efa:
        return
    if facts.efa is None:
        what = f"{system.mount}: no source at hand says whether {system.deployment} has EFA"
        do = "Read the FSx for Lustre user guide on EFA; waive the rule, or remove efa."
        yield unknown(what, f"{path}.efa", do)
    elif not facts.efa:
        what = f"{system.mount}: {system.deployment} has no EFA"
        yield failed(what, f"{path}.efa", "Use deployment: persistent2, or remove efa.")
    else:
        step = facts.efa_step_gib.get(system.throughput or 0)
        size = system.capacity_gib
        # A missing or impossible figure is said already, where that figure is judged.
        if step and size and size % step:
            what = f"{system.mount}: {size} GiB; EFA at {system.throughput} needs multiples of"
            do = f"Use {-(-size // step) * step}, more throughput, or no efa."
            yield failed(f"{what} {step} GiB", f"{path}.capacityGiB", do)


def _repository(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    if system.data_repository and not facts.data_repository:
        what = f"{system.mount}: {system.deployment} cannot be filled from a bucket"
        yield failed(what, f"{path}.import", "Use persistent2 or scratch2, or remove import.")
    if system.export and not system.data_repository:
        what = f"{system.mount}: export without import: no bucket to write to"
        yield failed(what, f"{path}.export", "Name the bucket as import, or remove export.")


def openzfs_can_be_made(view: View) -> Iterator[Said]:
    """Size and throughput of a new FSx for OpenZFS are such as AWS sells."""
    facts = load_storage().fsx_openzfs
    for path, system in _numbered(view.plan):
        if system.kind != "fsxOpenZfs" or not system.is_new:
            continue
        size, rate = system.capacity_gib, system.throughput
        ways = [way for way, rates in facts.throughput.items() if rate in rates]
        if size is None or not facts.least_gib <= size <= facts.most_gib:
            what = f"{system.mount}: {size or 'no'} GiB; {facts.least_gib} to {facts.most_gib}"
            yield failed(f"{what} are sold", f"{path}.capacityGiB", "Give a size in between.")
        if not ways:
            sold = "; ".join(f"{w}: {', '.join(map(str, r))}" for w, r in facts.throughput.items())
            what = f"{system.mount}: {rate or 'no'} MB/s; sold are {sold}"
            yield failed(what, f"{path}.throughput", "Use one of these.")
        elif size is not None and facts.least_gib <= size <= facts.most_gib:
            yield passed(f"{system.mount}: {size} GiB, {rate} MB/s of {ways[0]}", path)


def existing_is_within_reach(view: View) -> Iterator[Said]:
    """A file system that exists is in the nodes' zone and VPC, and its ports are open to them."""
    facts = load_storage()
    for path, system in _numbered(view.plan):
        if system.id is None or system.kind == "localNvme":
            continue
        network = view.plan.network
        vpc = network.vpc_id or "the VPC that this stack will make"
        what = f"{system.id} must be in {network.zone_id} and {vpc}, and open to the nodes on"
        what = f"{what} {facts.ports[system.kind]}"
        if network.vpc_id is None:
            # Nothing that exists is in a VPC that does not.
            do = "Name the file system's VPC as network.vpcId, or peer the two and waive the rule."
            yield failed(f"{what}: that VPC is still to be made", f"{path}.id", do)
        else:
            yield _reached(view, system, f"{path}.id", what, facts.ports[system.kind])


def _reached(view: View, system: FileSystemPlan, path: str, what: str, ports: Ports) -> Said:
    found = look_up(view.cloud.file_systems, system.id or "")
    if isinstance(found, Unread):
        return untold(what, path, f"See: {_describe(system)}", found)
    if found is None:
        what = f"{system.id} does not exist in {view.cloud.region}"
        return failed(what, path, "Correct the id, or aws:region of the stack.")
    if wrong := _out_of_reach(view, system, found):
        return failed(f"{system.id} {wrong[0]}", path, wrong[1])
    if isinstance(found.opens, Unread):
        return untold(what, path, f"See: {_describe(system)}", found.opens)
    closed = closed_ports(view, ports, found.opens)
    if closed:
        source = view.plan.network.private_cidr
        if isinstance(view.cloud.subnet, Subnet):
            source = view.cloud.subnet.cidr
        what = f"{system.id} is closed to the nodes on {', '.join(closed)}"
        return failed(what, path, f"Let {source} in, in its security group.")
    return passed(f"{system.id} is within reach of the nodes", path)


def _out_of_reach(view: View, system: FileSystemPlan, found: FileSystem) -> tuple[str, str] | None:
    """Return what is wrong with where it is or what it is, and what to do."""
    network = view.plan.network
    if found.kind != system.kind:
        return f"is {found.kind}, not {system.kind}", f"Set kind to {found.kind}."
    if found.lifecycle not in {"available", "updating"}:
        return f"is {found.lifecycle}", "Wait until it is available, or use another."
    if found.vpc_id != network.vpc_id:
        return f"is in {found.vpc_id}, not {network.vpc_id}", "Use one in the nodes' VPC."
    if network.zone_id not in found.zone_ids:
        zones = ", ".join(sorted(found.zone_ids)) or "no zone"
        return f"is in {zones}, not {network.zone_id}", "Use one in the nodes' zone."
    if system.efa and not found.efa:
        return "has no EFA", "Remove efa; it cannot be switched later."
    return None


def _describe(system: FileSystemPlan) -> str:
    if system.kind == "efs":
        query = "MountTargets[].[AvailabilityZoneId,VpcId,NetworkInterfaceId]"
        asked = f"aws efs describe-mount-targets --file-system-id {system.id} --query '{query}'"
    else:
        query = "FileSystems[].[VpcId,SubnetIds,NetworkInterfaceIds]"
        asked = f"aws fsx describe-file-systems --file-system-ids {system.id} --query '{query}'"
    return f"{asked}; then the zone of its subnet and the security groups of its interfaces."


def mounts_do_not_collide(view: View) -> Iterator[Said]:
    """No mount hides another, or a directory that the system or the toolkit needs."""
    facts = load_storage().mounts
    before: list[str] = []
    for place, system in _numbered(view.plan):
        path = f"{place}.mount"
        hidden = _hides(system.mount, facts)
        nested = [other for other in before if _nested(system.mount, other)]
        before.append(system.mount)
        if hidden:
            what = f"{system.mount} would hide {hidden}, which nodes need"
            yield failed(what, path, "Use a directory of its own, as /fsx.")
        elif nested:
            what = f"{system.mount} and {nested[0]}: one lies in the other"
            yield failed(what, path, "Use directories side by side.")
        else:
            yield passed(f"{system.mount} stands by itself", path)


def _within(inner: str, outer: str) -> bool:
    return f"{inner}/".startswith(f"{outer}/")


def _nested(one: str, other: str) -> bool:
    return _within(one, other) or _within(other, one)


def _hides(mount: str, facts: Mounts) -> str:
    """Return the directory that a mount would hide; empty for none."""
    for taken in facts.taken_below:
        if _nested(mount, taken):
            return taken
    return next((taken for taken in facts.taken if _within(taken, mount)), "")


def local_disks_exist(view: View) -> Iterator[Said]:
    """Where nodes share their own disks, every pool's type has some."""
    for place, system in _numbered(view.plan):
        if system.kind != "localNvme":
            continue
        path = f"{place}.kind"
        pools = view.plan.pools
        none = [f"{pool.name} ({pool.type.name})" for pool in pools if _disks(pool) == 0]
        untold = [pool.type.name for pool in pools if _disks(pool) is None]
        if not pools or none:
            what = f"{system.mount}: no local disks in {', '.join(none) or 'a stack without pools'}"
            yield failed(what, path, "Use another kind, or types with local disks.")
        elif untold:
            what = f"{system.mount}: no source says what local disks {', '.join(untold)} has"
            do = f"See: aws ec2 describe-instance-types --instance-types {' '.join(untold)}"
            yield unknown(what, path, f"{do} --query 'InstanceTypes[].InstanceStorageInfo'")
        else:
            yield passed(f"{system.mount}: every pool's type has local disks", path)


def _disks(pool: PoolPlan) -> int | None:
    return pool.type.local_disk_count


def efa_storage_has_clients(view: View) -> Iterator[Said]:
    """A file system with EFA has nodes that can reach it so, and not too many of them."""
    facts = load_storage().efa_clients
    able = [pool for pool in view.plan.pools if _reaches(pool, facts)]
    untold = [pool for pool in view.plan.pools if _reaches(pool, facts) is None]
    clients = sum(pool.size for pool in able)
    most_clients = clients + sum(pool.size for pool in untold)
    for place, system in _numbered(view.plan):
        if not system.efa:
            continue
        path = f"{place}.efa"
        if clients > facts.most:
            what = f"{system.mount}: {clients} nodes with EFA; one file system takes {facts.most}"
            yield failed(what, path, "Use several file systems, or no efa on this one.")
        elif able and most_clients <= facts.most:
            yield passed(f"{system.mount}: pools {_named(able)} reach it over EFA", path)
        elif untold:
            what = f"{system.mount}: the EFA version of pools {_named(untold)} is not known"
            yield unknown(what, path, "Look it up in the EC2 user guide on EFA, or remove efa.")
        else:
            what = f"{system.mount}: no pool reaches it over EFA, version {facts.least_efa_version}"
            yield failed(f"{what} or later", path, "Remove efa, or use types that have it.")


def _named(pools: list[PoolPlan]) -> str:
    return ", ".join(pool.name for pool in pools)


def _reaches(pool: PoolPlan, facts: EfaClients) -> bool | None:
    """Can its nodes mount over EFA? None where the catalog does not know."""
    if not pool.has_fabric or pool.type.name.partition(".")[0] in facts.not_families:
        return False
    version = pool.type.efa_version
    return None if version is None else version >= facts.least_efa_version


_API = "FSx API and FSx for Lustre user guide, in catalog/storage.yaml"

RULES: tuple[Rule, ...] = (
    Rule(
        id="lustre-figures",
        title="Every figure of a new FSx for Lustre is one that AWS sells.",
        source=_API,
        ask=lustre_can_be_made,
    ),
    Rule(
        id="openzfs-figures",
        title="Size and throughput of a new FSx for OpenZFS are such as AWS sells.",
        source=_API,
        ask=openzfs_can_be_made,
    ),
    Rule(
        id="storage-within-reach",
        title="An existing file system is in the nodes' zone and VPC, with its ports open.",
        source="FSx for Lustre user guide; AWS ParallelCluster, ExistingFsxNetworkingValidator",
        ask=existing_is_within_reach,
    ),
    Rule(
        id="mounts",
        title="No mount hides another, or a directory that the nodes need.",
        source="AWS ParallelCluster, OverlappingMountDir and SharedStorageMountDir validators",
        ask=mounts_do_not_collide,
    ),
    Rule(
        id="local-disks",
        title="Where nodes share their own disks, every pool's type has some.",
        source="EC2 API, DescribeInstanceTypes, in catalog/instance_types",
        ask=local_disks_exist,
    ),
    Rule(
        id="storage-efa-clients",
        title="A file system with EFA has nodes that reach it so, and not too many.",
        source="FSx for Lustre user guide, in catalog/storage.yaml",
        ask=efa_storage_has_clients,
    ),
)
