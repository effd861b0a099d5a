"""Reading the cloud for a plan: all at once, and whatever was not answered says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from muster.cloud import capacity_parts, network_parts, storage_parts
from muster.cloud.asking import Bounds, ask, side_by_side
from muster.cloud.dry_runs import dry_run, launches, simulate
from muster.cloud.gateway import Gateway
from muster.cloud.questions import WHO, buckets_of, questions_of, quotas_of
from muster.cloud.sheet import Sheet, part
from muster.plan.aws.model import AwsPlan
from muster.plan.cloud_view import CloudView, DryRun, Reservation, Unread
from muster.plan.permissions import actions_of


def read_cloud(plan: AwsPlan, gateway: Gateway, bounds: Bounds) -> CloudView:
    """Read all that rules want to know about a plan; no answer is an error."""
    who = side_by_side({"who": partial(ask, gateway, WHO)}, bounds)["who"]
    if isinstance(who, Unread):
        return nothing_read(plan, gateway.region, who)
    account, caller = str(who[0]["Account"]), str(who[0]["Arn"])
    asked = {name: partial(ask, gateway, q) for name, q in questions_of(plan).items()}
    sheet = Sheet(plan.stack, side_by_side(asked, bounds))
    simulated = {"iam": partial(simulate, gateway, caller, actions_of(plan))}
    return CloudView(
        region=gateway.region,
        account=account,
        quotas={q.code: part(partial(_quota, sheet, q.code)) for q in quotas_of(plan)},
        dry_runs=_dry_runs(gateway, sheet, plan, bounds),
        decisions=side_by_side(simulated, bounds)["iam"],
        **_capacity(sheet, plan, account),
        **_network(sheet, plan),
        **_storage(sheet, plan),
    )


def nothing_read(plan: AwsPlan, region: str, why: Unread) -> CloudView:
    """Return the view of a cloud that could not be asked at all."""
    sheet = Sheet(plan.stack, dict.fromkeys(questions_of(plan), why))
    return CloudView(
        region=region,
        account=why,
        **_capacity(sheet, plan, ""),
        **_network(sheet, plan),
        **_storage(sheet, plan),
        quotas=dict.fromkeys((quota.code for quota in quotas_of(plan)), why),
        dry_runs={name: why for name, _ in launches(plan, None, Counter())},
        decisions=why,
    )


def _capacity(sheet: Sheet, plan: AwsPlan, account: str) -> dict[str, Any]:
    every = part(lambda: capacity_parts.reservations(sheet, account))
    arns = {p.capacity.id for p in plan.pools if p.capacity.buying == "resourceGroup"}
    groups = {a: part(partial(capacity_parts.group_members, sheet, a)) for a in sorted(arns)}
    named = {p.capacity.id for p in plan.pools if p.capacity.id} - arns
    for members in groups.values():
        named |= set() if isinstance(members, Unread) or members is None else set(members)
    return {
        "offers": part(lambda: capacity_parts.offers(sheet)),
        "types": part(lambda: capacity_parts.types(sheet)),
        "reservations": {name: _of(every, name) for name in sorted(named)},
        "groups": groups,
        "held": every if isinstance(every, Unread) else capacity_parts.held(every),
        "instances": part(lambda: capacity_parts.instances(sheet)),
    }


def _of(every: Mapping[str, Reservation] | Unread, name: str) -> Reservation | Unread | None:
    return every if isinstance(every, Unread) else every.get(name)


def _network(sheet: Sheet, plan: AwsPlan) -> dict[str, Any]:
    wish = plan.network
    return {
        "subnet": part(lambda: network_parts.subnet(sheet, wish.subnet_id or "")),
        "vpc": part(lambda: network_parts.vpc(sheet, wish.vpc_id or "")),
        "interfaces": part(lambda: network_parts.interfaces(sheet, plan)),
        "addresses": part(lambda: network_parts.used(sheet, "addresses")),
        "vpcs": part(lambda: network_parts.used(sheet, "vpcs")),
        "security_groups": part(lambda: network_parts.own_groups(sheet)),
    }


def _storage(sheet: Sheet, plan: AwsPlan) -> dict[str, Any]:
    used = [s for s in plan.file_systems if s.id is not None]
    made = {bucket.name for bucket in plan.buckets}
    names = {p.image for p in plan.pools} | ({plan.head.image} if plan.head else set())
    return {
        "file_systems": {s.id: part(partial(storage_parts.file_system, sheet, s)) for s in used},
        "stored": part(lambda: storage_parts.stored(sheet)),
        "buckets": {
            name: part(partial(storage_parts.bucket, sheet, name, made=name in made))
            for name in buckets_of(plan)
        },
        "images": {
            name: part(partial(storage_parts.image, sheet, name))
            for name in sorted(name for name in names if name)
        },
    }


def _quota(sheet: Sheet, code: str) -> float:
    return float(sheet[f"quota {code}"][0]["Quota"]["Value"])


def _dry_runs(
    gateway: Gateway, sheet: Sheet, plan: AwsPlan, bounds: Bounds
) -> dict[str, DryRun | Unread]:
    subnet = part(lambda: network_parts.own_subnet(sheet, plan))
    found = part(lambda: capacity_parts.instances(sheet))
    running: Counter[str] = Counter()
    if not isinstance(found, Unread):
        running.update(instance.pool for instance in found if instance.pool)
    asked = launches(plan, None if isinstance(subnet, Unread) else subnet, running)
    jobs = {name: partial(dry_run, gateway, launch) for name, launch in asked}
    return side_by_side(jobs, bounds)
