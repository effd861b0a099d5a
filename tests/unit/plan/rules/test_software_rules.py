"""Software: a row whose versions do not go together on the machines is refused before a boot."""

from __future__ import annotations

from muster.plan.rules.model import Said
from muster.plan.rules.software import RULES
from tests.unit.plan.rules.views import FAIL, PASS, UNKNOWN, cluster, only, pool, says, view

ROW = "2026.11"


def said(type_: str) -> Said:
    return only(RULES, "software-agrees", view(cluster(pool(type=type_), software=ROW)))


def test_gpus_that_the_rows_cuda_has_left_behind_fail_on_every_system() -> None:
    found = said("p3dn.24xlarge")
    assert found.outcome is FAIL
    assert "V100" in found.what
    assert "muster software check" in found.do


def test_what_no_source_states_leaves_it_unknown() -> None:
    found = said("p5.48xlarge")
    assert found.outcome is UNKNOWN
    assert "not known by any source" in found.what


def test_machines_without_gpus_pass_on_a_system_that_all_rules_hold_on() -> None:
    machines = cluster(
        pool(type="m7i.4xlarge"),
        software=ROW,
        scheduler="kubernetes",
        kubernetes={"version": "1.34"},
        stages=["infra"],
    )
    found = only(RULES, "software-agrees", view(machines))
    assert found.outcome is PASS
    assert "debian-12" in found.what


def test_a_spec_without_a_row_is_not_judged() -> None:
    assert not says(RULES, "software-agrees", view(cluster(pool())))
