"""Reasons why a plan would cost more than it may, or for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.plan.price import instance_price, price_of
from muster.plan.rules.model import Rule, Said, View, failed, passed, unknown

_DEAR = re.compile(r"p\d")
"""EC2's class of nodes built for training."""


def plan_is_within_budget(view: View) -> Iterator[Said]:
    """The list price of all that is planned is at most the budget."""
    sheet = price_of(view.plan, view.catalog)
    known = sheet.hourly_usd
    untold = f", and {', '.join(sheet.unknown)} on top at an unknown price" if sheet.unknown else ""
    cost = f"{known:.2f} USD per hour{untold}"
    if view.spec.budget is None:
        what = f"no budget is given; the plan costs {cost}"
        do = "Give budget.maxHourlyUsd, so that a slip of the pen is refused."
        yield failed(what, "budget", do, severity="warning")
        return
    limit = view.spec.budget.max_hourly_usd
    path, what = "budget.maxHourlyUsd", f"the plan costs {cost}; the budget is {limit:.2f}"
    if known > limit:
        yield failed(what, path, "Plan less, or raise the budget.")
    elif sheet.unknown:
        do = "Look up these prices for the region; waive the rule if the sum is within the budget."
        yield unknown(what, path, do)
    else:
        yield passed(what, path)


def nothing_dear_idles(view: View) -> Iterator[Said]:
    """Nodes for training are reserved, or somebody knows that they are billed while idle."""
    for number, pool in enumerate(view.plan.pools):
        if not _DEAR.match(pool.type.name):
            continue
        path = f"pools[{number}].capacity"
        if pool.capacity.buying == "onDemand":
            zone = view.plan.network.zone_id
            price = instance_price(view.catalog, pool.type, "on_demand_usd_per_hour", zone)
            usd = price.usd_per_hour * pool.size if price else None
            each = "an unknown price" if usd is None else f"{usd:.2f} USD per hour"
            what = f"pool {pool.name}: {pool.size} {pool.type.name} on demand, billed while idle"
            do = "Run `muster down` when it is done, or buy a reservation or a Capacity Block."
            yield failed(f"{what}: {each}", path, do, severity="warning")
        else:
            yield passed(f"pool {pool.name}: bought as {pool.capacity.buying}", path)


RULES: tuple[Rule, ...] = (
    Rule(
        id="budget",
        title="The list price of all that is planned is at most the budget.",
        source="prices in catalog/prices.yaml and catalog/instance_types",
        ask=plan_is_within_budget,
    ),
    Rule(
        id="idle-cost",
        title="Nodes for training do not idle on demand unnoticed.",
        source="AWS Price List API, in catalog/instance_types",
        ask=nothing_dear_idles,
    ),
)
