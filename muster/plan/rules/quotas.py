"""Rules on quotas: what a region grants to an account, what is used, and what a stack adds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from muster.catalog import InstanceType
from muster.catalog.quotas import Quota, RegionalQuota, VcpuQuota, load_quotas
from muster.plan.aws.model import Buying, FileSystemPlan
from muster.plan.cloud_view import NOT_ASKED, Instance, Unread, Used, is_asked
from muster.plan.rules.model import Rule, Said, View, because, failed, passed, unknown


@dataclass(slots=True)
class _Need:
    """vCPUs that one quota counts, or may count."""

    free: int = 0
    reserved: int = 0
    block: int = 0

    def add(self, vcpus: int, buying: Buying) -> None:
        if buying == "block":
            self.block += vcpus
        elif buying in {"reservation", "resourceGroup"}:
            self.reserved += vcpus
        else:
            self.free += vcpus

    def __str__(self) -> str:
        parts = [f"{self.free + self.reserved} vCPUs"]
        if self.reserved:
            parts.append(f"{self.reserved} of them in reservations, which may count already")
        if self.block:
            parts.append(f"{self.block} more if Capacity Blocks count, which is not confirmed")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Range:
    """How much a quota counts, as far as it is known: at least and at most."""

    least: float
    most: float

    def __add__(self, other: _Range) -> _Range:
        """Add both ends."""
        return _Range(self.least + other.least, self.most + other.most)


def _vcpu_quotas(view: View) -> Iterator[Said]:
    needs: dict[VcpuQuota, _Need] = defaultdict(_Need)
    unlisted: dict[tuple[str, str], _Need] = defaultdict(_Need)
    for found, nodes, buying in _planned(view):
        market = "spot" if buying == "spot" else "onDemand"
        quota = load_quotas().vcpu_quota(found.name, market)
        need = needs[quota] if quota else unlisted[found.name, market]
        need.add(nodes * found.vcpus, buying)
    for quota, need in needs.items():
        yield _vcpus(view, quota, need)
    for (name, market), need in unlisted.items():
        what = f"{name}, {market}: {need}; no source says which quota counts them"
        do = "Look: aws service-quotas list-service-quotas --service-code ec2"
        yield unknown(what, _path(view), do)


def _path(view: View) -> str:
    return "pools" if view.plan.pools else "head"


def _vcpus(view: View, quota: VcpuQuota, need: _Need) -> Said:
    note = f" {quota.note}" if quota.note else ""
    do = f"The quota must be that much above what runs already: {quota.command}"
    used = _used(view, quota)
    own = _Range(need.free, need.free + need.reserved + need.block)
    total = used if isinstance(used, Unread) else used + own
    return against(view, quota, total, unknown(f"{quota.name}: {need}.{note}", _path(view), do))


def against(view: View, quota: Quota, total: _Range | Unread, open_: Said) -> Said:
    """Judge a total, of all in the region with this stack, by what the account was granted.

    `open_` is what is said where it cannot be told.
    """
    limit = view.cloud.quotas.get(quota.code, NOT_ASKED)
    if isinstance(total, Unread):
        return because(open_, total)
    if isinstance(limit, Unread):
        return because(open_, limit)
    path = open_.path
    what = f"{open_.what.rstrip('.')}; with all in the region {total.least:g} of {limit:g}"
    ask = f"aws service-quotas request-service-quota-increase --service-code {quota.service}"
    ask = f"Ask for more: {ask} --quota-code {quota.code} --desired-value"
    if total.least > limit:
        return failed(what, path, f"{ask} {total.least:g}")
    if total.most > limit:
        what = f"{what}; {total.most:g} if reservations and blocks count on top"
        return unknown(what, path, f"Nothing if they do not count; else: {ask} {total.most:g}")
    return passed(what, path)


def _used(view: View, quota: VcpuQuota) -> _Range | Unread:
    """What others than this stack use of a quota, or may."""
    instances, held = view.cloud.instances, view.cloud.held
    if isinstance(instances, Unread):
        return instances
    if isinstance(held, Unread):
        return held
    total = _Range(0, 0)
    for found in instances:
        if not found.pool and _counts(quota, found.type, found.market):
            total += _of_instance(view, found)
    named = set(view.cloud.reservations)
    for name, one in held.items():
        idle = name not in named and not one.block and not one.shared
        if idle and _counts(quota, one.type, "onDemand"):
            total += _Range(0, one.available * (_vcpus_of(view, one.type) or math.inf))
    return total


def _counts(quota: VcpuQuota, type_name: str, market: str) -> bool:
    """Does the quota count instances of that type? Whether it counts blocks is not confirmed."""
    return load_quotas().vcpu_quota(type_name, "spot" if market == "spot" else "onDemand") == quota


def _of_instance(view: View, found: Instance) -> _Range:
    vcpus = found.vcpus or _vcpus_of(view, found.type)
    if vcpus is None:
        return _Range(0, math.inf)
    return _Range(0 if found.market == "block" else vcpus, vcpus)


def _vcpus_of(view: View, type_name: str) -> int | None:
    found = view.catalog.types.get(type_name)
    return found.vcpus if found else None


def _planned(view: View) -> Iterator[tuple[InstanceType, int, Buying]]:
    for pool in view.plan.pools:
        yield pool.type, pool.size, pool.capacity.buying
    if view.plan.head:
        yield view.plan.head.type, 1, "onDemand"


def _network_quotas(view: View) -> Iterator[Said]:
    network, made = view.plan.network, {"addresses": 0, "vpcs": 0}
    made["addresses"] = 1 if network.public_cidr else 0
    made["vpcs"] = 1 if network.vpc_id is None else 0
    counted = {"addresses": view.cloud.addresses, "vpcs": view.cloud.vpcs}
    for quota in load_quotas().regional:
        if made.get(quota.of):
            yield from _regional(view, quota, counted[quota.of], made[quota.of], "network")


def _regional(
    view: View, quota: RegionalQuota, used: Used | Unread, more: int, path: str
) -> Iterator[Said]:
    """Say nothing where nobody asked the cloud: the catalog does not know what was granted."""
    if not is_asked(used):
        return
    total = used if isinstance(used, Unread) else same(used.total - used.own + more)
    do = f"The quota must be {more} above what others use: {quota.command}"
    open_ = unknown(f"{quota.name}: {more} for this stack", path, do)
    yield against(view, quota, total, open_)


def same(amount: float) -> _Range:
    """Return an amount that is known."""
    return _Range(amount, amount)


def _storage_quotas(view: View) -> Iterator[Said]:
    more: dict[str, int] = defaultdict(int)
    for system in view.plan.file_systems:
        if system.is_new:
            of, amount = _share(system)
            more[of] += amount
    stored = view.cloud.stored
    for quota in load_quotas().regional:
        if more[quota.of]:
            used = stored if isinstance(stored, Unread) else stored.get(quota.of, Used.none())
            yield from _regional(view, quota, used, more[quota.of], "storage")


def _share(system: FileSystemPlan) -> tuple[str, int]:
    """Return which quota a new file system counts in, and how much; nothing where none is known."""
    if system.kind == "fsxOpenZfs":
        return "openZfsMbps", system.throughput or 0
    ways = {"persistent2": "lustrePersistent2Gib", "scratch2": "lustreScratchGib"}
    return ways.get(system.deployment or "", ""), system.capacity_gib or 0


RULES: tuple[Rule, ...] = (
    Rule(
        id="vcpu-quotas",
        title="The account's quotas hold the vCPUs of all pools and the head",
        source="Service Quotas, EC2",
        ask=_vcpu_quotas,
    ),
    Rule(
        id="network-quotas",
        title="The region's quotas hold the stack's VPC and elastic address",
        source="Service Quotas, EC2 and VPC, in catalog/quotas.yaml",
        ask=_network_quotas,
    ),
    Rule(
        id="storage-quotas",
        title="The region's quotas hold the new file systems",
        source="Service Quotas, FSx, in catalog/quotas.yaml",
        ask=_storage_quotas,
    ),
)
