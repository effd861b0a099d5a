"""What no single key can say wrong: rules between keys, and between the spec and the catalog.

The rules read the raw data, not the parsed models, so that they speak up even where other keys are
wrong; a key of the wrong type is passed over here, since parsing already complains about it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from muster.catalog import Catalog, InstanceType
from muster.spec_errors import Mistake, Path, did_you_mean, shown
from muster.spec_forms import written_day

LAB_NODES_MAX = 64
"""What one machine carries, and what a lab's address ranges hold with room to spare."""

_NUMBER_MAX = 1e12
_STAGES = ("infra", "converge", "accept")
_TARGETS = ("aws", "hosts", "lab")
_BUYING = {"onDemand": "onDemand", "spot": "spot", "block": "capacityBlock"}


@dataclass(frozen=True, slots=True)
class View:
    """A section of raw data and where it stands; a missing or mistyped part reads as empty."""

    data: Mapping[Any, Any]
    path: Path = ()

    def get(self, key: str) -> Any:
        """Return what stands there, whatever it is."""
        return self.data.get(key)

    def text(self, key: str) -> str:
        """Return a text; empty where there is none."""
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> float:
        """Return a number that can be reckoned with, or 0."""
        value = self.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return 0
        return value if -_NUMBER_MAX < value < _NUMBER_MAX else 0

    def section(self, key: str) -> View:
        """Return a mapping."""
        value = self.get(key)
        return View(value if isinstance(value, Mapping) else {}, (*self.path, key))

    def items(self, key: str) -> list[View]:
        """Return the mappings in a list; others are left out."""
        value = self.get(key)
        if not isinstance(value, list | tuple):
            return []
        places = enumerate(value)
        return [View(v, (*self.path, key, n)) for n, v in places if isinstance(v, Mapping)]

    def mistake(self, key: str, what: str, hint: str = "") -> Mistake:
        """Name a mistake at a key, or at the section itself."""
        return Mistake((*self.path, key) if key else self.path, what, hint)


@dataclass(frozen=True, slots=True)
class Facts:
    """What rules may ask besides the spec."""

    catalog: Catalog
    today: date
    types: Mapping[str, InstanceType] = field(default_factory=dict)


Rule = Callable[[View, Facts], Iterator[Mistake]]


def broken_rules(data: object, catalog: Catalog, today: date) -> Iterator[Mistake]:
    """Say which rules between keys a spec breaks."""
    if not isinstance(data, Mapping):
        return
    for rule in RULES:
        yield from rule(View(data), Facts(catalog, today))


def pool_names_differ(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Node names are made of them."""
    first: dict[str, Path] = {}
    for pool in spec.items("pools"):
        name = pool.text("name")
        if name and name in first:
            yield pool.mistake("name", f"{shown(name)} is the name of two pools", "Rename one.")
        first.setdefault(name, pool.path)


def types_are_known(spec: View, facts: Facts) -> Iterator[Mistake]:
    """An instance type is in the catalog, and of the target."""
    target = spec.text("target")
    offered = facts.catalog.types_of(target)
    for pool in spec.items("pools"):
        name = pool.text("type")
        found = facts.catalog.types.get(name)
        if name and not offered and target in _TARGETS:
            what = f"the catalog has no types for target {target} yet"
            yield pool.mistake("type", what, "Use target aws or lab.")
        elif name and found is None:
            names = offered or tuple(facts.catalog.types)
            yield pool.mistake("type", f"unknown type {shown(name)}", did_you_mean(name, names))
        elif found and target in _TARGETS and found.target != target:
            what = f"{name} is a type of target {found.target}, not of {target}"
            yield pool.mistake("type", what, did_you_mean(name, offered))


def storage_mounts_differ(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Two file systems cannot be mounted at one place."""
    seen: set[str] = set()
    for storage in spec.items("storage"):
        mount = storage.text("mount")
        if mount and mount in seen:
            yield storage.mistake("mount", f"{shown(mount)} is mounted twice", "Change one.")
        seen.add(mount)


def storage_fits_target(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Each kind has its target, and needs its own keys."""
    target = spec.text("target")
    homes = {"fsxLustre": "aws", "labDirectory": "lab"}
    for storage in spec.items("storage"):
        kind = storage.text("kind")
        if kind in homes and target in _TARGETS and homes[kind] != target:
            yield storage.mistake("kind", f"{kind} needs target {homes[kind]}, not {target}")
        if kind == "fsxLustre":
            for key in ("capacityGiB", "throughput"):
                if storage.get(key) is None:
                    yield storage.mistake(key, "missing; fsxLustre needs it")
        if kind == "labDirectory":
            for key in ("capacityGiB", "throughput", "efa", "import"):
                if storage.get(key):
                    yield storage.mistake(key, "a labDirectory has no such thing", "Remove it.")


def lab_section_needs_lab(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """The lab section and target lab belong together."""
    if "lab" in spec.data and spec.text("target") in {"aws", "hosts"}:
        what = f"given with target {spec.text('target')}; only a lab has it"
        yield spec.mistake("lab", what, "Remove it.")


def lab_has_no_cloud(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """What only a cloud has is not silently ignored in a lab."""
    if spec.text("target") != "lab":
        return
    for key, why in (("network", "makes its own networks"), ("budget", "costs nothing")):
        if spec.get(key) is not None:
            yield spec.mistake(key, f"given with target lab, which {why}", "Remove it.")
    if spec.text("scheduler") == "kubernetes":
        yield spec.mistake("scheduler", "the lab runs slurm only", "Set slurm.")
    for pool in spec.items("pools"):
        for key in ("capacity", "placement"):
            if pool.get(key) is not None:
                yield pool.mistake(key, "a lab node is not bought or placed", "Remove it.")


def lab_holds_the_pools(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A lab is one machine."""
    counts = (pool.number("count") + pool.number("spares") for pool in spec.items("pools"))
    total = sum(counts)
    if spec.text("target") == "lab" and total > LAB_NODES_MAX:
        what = f"{total:g} nodes with spares; a lab has at most {LAB_NODES_MAX}"
        yield spec.mistake("pools", what, "Lower count or spares.")


def aws_says_where(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A cloud stack names its zone and how each pool is bought."""
    if spec.text("target") != "aws":
        return
    if spec.get("network") is None:
        yield spec.mistake("network", "missing; target aws needs network.zoneId")
    for pool in spec.items("pools"):
        if pool.get("capacity") is None:
            hint = "Say onDemand: true, spot: true, reservation: cr-… or block: cr-…."
            yield pool.mistake("capacity", "missing; target aws needs to know what to buy", hint)


def capacity_is_one(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A pool is bought in exactly one way."""
    for pool in spec.items("pools"):
        capacity = pool.section("capacity")
        ways = [key for key in (*_BUYING, "reservation") if capacity.get(key) is not None]
        if isinstance(pool.get("capacity"), Mapping) and not ways:
            yield pool.mistake("capacity", "empty; needs onDemand, spot, reservation or block")
        if len(ways) > 1:
            yield pool.mistake("capacity", f"{' and '.join(ways)}; a pool is bought in one way")


def capacity_is_sold(spec: View, facts: Facts) -> Iterator[Mistake]:
    """The type can be bought that way."""
    for pool in spec.items("pools"):
        found = facts.catalog.types.get(pool.text("type"))
        for way, purchase in _BUYING.items():
            sold = found.purchase if found else None
            if pool.section("capacity").get(way) and sold is not None and purchase not in sold:
                offers = ", ".join(sold)
                what = f"{pool.text('type')} is not sold this way; it is sold as {offers}"
                yield pool.section("capacity").mistake(way, what)


def block_has_no_spares(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A Capacity Block has a fixed number of instances, all paid up front."""
    for pool in spec.items("pools"):
        if pool.section("capacity").get("block") and pool.number("spares") > 0:
            what = f"{pool.get('spares')} with a Capacity Block, whose size is fixed and paid"
            yield pool.mistake("spares", what, "Lower count so that count is below the block.")


def spares_need_acceptance(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Only acceptance can tell which node a spare must replace."""
    stages = spec.get("stages")
    if not isinstance(stages, list | tuple) or "accept" in stages:
        return
    for pool in spec.items("pools"):
        if pool.number("spares") > 0:
            what = "spares without stage accept: nothing would ever use them"
            yield pool.mistake("spares", what, "Add accept to stages, or remove spares.")


def stages_in_order(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """Stages build on each other, so none before the last may be left out."""
    stages = spec.get("stages")
    if not isinstance(stages, list | tuple) or not stages:
        return
    if all(stage in _STAGES for stage in stages) and tuple(stages) != _STAGES[: len(stages)]:
        what = f"{', '.join(stages)}; must begin with infra and leave none out"
        yield spec.mistake("stages", what, "The order is infra, converge, accept.")


def cidr_is_a_network(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """The address range is one that a VPC can have."""
    network = spec.section("network")
    text = network.text("cidr")
    if not text:
        return
    try:
        found = ipaddress.IPv4Network(text)
    except ValueError as error:
        yield network.mistake("cidr", f"{shown(text)}; must be an IPv4 network ({error})")
        return
    if not 16 <= found.prefixlen <= 28 or not found.is_private:  # noqa: PLR2004 - what a VPC takes
        yield network.mistake("cidr", f"{text}; must be a private network of /16 to /28")


def budget_covers_pools(spec: View, facts: Facts) -> Iterator[Mistake]:
    """The pools whose price is known fit into the budget."""
    budget = spec.section("budget")
    limit = budget.number("maxHourlyUsd")
    cost = sum(_hourly_usd(pool, facts.catalog) for pool in spec.items("pools"))
    if 0 < limit < cost:
        what = f"{limit:g} is less than the pools cost: {cost:.2f} USD per hour at list price"
        yield budget.mistake("maxHourlyUsd", what, "Raise it, or ask for fewer nodes.")


def _hourly_usd(pool: View, catalog: Catalog) -> float:
    """List price of a pool, 0 where it is not known (spot, or no price in the catalog)."""
    found = catalog.types.get(pool.text("type"))
    capacity = pool.section("capacity")
    if found is None or capacity.get("spot"):
        return 0
    block = capacity.get("block")
    price = found.capacity_block_usd_per_hour if block else found.on_demand_usd_per_hour
    return (price or 0) * max(0, pool.number("count") + pool.number("spares"))


def waivers_are_open(spec: View, facts: Facts) -> Iterator[Mistake]:
    """A waiver ends on its day."""
    for waiver in spec.section("acceptance").items("waivers"):
        until = _day(waiver.get("until"))
        if until and until < facts.today:
            what = f"{until}; this waiver of {shown(waiver.get('check'))} has expired"
            yield waiver.mistake("until", what, "Repair the cause, or waive anew with a reason.")


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        day = written_day(value) if isinstance(value, str) else ""
        return datetime.fromisoformat(day).date() if day else None
    except ValueError:
        return None


RULES: tuple[Rule, ...] = (
    pool_names_differ,
    types_are_known,
    storage_mounts_differ,
    storage_fits_target,
    lab_section_needs_lab,
    lab_has_no_cloud,
    lab_holds_the_pools,
    aws_says_where,
    capacity_is_one,
    capacity_is_sold,
    block_has_no_spares,
    spares_need_acceptance,
    stages_in_order,
    cidr_is_a_network,
    budget_covers_pools,
    waivers_are_open,
)
