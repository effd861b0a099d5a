"""Every example goes up, previews clean, refreshes clean, changes, and is destroyed."""

from __future__ import annotations

from pathlib import Path

import pytest

from papercloud.server import PaperCloud
from tests.cloud.stories.examples import EXAMPLES, Cluster, cluster_of, prepare, scenario_of
from tests.cloud.stories.paper_stack import PaperStack


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_lives_its_whole_life(example: str, tmp_path: Path) -> None:
    wanted = cluster_of(example)
    with PaperCloud(scenario_of(wanted)) as cloud:
        cluster = prepare(example, wanted, cloud)
        stack = PaperStack.make(tmp_path, cloud, cluster)
        before = _left(stack)
        stack.must_up()
        assert len(stack.instances()) == _instances(cluster)
        stack.must(stack.unchanged())

        changed = _changed(cluster)
        stack.give_up(changed)
        assert len(stack.instances()) == _instances(changed)
        stack.must(stack.muster("down", stack.stack))
        assert stack.instances() == []
        assert _left(stack) == before


def _instances(cluster: Cluster) -> int:
    """The nodes, and the head where the scheduler is ours."""
    nodes: int = sum(pool["count"] for pool in cluster["pools"])
    return nodes + 1 if nodes and cluster.get("scheduler") != "kubernetes" else nodes


def _left(stack: PaperStack) -> dict[str, int]:
    """What costs money or room in the account."""
    ec2, efs = stack.client("ec2"), stack.client("efs")
    return {
        "file systems": len(stack.client("fsx").describe_file_systems()["FileSystems"]),
        "EFS": len(efs.describe_file_systems()["FileSystems"]),
        "VPCs": len(ec2.describe_vpcs()["Vpcs"]),
        "addresses": len(ec2.describe_addresses()["Addresses"]),
        "buckets": len(stack.client("s3").list_buckets()["Buckets"]),
    }


def _changed(cluster: Cluster) -> Cluster:
    """One node more, or where there is none, a larger file system."""
    if cluster["pools"]:
        first, *others = cluster["pools"]
        return {**cluster, "pools": [{**first, "count": first["count"] + 1}, *others]}
    first, *others = cluster["storage"]
    larger = {**first, "capacityGiB": 2 * first["capacityGiB"]}
    return {**cluster, "storage": [larger, *others]}
