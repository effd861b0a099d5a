"""The page on preflight has every rule, every one of the twenty-five reasons, and every read."""

from __future__ import annotations

import re
from pathlib import Path

from muster.cloud.questions import WHO, questions_of
from muster.cloud.refusals import action_of
from muster.plan.rules.run import ALL_RULES
from tests.unit.plan.rules.views import cluster, pool, view

PAGE = (Path(__file__).parents[4] / "docs/reference/preflight.md").read_text(encoding="utf-8")
RULES = [rule.id for rule in ALL_RULES]
VPC = {"zoneId": "use2-az1", "vpcId": "vpc-0123456789abcdef0"}
EFS = {"mount": "/efs", "kind": "efs", "id": "fs-0123456789abcdef0"}
LUSTRE = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 4800, "throughput": 250}
GROUP = "arn:aws:resource-groups:us-east-2:123456789012:group/gpus"


def rows(pattern: str) -> list[tuple[str, ...]]:
    return re.findall(pattern, PAGE, re.MULTILINE)


def test_every_rule_has_one_row_in_the_order_of_the_rules() -> None:
    assert [name for name, _ in rows(r"^\| ([a-z-]+) \| ((?:catalog|cloud)[a-z, ]*) \|")] == RULES


def test_each_of_the_twenty_five_reasons_has_a_row() -> None:
    found = rows(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$")
    assert [int(number) for number, _, _ in found] == list(range(1, 26))


def test_reasons_name_only_rules_that_exist_and_every_rule_has_its_reason() -> None:
    cells = [cell for _, _, cell in rows(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$")]
    named = {
        word
        for cell in cells
        for word in re.findall(r"[a-z]+(?:-[a-z]+)+|mounts|budget|permissions", cell)
    }
    assert named - set(RULES) == {"did-you-mean"}
    assert set(RULES) - named == set()


def test_every_permission_that_reading_needs_is_listed() -> None:
    pools = [pool(capacity={"resourceGroup": GROUP}, image="ami-0123456789abcdef0")]
    more = {"storage": [EFS, LUSTRE], "buckets": [{"name": "made-here"}]}
    asked = questions_of(view(cluster(*pools, network=VPC, **more)).plan).values()
    needed = {action_of(each.service, each.operation) for each in [*asked, WHO]}
    listed = set(re.findall(r"`([a-z0-9-]+:[A-Z]\w+)`", PAGE))
    assert needed | {"ec2:RunInstances", "iam:SimulatePrincipalPolicy"} == listed
