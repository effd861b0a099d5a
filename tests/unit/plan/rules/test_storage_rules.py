"""File systems: what cannot be made, reached or mounted is told before anything is built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog import CatalogError
from muster.catalog.storage import Choice, Sizes, load_storage
from muster.plan.aws.model import FileSystemPlan
from muster.plan.rules.model import Said, View
from muster.plan.rules.storage import RULES
from tests.unit.plan.rules.views import (
    FAIL,
    PASS,
    UNKNOWN,
    cluster,
    lustre,
    only,
    pool,
    says,
    view,
    with_plan,
    with_pool,
)


def efa_lustre(**changes: Any) -> FileSystemPlan:
    good: dict[str, Any] = {"capacity_gib": 9600, "throughput": 500, "metadata_iops": 12000}
    good |= {"efa": True, "data_repository": "s3://bucket/prefix", "export": True}
    return lustre(**{**good, **changes})


def tiered(**changes: Any) -> FileSystemPlan:
    bare: dict[str, Any] = {"data_repository": None, "export": False, "efa": False}
    bare |= {"capacity_gib": None, "throughput": 8000, "metadata_iops": 6000}
    return efa_lustre(deployment="intelligentTiering", **{**bare, **changes})


def scratch(**changes: Any) -> FileSystemPlan:
    bare: dict[str, Any] = {"capacity_gib": 2400, "throughput": None, "metadata_iops": None}
    bare |= {"efa": False}
    return efa_lustre(deployment="scratch2", **{**bare, **changes})


def stack(*systems: FileSystemPlan, **more: Any) -> View:
    return with_plan(view(cluster(pool(**more))), file_systems=systems)


def judge(rule: str, *systems: FileSystemPlan) -> Said:
    return only(RULES, rule, stack(*systems))


@pytest.mark.parametrize(
    "system", [efa_lustre(), scratch(), tiered(), efa_lustre(metadata_iops=None)]
)
def test_lustre_as_aws_sells_it_passes(system: FileSystemPlan) -> None:
    assert judge("lustre-figures", system).outcome is PASS


@pytest.mark.parametrize(
    ("system", "key"),
    [
        (efa_lustre(efa=False, capacity_gib=3600), "capacityGiB"),
        (efa_lustre(capacity_gib=None), "capacityGiB"),
        (efa_lustre(capacity_gib=4800), "capacityGiB"),  # a size, but not one for EFA at 500
        (efa_lustre(throughput=300), "throughput"),
        (efa_lustre(throughput=None), "throughput"),
        (efa_lustre(metadata_iops=2000), "metadataIops"),
        (efa_lustre(metadata_iops=204000), "metadataIops"),
        (efa_lustre(data_repository=None), "export"),
        (scratch(throughput=200), "throughput"),
        (scratch(metadata_iops=1500), "metadataIops"),
        (scratch(efa=True), "efa"),
        (tiered(capacity_gib=1200), "capacityGiB"),
        (tiered(throughput=5000), "throughput"),
        (tiered(metadata_iops=None), "metadataIops"),
        (tiered(metadata_iops=1500), "metadataIops"),
        (tiered(data_repository="s3://bucket/prefix"), "import"),
    ],
)
def test_lustre_that_aws_does_not_sell_fails_at_its_key(system: FileSystemPlan, key: str) -> None:
    said = judge("lustre-figures", system)
    assert (said.outcome, said.path) == (FAIL, f"storage[0].{key}")


def test_efa_of_a_tiered_file_system_is_unknown_while_no_source_states_it() -> None:
    assert judge("lustre-figures", tiered(efa=True)).outcome is UNKNOWN


def test_failing_size_names_the_next_that_is_sold() -> None:
    assert "9600" in judge("lustre-figures", efa_lustre(capacity_gib=4800)).do
    assert judge("lustre-figures", efa_lustre(efa=False, capacity_gib=7)).do == "Use 1200."


def test_every_wrong_figure_is_named_and_not_only_the_first() -> None:
    wrong = efa_lustre(capacity_gib=1, throughput=1, metadata_iops=1, efa=False)
    assert len(says(RULES, "lustre-figures", stack(wrong))) == 3


def test_existing_file_system_is_not_judged_by_what_is_sold() -> None:
    assert not says(
        RULES, "lustre-figures", stack(efa_lustre(id="fs-0123456789abcdef0", throughput=1))
    )


PLAIN = stack()


@given(gib=st.integers(1, 10**6), throughput=st.sampled_from((125, 250, 500, 1000)))
def test_lustre_with_efa_passes_on_whole_steps_alone(gib: int, throughput: int) -> None:
    facts = load_storage().fsx_lustre["persistent2"]
    found = with_plan(PLAIN, file_systems=(efa_lustre(capacity_gib=gib, throughput=throughput),))
    said = says(RULES, "lustre-figures", found)
    whole = gib % facts.efa_step_gib[throughput] == 0
    assert all(each.outcome is PASS for each in said) == whole


def openzfs(**changes: Any) -> FileSystemPlan:
    bare: dict[str, Any] = {"deployment": None, "efa": False, "metadata_iops": None}
    bare |= {"data_repository": None, "export": False, "capacity_gib": 64, "throughput": 160}
    bare |= {"kind": "fsxOpenZfs", "mount": "/home"}
    return efa_lustre(**{**bare, **changes})


def test_openzfs_of_a_size_that_is_sold_passes() -> None:
    assert judge("openzfs-figures", openzfs()).outcome is PASS


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"capacity_gib": 63}, "capacityGiB"),
        ({"capacity_gib": None}, "capacityGiB"),
        ({"throughput": 100}, "throughput"),
        ({"throughput": None}, "throughput"),
    ],
)
def test_openzfs_that_is_not_sold_fails(changes: dict[str, Any], key: str) -> None:
    said = judge("openzfs-figures", openzfs(**changes))
    assert (said.outcome, said.path) == (FAIL, f"storage[0].{key}")


def in_vpc(system: FileSystemPlan) -> View:
    found = stack(system)
    return with_plan(found, network=replace(found.plan.network, vpc_id="vpc-0123456789abcdef0"))


@pytest.mark.parametrize(
    ("system", "ports", "command"),
    [
        (efa_lustre(id="fs-0123456789abcdef0"), "988, 1018-1023", "aws fsx describe-file-systems"),
        (openzfs(id="fs-0123456789abcdef0"), "2049", "aws fsx describe-file-systems"),
        (openzfs(id="fs-01234567", kind="efs"), "2049", "aws efs describe-mount-targets"),
    ],
)
def test_reach_of_an_existing_file_system_is_unknown_with_the_command(
    system: FileSystemPlan, ports: str, command: str
) -> None:
    said = only(RULES, "storage-within-reach", in_vpc(system))
    assert said.outcome is UNKNOWN
    assert ports in said.what
    assert command in said.do


def test_existing_file_system_cannot_be_in_a_vpc_still_to_be_made() -> None:
    assert judge("storage-within-reach", efa_lustre(id="fs-0123456789abcdef0")).outcome is FAIL


def test_new_file_system_needs_no_search() -> None:
    assert not says(RULES, "storage-within-reach", stack(efa_lustre()))


def test_mounts_side_by_side_pass() -> None:
    said = says(RULES, "mounts", stack(efa_lustre(), efa_lustre(mount="/fsx2"), openzfs()))
    assert [each.outcome for each in said] == [PASS, PASS, PASS]


@pytest.mark.parametrize("inner", ["/fsx/home", "/fsx", "/fsx/a/b"])
def test_mount_within_another_fails_whichever_comes_first(inner: str) -> None:
    for systems in (
        (efa_lustre(), efa_lustre(mount=inner)),
        (efa_lustre(mount=inner), efa_lustre()),
    ):
        said = says(RULES, "mounts", stack(*systems))
        assert [each.outcome for each in said] == [PASS, FAIL]


@pytest.mark.parametrize("mount", ["/tmp", "/etc", "/proc/fsx", "/opt", "/opt/slurm", "/var"])
def test_mount_that_hides_what_nodes_need_fails(mount: str) -> None:
    assert judge("mounts", efa_lustre(mount=mount)).outcome is FAIL


@pytest.mark.parametrize("mount", ["/opt/data", "/home", "/etcetera", "/var/scratch"])
def test_mount_beside_what_nodes_need_passes(mount: str) -> None:
    assert judge("mounts", efa_lustre(mount=mount)).outcome is PASS


LOCAL = openzfs(kind="localNvme", mount="/local")


@pytest.mark.parametrize(("disks", "outcome"), [(8, PASS), (0, FAIL), (None, UNKNOWN)])
def test_local_disks_are_those_of_the_type(disks: int | None, outcome: object) -> None:
    found = stack(LOCAL)
    changed = found.plan.pools[0].type.model_copy(update={"local_disk_count": disks})
    assert only(RULES, "local-disks", with_pool(found, type=changed)).outcome is outcome


def test_local_disks_without_any_pool_fail() -> None:
    assert only(RULES, "local-disks", with_plan(stack(LOCAL), pools=())).outcome is FAIL


@pytest.mark.parametrize(("version", "outcome"), [(2, PASS), (1, FAIL), (None, UNKNOWN)])
def test_efa_storage_needs_nodes_of_a_late_enough_efa(version: int | None, outcome: object) -> None:
    found = stack(efa_lustre())
    changed = found.plan.pools[0].type.model_copy(update={"efa_version": version})
    assert only(RULES, "storage-efa-clients", with_pool(found, type=changed)).outcome is outcome


def test_trn2_does_not_reach_storage_over_efa() -> None:
    found = stack(efa_lustre(), type="trn2.48xlarge")
    assert only(RULES, "storage-efa-clients", found).outcome is FAIL


def test_more_nodes_than_one_file_system_takes_over_efa_fail() -> None:
    most = load_storage().efa_clients.most
    for count, outcome in ((most, PASS), (most + 1, FAIL)):
        found = with_pool(stack(efa_lustre()), count=count)
        assert only(RULES, "storage-efa-clients", found).outcome is outcome


def test_storage_without_efa_needs_no_client_of_efa() -> None:
    assert not says(RULES, "storage-efa-clients", stack(efa_lustre(efa=False)))


def test_stack_without_storage_gives_the_rules_nothing_to_say() -> None:
    assert not [said for rule in RULES for said in rule.ask(stack())]


def test_choice_without_any_value_is_refused() -> None:
    with pytest.raises(ValueError, match="neither values nor a step"):
        Choice()
    with pytest.raises(ValueError, match="need each other"):
        Choice(step=5)


@given(gib=st.integers(1, 10**6))
def test_least_size_holds_as_much_and_is_sold(gib: int) -> None:
    sizes = Sizes(first_gib=1200, step_gib=2400)
    assert sizes.least_for(gib) >= gib
    assert sizes.holds(sizes.least_for(gib))


def test_facts_that_cite_no_listed_source_do_not_load(tmp_path: Any) -> None:
    from muster.catalog import storage  # noqa: PLC0415 - its folder is what is copied

    folder = storage._HERE
    (tmp_path / "sources.yaml").write_text((folder / "sources.yaml").read_text())
    text = (folder / "storage.yaml").read_text()
    (tmp_path / "storage.yaml").write_text(text.replace("source: fsx-api", "source: hearsay"))
    with pytest.raises(CatalogError, match="hearsay"):
        load_storage(tmp_path)
