"""Each mistake that only a stack on AWS can have is said with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.spec.test_spec import AWS, LAB, changed, mistakes, parse


@pytest.mark.parametrize(
    ("base", "place", "value", "line"),
    [
        (LAB, "image", "ami-0123456789abcdef0", ".image: given with target lab, which has no such"),
        (LAB, "pools.0.rootGiB", 100, ".pools[0].rootGiB: a lab node has no such thing"),
        (AWS, "network.subnetId", "subnet-12345678", ".network.vpcId: missing; subnetId needs"),
        (AWS, "pools", [], ".pools: an empty list; must be a list of 1 or more"),
        (AWS, "kubernetes", {"version": "1.34"}, ".kubernetes: given with scheduler slurm"),
        (AWS, "pools.1.capacity.ends", "2026-12-01T11:30Z", ".capacity.ends: only a block ends"),
        (
            AWS,
            "storage.0",
            {"mount": "/fsx", "kind": "fsxLustre", "id": "fs-12345678", "capacityGiB": 4800},
            ".storage[0].capacityGiB: an existing file system has it already",
        ),
        (AWS, "storage.0", {"mount": "/h", "kind": "efs", "throughput": 1}, "a efs has no such"),
        (
            AWS,
            "storage.0.deployment",
            "intelligent",
            ".deployment: 'intelligent'; must be",
        ),
        (AWS, "access", {"publicKeys": []}, ".access.publicKeys: an empty list; must be"),
        (AWS, "access", {"publicKeys": ["key"]}, ".access.publicKeys[0]: 'key'; must be one line"),
        (
            AWS,
            "preflight",
            {"waivers": [{"rule": "r", "reason": "it is so for now", "until": "2020-01-01"}]},
            ".preflight.waivers[0].until: 2020-01-01; this waiver of 'r' has expired",
        ),
    ],
)
def test_each_mistake_is_said_with_its_place(
    base: dict[str, Any], place: str, value: object, line: str
) -> None:
    assert any(line in found for found in mistakes(changed(base, place, value)))


def test_a_stack_of_storage_alone_has_no_pools() -> None:
    data = {**AWS, "pools": [], "stages": ["infra"]}
    del data["budget"]
    assert parse(data).pools == ()


def test_eks_needs_a_version_and_stops_after_infra() -> None:
    found = mistakes({**AWS, "scheduler": "kubernetes"})
    assert any("kubernetes: missing" in line for line in found)
    assert any("stages: nodes of Kubernetes are not converged" in line for line in found)


def test_an_existing_file_system_needs_no_size() -> None:
    lustre = {"mount": "/fsx", "kind": "fsxLustre", "id": "fs-0123456789abcdef0", "efa": True}
    assert parse({**AWS, "storage": [lustre]}).storage[0].capacity_gib is None


@pytest.mark.parametrize(
    ("deployment", "missing"),
    [
        ("scratch2", ["capacityGiB"]),
        ("persistent2", ["capacityGiB", "throughput"]),
        ("intelligentTiering", ["throughput"]),
    ],
)
def test_each_deployment_of_lustre_needs_its_own_figures(
    deployment: str, missing: list[str]
) -> None:
    lustre = {"mount": "/fsx", "kind": "fsxLustre", "deployment": deployment}
    found = mistakes({**AWS, "storage": [lustre]})
    assert found == [f".storage[0].{key}: missing; fsxLustre needs it" for key in missing]
