"""A good spec is read as written; a bad one brings every mistake, one clear line each."""

from __future__ import annotations

import copy
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import load_catalog
from muster.spec import ClusterSpec, SpecError, load_stack_file, parse_spec

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "spec"
TODAY = date(2026, 11, 21)

LAB: dict[str, Any] = {"target": "lab", "pools": [{"name": "gpu", "type": "lab.8gpu", "count": 8}]}
AWS: dict[str, Any] = {
    "target": "aws",
    "scheduler": "slurm",
    "network": {"zoneId": "use2-az1", "cidr": "10.0.0.0/16"},
    "pools": [
        {
            "name": "train",
            "type": "p5.48xlarge",
            "count": 16,
            "spares": 1,
            "capacity": {"reservation": "cr-0123456789abcdef0"},
            "placement": "cluster",
        },
        {"name": "cpu", "type": "m7i.4xlarge", "count": 2, "capacity": {"onDemand": True}},
    ],
    "storage": [
        {
            "mount": "/fsx",
            "kind": "fsxLustre",
            "capacityGiB": 48000,
            "throughput": 500,
            "efa": True,
            "import": "s3://bucket/prefix",
        }
    ],
    "software": "2026.11",
    "budget": {"maxHourlyUsd": 1200},
    "acceptance": {"policy": "training"},
    "stages": ["infra", "converge", "accept"],
}


def parse(data: object) -> ClusterSpec:
    return parse_spec(data, where="Pulumi.x.yaml", catalog=load_catalog(), today=TODAY)


def mistakes(data: object) -> list[str]:
    """Return the lines without the name of the file and the root key."""
    with pytest.raises(SpecError) as raised:
        parse(data)
    assert raised.value.exit_code == 2
    prefix = "Pulumi.x.yaml: muster:cluster"
    assert all(line.startswith(prefix) for line in raised.value.lines())
    return [line.removeprefix(prefix) for line in raised.value.lines()]


def changed(base: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a deep copy of `base` with one value set; "pools.0.count"."""
    data = copy.deepcopy(base)
    *parents, last = path.split(".")
    place: Any = data
    for part in parents:
        place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
    place[int(last) if last.isdigit() else last] = value
    return data


def test_the_example_of_the_design_is_read_as_written() -> None:
    spec = parse(AWS)
    assert spec.wanted == 18
    assert spec.network is not None
    assert spec.network.zone_id == "use2-az1"
    assert spec.pools[0].capacity is not None
    assert spec.pools[0].capacity.reservation == "cr-0123456789abcdef0"
    assert (spec.storage[0].capacity_gib, spec.storage[0].import_) == (48000, "s3://bucket/prefix")
    assert spec.acceptance.policy == "training"


def test_a_short_spec_gets_the_defaults() -> None:
    spec = parse(LAB)
    assert (spec.scheduler, spec.acceptance.policy) == ("slurm", "quick")
    assert spec.stages == ("infra", "converge", "accept")
    assert spec.lab is None


def test_the_shipped_lab_stack_is_good() -> None:
    path = ROOT / "stacks" / "Pulumi.lab.yaml"
    spec = parse(load_stack_file(path))
    assert (spec.target, spec.wanted, spec.storage[0].mount) == ("lab", 8, "/shared")


def test_ten_mistakes_give_ten_clear_lines() -> None:
    data = load_stack_file(GOLDEN / "ten_mistakes.yaml")
    with pytest.raises(SpecError) as raised:
        parse_spec(data, where="Pulumi.lab.yaml", catalog=load_catalog(), today=TODAY)
    expected = (GOLDEN / "ten_mistakes.txt").read_text(encoding="utf-8")
    assert f"{raised.value}\n" == expected
    assert len(raised.value.lines()) >= 10


@pytest.mark.parametrize(
    ("base", "path", "value", "expected"),
    [
        (LAB, "pools.0.count", -1, ".pools[0].count: -1; must be 1 or more"),
        (LAB, "pools.0.count", "8", ".pools[0].count: '8'; must be a whole number"),
        (LAB, "pools.0.count", True, ".pools[0].count: true; must be a whole number"),
        (LAB, "pools.0.count", 2.5, ".pools[0].count: 2.5; must be a whole number"),
        (LAB, "pools.0.name", "head_1", ".pools[0].name: 'head_1'; must be 1 to 15 small letters"),
        (
            LAB,
            "pools.0.type",
            "lab.8gp",
            ".pools[0].type: unknown type 'lab.8gp'. Did you mean lab.8g",
        ),
        (LAB, "pools.0.type", "p5.48xlarge", ".pools[0].type: p5.48xlarge is a type of target aws"),
        (LAB, "pools.0", 5, ".pools[0]: 5; must be a mapping"),
        (LAB, "target", "hosts", ".pools[0].type: the catalog has no types for target hosts yet"),
        (LAB, "pools.0.count", 65, ".pools: 65 nodes with spares; a lab has at most 64"),
        (LAB, "pools", [], ".pools: an empty list; must be a list of 1 or more"),
        (LAB, "pools", "gpu", ".pools: 'gpu'; must be a list"),
        (LAB, "target", "lap", ".target: 'lap'; must be aws, hosts or lab. Did you mean lab?"),
        (LAB, "schduler", "slurm", ".schduler: unknown key. Did you mean scheduler?"),
        (LAB, "zzz", 1, ".zzz: unknown key. Known: acceptance, access,"),
        (LAB, "lab.railRateMBit", 40, ".lab.railRateMBit: unknown key. Did you mean railRateMbit?"),
        (LAB, "lab.name", "Lab", ".lab.name: 'Lab'; must be 1 to 8 small letters and digits"),
        (LAB, "lab.nodesPerLeaf", 0, ".lab.nodesPerLeaf: 0; must be 1 or more"),
        (LAB, "network", {"zoneId": "use2-az1"}, ".network: given with target lab"),
        (LAB, "budget", {"maxHourlyUsd": 5}, ".budget: given with target lab"),
        (LAB, "scheduler", "kubernetes", ".scheduler: the lab runs slurm only"),
        (LAB, "pools.0.capacity", {"spot": True}, ".pools[0].capacity: a lab node is not bought"),
        (LAB, "pools.0.placement", "cluster", ".pools[0].placement: a lab node is not bought"),
        (LAB, "stages", ["accept"], ".stages: accept; must begin with infra"),
        (LAB, "stages", ["converge", "infra"], ".stages: converge, infra; must begin with infra"),
        (
            LAB,
            "stages",
            ["infra", "apply"],
            ".stages[1]: 'apply'; must be infra, converge or accept",
        ),
        (LAB, "software", 2026.11, ".software: 2026.11; must be text. Put it in quotes."),
        (LAB, "software", "2026.12", ".software: '2026.12' is no row of the version matrix. Did y"),
        (
            LAB,
            "acceptance.policy",
            "quik",
            ".acceptance.policy: 'quik'; must be quick, training or s",
        ),
        (
            LAB,
            "acceptance.policy",
            {"bse": "quick"},
            ".acceptance.policy.bse: unknown key. Did you me",
        ),
        (LAB, "acceptance.policy", 5, ".acceptance.policy: 5; must be quick, training or soak"),
        (AWS, "lab", {}, ".lab: given with target aws; only a lab has it"),
        (AWS, "pools.0.type", "lab.8gpu", ".pools[0].type: lab.8gpu is a type of target lab"),
        (AWS, "pools.0.type", "p5.48xlrge", "Did you mean p5.48xlarge?"),
        (AWS, "pools.1.name", "train", ".pools[1].name: 'train' is the name of two pools"),
        (AWS, "pools.0.capacity", None, ".pools[0].capacity: missing; target aws needs"),
        (AWS, "pools.0.capacity", {}, ".pools[0].capacity: empty; needs onDemand"),
        (AWS, "pools.1.capacity.spot", True, ".pools[1].capacity: onDemand and spot; a pool is b"),
        (
            AWS,
            "pools.1.capacity.onDemand",
            False,
            ".pools[1].capacity.onDemand: false; must be true",
        ),
        (
            AWS,
            "pools.1.capacity.onDemand",
            1,
            ".pools[1].capacity.onDemand: 1; must be true or false",
        ),
        (
            AWS,
            "pools.0.capacity.reservation",
            "r-1",
            ".pools[0].capacity.reservation: 'r-1'; must be",
        ),
        (
            AWS,
            "pools.0.capacity",
            {"block": "cr-01234567"},
            ".pools[0].spares: 1 with a Capacity Block",
        ),
        (
            AWS,
            "pools.1.type",
            "p5e.48xlarge",
            ".pools[1].capacity.onDemand: p5e.48xlarge is not sold",
        ),
        (AWS, "stages", ["infra"], ".pools[0].spares: spares without stage accept"),
        (AWS, "network", None, ".network: missing; target aws needs network.zoneId"),
        (
            AWS,
            "network.zoneId",
            "us-east-2a",
            ".network.zoneId: 'us-east-2a'; must be the id of an",
        ),
        (
            AWS,
            "network.cidr",
            "10.0.0.1/16",
            ".network.cidr: '10.0.0.1/16'; must be an IPv4 network",
        ),
        (AWS, "network.cidr", "8.0.0.0/16", ".network.cidr: 8.0.0.0/16; must be a private network"),
        (AWS, "network.cidr", "10.0.0.0/8", ".network.cidr: 10.0.0.0/8; must be a private network"),
        (AWS, "budget.maxHourlyUsd", 0, ".budget.maxHourlyUsd: 0; must be more than 0"),
        (AWS, "budget.maxHourlyUsd", float("nan"), ".budget.maxHourlyUsd: nan; must be"),
        (
            AWS,
            "budget.maxHourlyUsd",
            900,
            ".budget.maxHourlyUsd: 900 is less than the pools cost: 935",
        ),
        (AWS, "storage.0.mount", "fsx", ".storage[0].mount: 'fsx'; must be a path"),
        (
            AWS,
            "storage.0.capacityGiB",
            None,
            ".storage[0].capacityGiB: missing; fsxLustre needs it",
        ),
        (
            AWS,
            "storage.0.import",
            "bucket",
            ".storage[0].import: 'bucket'; must be a bucket and prefix",
        ),
        (
            AWS,
            "storage",
            [{"mount": "/x", "kind": "labDirectory"}],
            "labDirectory needs target lab",
        ),
    ],
)
def test_each_mistake_is_said_once_with_its_place(
    base: dict[str, Any], path: str, value: object, expected: str
) -> None:
    [line] = mistakes(changed(base, path, value))
    assert expected in line


@pytest.mark.parametrize("zone", ["use2-az1", "apne1-az4", "use1-dfw2-az1"])
def test_zone_ids_of_regions_and_local_zones_are_taken(zone: str) -> None:
    network = parse(changed(AWS, "network.zoneId", zone)).network
    assert network is not None
    assert network.zone_id == zone


def test_a_key_that_is_no_text_is_unknown() -> None:
    data: dict[Any, Any] = {**LAB, 5: 6}
    assert mistakes(data) == ["[5]: unknown key; keys are text"]


@pytest.mark.parametrize("digits", [400, 5000], ids=str)
@pytest.mark.parametrize("path", ["pools.0.count", "pools.0.spares", "budget.maxHourlyUsd"])
def test_a_huge_number_is_a_mistake_like_any_other(path: str, digits: int) -> None:
    lines = mistakes(changed(AWS, path, 10**digits))
    assert all(line.startswith((".pools[0]", ".budget")) for line in lines)


def test_efa_on_a_lab_directory_is_a_mistake() -> None:
    storage = [{"mount": "/shared", "kind": "labDirectory", "efa": True}]
    assert mistakes({**LAB, "storage": storage}) == [
        ".storage[0].efa: a labDirectory has no such thing. Remove it."
    ]


def test_two_file_systems_at_one_place_are_a_mistake() -> None:
    storage = [{"mount": "/shared", "kind": "labDirectory"}] * 2
    [line] = mistakes({**LAB, "storage": storage})
    assert line.startswith(".storage[1].mount: '/shared' is mounted twice")


def waived(until: object) -> dict[str, Any]:
    waiver = {"check": "clock-offset", "reason": "no right to set the clock", "until": until}
    return {**LAB, "acceptance": {"waivers": [waiver]}}


REWRITTEN = "{} 00:00:00 +0000 UTC"
"""What Pulumi makes of a day without quotes."""


@pytest.mark.parametrize("form", ["{}", "{}T00:00:00Z", REWRITTEN])
@pytest.mark.parametrize(("day", "good"), [("2026-11-21", True), ("2026-11-20", False)])
def test_a_waiver_holds_up_to_its_last_day_however_written(form: str, day: str, good: bool) -> None:
    data = waived(form.format(day))
    if good:
        [waiver] = parse(data).acceptance.waivers
        assert waiver.until == TODAY
    else:
        [line] = mistakes(data)
        assert "2026-11-20; this waiver of 'clock-offset' has expired" in line


@pytest.mark.parametrize("until", [TODAY, datetime(2026, 11, 21, tzinfo=UTC)])
def test_a_day_that_yaml_read_already_is_taken(until: date) -> None:
    assert parse(waived(until)).acceptance.waivers[0].until == TODAY


@pytest.mark.parametrize(
    "until", ["soon", "2026-11-21 09:30:00 +0000 UTC", 5, None, True, "2026-02-30"]
)
def test_what_is_no_day_is_not_read_as_one(until: object) -> None:
    [line] = mistakes(waived(until))
    assert line.endswith("must be a day, as 2026-12-31")


@pytest.mark.parametrize("data", [None, 5, "lab", [], [LAB], True])
def test_what_is_no_mapping_is_one_mistake(data: object) -> None:
    [line] = mistakes(data)
    assert line.endswith("must be a mapping")


def test_missing_keys_are_named() -> None:
    assert mistakes({}) == [
        ".target: missing; this key is required",
        ".pools: missing; this key is required",
    ]


def test_mistakes_stand_in_the_order_of_the_file() -> None:
    data = {
        "stages": ["accept"],
        "pools": [{"name": "A", "type": "x", "count": 0}],
        "target": "lab",
    }
    places = [line.split(":")[0] for line in mistakes(data)]
    assert places == [".stages", ".pools[0].name", ".pools[0].type", ".pools[0].count"]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates()
KEYS = st.text() | st.integers() | st.none() | st.sampled_from(sorted({*AWS, *LAB, "lab"}))
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=20
)


def lines_or_none(data: object) -> tuple[str, ...]:
    """Parse; whatever is raised but a SpecError ends the test."""
    try:
        parse(data)
    except SpecError as error:
        return error.lines()
    return ()


@given(ANYTHING)
def test_no_data_whatever_raises_anything_but_a_spec_error(data: object) -> None:
    assert all("\n" not in line for line in lines_or_none(data))


PATHS = [
    "target", "scheduler", "network", "network.zoneId", "network.cidr", "pools", "pools.0",
    "pools.0.name", "pools.0.type", "pools.0.count", "pools.0.spares", "pools.0.capacity",
    "pools.0.capacity.block", "pools.0.placement", "storage", "storage.0", "storage.0.kind",
    "storage.0.mount", "storage.0.efa", "software", "budget", "budget.maxHourlyUsd", "acceptance",
    "acceptance.policy", "acceptance.waivers", "lab", "stages",
]  # fmt: skip


@given(st.sampled_from(PATHS), ANYTHING)
def test_no_value_at_any_key_raises_anything_but_a_spec_error(path: str, value: object) -> None:
    base = copy.deepcopy(AWS)
    *parents, last = path.split(".")
    place: Any = base
    for part in parents:
        place = place[int(part)] if part.isdigit() else place[part]
    place[int(last) if last.isdigit() else last] = value
    assert all("\n" not in line for line in lines_or_none(base))
