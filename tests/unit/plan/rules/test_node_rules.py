"""Images, head and names: what would not boot or could not be named is told before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from muster.catalog.nodes import load_node_facts
from muster.plan.rules.model import Said, View
from muster.plan.rules.nodes import RULES
from muster.spec import Bucket
from tests.unit.plan.rules.views import (
    FAIL,
    PASS,
    UNKNOWN,
    cluster,
    only,
    pool,
    says,
    view,
    with_plan,
    with_pool,
)

IMAGE = "ami-0123456789abcdef0"


def stack(image: str | None = IMAGE, **more: Any) -> View:
    given = {"image": image} if image else {}
    return view(cluster(pool(**more), head={"type": "m7i.4xlarge"}, **given))


def test_image_of_the_cluster_is_that_of_pool_and_head() -> None:
    assert {said.outcome for said in says(RULES, "image-given", stack())} == {PASS}


def test_pool_and_head_without_an_image_fail_each() -> None:
    said = says(RULES, "image-given", stack(image=None))
    assert [(each.outcome, each.path) for each in said] == [
        (FAIL, "pools[0].image"),
        (FAIL, "head.image"),
    ]


def test_image_is_unknown_until_it_is_read_and_asked_once() -> None:
    said = only(RULES, "image-fits", stack())
    assert said.outcome is UNKNOWN
    assert f"aws ec2 describe-images --image-ids {IMAGE}" in said.do
    assert "x86_64" in said.what
    assert "200 GiB" in said.what


def test_type_without_uefi_asks_for_legacy_bios() -> None:
    assert "legacy BIOS, the only way of p4d.24xlarge" in fits(stack(type="p4d.24xlarge")).what


def fits(found: View) -> Said:
    return only(RULES, "image-fits", with_plan(found, head=None))


def test_type_whose_boot_modes_nobody_states_is_named() -> None:
    found = stack()
    changed = found.plan.pools[0].type.model_copy(update={"boot_modes": None, "arch": "arm64"})
    said = fits(with_pool(found, type=changed))
    assert said.outcome is UNKNOWN
    assert "arm64" in said.what
    assert "which no source states" in said.what


def test_one_image_cannot_boot_two_architectures() -> None:
    found = stack()
    arm = found.plan.pools[0].type.model_copy(update={"arch": "arm64"})
    assert only(RULES, "image-fits", with_pool(found, type=arm)).outcome is FAIL


@pytest.mark.parametrize(
    ("memory_mib", "nodes", "outcome"),
    [(1024, 10, PASS), (1024, 11, FAIL), (16384, 100_000, PASS), (16000, 1250, FAIL)],
)
def test_head_grows_with_the_nodes_up_to_what_is_enough(
    memory_mib: int, nodes: int, outcome: object
) -> None:
    found = with_pool(stack(), count=nodes)
    assert found.plan.head is not None
    small = found.plan.head.type.model_copy(update={"memory_mib": memory_mib})
    head = replace(found.plan.head, type=small)
    assert only(RULES, "head-memory", with_plan(found, head=head)).outcome is outcome


def test_stack_without_a_head_has_none_to_judge() -> None:
    assert not says(RULES, "head-memory", with_plan(stack(), head=None))


def test_usual_names_are_short_enough() -> None:
    assert {said.outcome for said in says(RULES, "name-lengths", stack())} == {PASS}


def test_long_stack_name_fails_where_a_role_is_named_after_it() -> None:
    names = load_node_facts().names
    added = names.word.length + names.random_suffix.length + len("-train")
    most = names.most["IAM role"].most - added
    assert role_of("s" * most).outcome is PASS
    said = role_of("s" * (most + 1))
    assert (said.outcome, said.path) == (FAIL, "pools[0].name")
    assert said.do == "Shorten the stack's name by 1."


def role_of(name: str) -> Said:
    found = says(RULES, "name-lengths", with_plan(stack(), stack=name))
    return next(said for said in found if said.what.startswith("IAM role"))


def test_name_of_the_kubernetes_cluster_counts_only_where_there_is_one() -> None:
    slurm = says(RULES, "name-lengths", stack())
    kubernetes = says(RULES, "name-lengths", with_plan(stack(), scheduler="kubernetes"))
    assert len(kubernetes) == len(slurm) + 1


def bucket(name: str) -> Said:
    return only(RULES, "bucket-names", with_plan(stack(), buckets=(Bucket(name=name),)))


@pytest.mark.parametrize(
    "name", ["xn--data", "data..set", "192.168.5.4", "data-s3alias", "sthree-data", "data.mrap"]
)
def test_bucket_name_that_s3_refuses_fails(name: str) -> None:
    assert bucket(name).outcome is FAIL


def test_bucket_name_that_s3_takes_is_unknown_while_it_may_be_anothers() -> None:
    said = bucket("training-data")
    assert said.outcome is UNKNOWN
    assert "aws s3api head-bucket --bucket training-data" in said.do


def filled(name: str) -> View:
    storage = {"mount": "/fsx", "kind": "fsxLustre", "capacityGiB": 1200, "throughput": 125}
    found = view(cluster(pool(), storage=[{**storage, "import": f"s3://{name}/prefix"}]))
    return with_plan(found, buckets=(Bucket(name="ours"),))


def test_import_from_a_bucket_of_the_same_stack_passes() -> None:
    assert only(RULES, "import-bucket", filled("ours")).outcome is PASS


def test_import_from_another_bucket_is_unknown_with_the_command() -> None:
    said = only(RULES, "import-bucket", filled("theirs"))
    assert said.outcome is UNKNOWN
    assert "aws s3api head-bucket --bucket theirs" in said.do
