"""Reasons why a plan's file systems could not be made, reached or mounted."""

from __future__ import annotations

from collections.abc import Iterator

from muster.catalog.storage import EfaClients, LustreClass, Mounts, load_storage
from muster.plan.aws.model import AwsPlan, FileSystemPlan, PoolPlan
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown

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
    path, size = f"{path}.capacityGiB", system.capacity_gib
    if facts.capacity is None:
        if size is not None:
            what = f"{system.mount}: {size} GiB; {system.deployment} grows by itself"
            yield failed(what, path, _REMOVE)
    elif size is None:
        what = f"{system.mount}: missing; {system.deployment} needs {facts.capacity}"
        yield failed(what, path, "Give it.")
    elif not facts.capacity.holds(size):
        what = f"{system.mount}: {size} GiB; {system.deployment} has {facts.capacity}"
        yield failed(what, path, f"Use {facts.capacity.least_for(size)}.")


def _throughput(path: str, system: FileSystemPlan, facts: LustreClass) -> Iterator[Said]:
    path, value = f"{path}.throughput", system.throughput
    if facts.throughput is None:
        if value is not None:
            what = f"{system.mount}: {value}; AWS fixes that of {system.deployment}"
            yield failed(what, path, _REMOVE)
    elif value is None:
        what = f"{system.mount}: missing; {system.deployment} needs {facts.throughput}"
        yield failed(what, path, "Give it.")
    elif not facts.throughput.holds(value):
        what = f"{system.mount}: {value}; {system.deployment} has {facts.throughput}"
        yield failed(what, path, "Use one of these.")


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
            yield unknown(what, f"{path}.id", f"See: {_describe(system)}")


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
