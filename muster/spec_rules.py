"""What no single key can say wrong: rules between keys, and between the spec and the catalog.

How they read it: muster/spec_view.py. Those of a cloud: muster/spec_aws_rules.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime

from muster.catalog import Catalog
from muster.catalog.software import row_names
from muster.spec_aws_rules import AWS_RULES
from muster.spec_errors import Mistake, Path, did_you_mean, shown
from muster.spec_forms import written_day
from muster.spec_view import STAGES, TARGETS, Facts, Rule, View

LAB_NODES_MAX = 64
"""What one machine carries, and what a lab's address ranges hold with room to spare."""

_STORAGE_KEYS = frozenset(
    {"id", "deployment", "capacityGiB", "throughput", "metadataIops", "efa", "import", "export"}
)
_STORAGE: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "fsxLustre": ("aws", (), tuple(_STORAGE_KEYS)),
    "fsxOpenZfs": ("aws", ("capacityGiB", "throughput"), ("id", "capacityGiB", "throughput")),
    "efs": ("aws", (), ("id",)),
    "localNvme": ("aws", (), ()),
    "labDirectory": ("lab", (), ()),
}
"""Of each kind: its target, the keys it needs when it is new, the keys it may have."""
_LUSTRE_NEEDS = {
    "scratch2": ("capacityGiB",),
    "persistent2": ("capacityGiB", "throughput"),
    "intelligentTiering": ("throughput",),
}
_AWS_ONLY = ("network", "budget", "access", "head", "image", "kubernetes", "buckets", "tags")
_AWS_ONLY_OF_POOL = ("capacity", "placement", "image", "interfaces", "rootGiB")
_PLACING = ("capacity", "placement")


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
        if name and not offered and target in TARGETS:
            what = f"the catalog has no types for target {target} yet"
            yield pool.mistake("type", what, "Use target aws or lab.")
        elif name and found is None:
            names = offered or tuple(facts.catalog.types)
            yield pool.mistake("type", f"unknown type {shown(name)}", did_you_mean(name, names))
        elif found and target in TARGETS and found.target != target:
            what = f"{name} is a type of target {found.target}, not of {target}"
            yield pool.mistake("type", what, did_you_mean(name, offered))


def software_is_known(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A row of the version matrix exists."""
    name = spec.text("software")
    if name and name not in row_names():
        hint = did_you_mean(name, row_names())
        yield spec.mistake("software", f"{shown(name)} is no row of the version matrix", hint)


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
    for storage in spec.items("storage"):
        kind = storage.text("kind")
        if kind not in _STORAGE:
            continue
        home, needed, allowed = _STORAGE[kind]
        if target in TARGETS and home != target:
            yield storage.mistake("kind", f"{kind} needs target {home}, not {target}")
        if storage.get("id") is not None:
            needed, allowed = (), ("id", "efa")
        elif kind == "fsxLustre":
            needed = _LUSTRE_NEEDS.get(storage.text("deployment") or "persistent2", ())
        for key in needed:
            if storage.get(key) is None:
                yield storage.mistake(key, f"missing; {kind} needs it")
        for key in sorted(_STORAGE_KEYS - set(allowed)):
            if storage.get(key):
                what = "an existing file system has it already" if storage.get("id") else ""
                yield storage.mistake(key, what or f"a {kind} has no such thing", "Remove it.")


def lab_section_needs_lab(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """The lab section and target lab belong together."""
    if "lab" in spec.data and spec.text("target") in {"aws", "hosts"}:
        what = f"given with target {spec.text('target')}; only a lab has it"
        yield spec.mistake("lab", what, "Remove it.")


def lab_has_no_cloud(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """What only a cloud has is not silently ignored in a lab."""
    if spec.text("target") != "lab":
        return
    for key in _AWS_ONLY:
        if spec.get(key) is not None:
            yield spec.mistake(key, f"given with target lab, which {_why_not(key)}", "Remove it.")
    if spec.text("scheduler") == "kubernetes":
        yield spec.mistake("scheduler", "the lab runs slurm only", "Set slurm.")
    for pool in spec.items("pools"):
        for key in _AWS_ONLY_OF_POOL:
            if pool.get(key) is not None:
                what = "is not bought or placed" if key in _PLACING else "has no such thing"
                yield pool.mistake(key, f"a lab node {what}", "Remove it.")


def _why_not(key: str) -> str:
    return {"network": "makes its own networks", "budget": "costs nothing"}.get(
        key, "has no such thing"
    )


def lab_holds_the_pools(spec: View, _facts: Facts) -> Iterator[Mistake]:
    """A lab is one machine."""
    counts = (pool.number("count") + pool.number("spares") for pool in spec.items("pools"))
    total = sum(counts)
    if spec.text("target") == "lab" and total > LAB_NODES_MAX:
        what = f"{total:g} nodes with spares; a lab has at most {LAB_NODES_MAX}"
        yield spec.mistake("pools", what, "Lower count or spares.")


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
    if all(stage in STAGES for stage in stages) and tuple(stages) != STAGES[: len(stages)]:
        what = f"{', '.join(stages)}; must begin with infra and leave none out"
        yield spec.mistake("stages", what, "The order is infra, converge, accept.")


def waivers_are_open(spec: View, facts: Facts) -> Iterator[Mistake]:
    """A waiver ends on its day."""
    preflight = spec.section("preflight")
    waivers = spec.section("acceptance").items("waivers") + preflight.items("waivers")
    for waiver in waivers + preflight.items("acknowledge"):
        until = _day(waiver.get("until"))
        if until and until < facts.today:
            about = waiver.get("check") or waiver.get("rule") or waiver.get("urn")
            what = f"{until}; this waiver of {shown(about)} has expired"
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
    software_is_known,
    storage_mounts_differ,
    storage_fits_target,
    lab_section_needs_lab,
    lab_has_no_cloud,
    lab_holds_the_pools,
    spares_need_acceptance,
    stages_in_order,
    waivers_are_open,
    *AWS_RULES,
)
