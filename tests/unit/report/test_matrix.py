"""The node x check matrix: worst first, absent is not a pass."""

from __future__ import annotations

from muster.findings import Outcome
from muster.readiness import Verdict
from muster.report.matrix import build_matrix
from tests.unit.report.sample import finding, judged, make_findings, make_fleet, make_readiness


def test_worst_of_several_findings_decides_a_cell() -> None:
    fleet = make_fleet(nodes=1)
    findings = [
        finding("gpu-1", "pair-bandwidth", params={"rail": 0}),
        finding("gpu-1", "pair-bandwidth", Outcome.UNKNOWN, params={"rail": 1}),
    ]
    (row,) = build_matrix(fleet, None, findings).rows
    assert row.cells[0].state == "unknown"
    findings.append(finding("gpu-1", "pair-bandwidth", Outcome.FAIL, params={"rail": 2}))
    (row,) = build_matrix(fleet, None, findings).rows
    assert row.cells[0].state == "fail"
    assert row.cells[0].title.startswith("pair-bandwidth: fail")


def test_stages_come_in_the_order_in_which_they_run() -> None:
    fleet = make_fleet(nodes=1)
    stages = ("groups", "odd", "static", "pairs", "local")
    findings = [finding("gpu-1", f"check-{n}", stage=stage) for n, stage in enumerate(stages)]
    matrix = build_matrix(fleet, None, findings)
    assert [stage for stage, _ in matrix.stages] == ["static", "local", "pairs", "groups", "odd"]


def test_node_that_is_gone_from_the_fleet_keeps_its_row() -> None:
    matrix = build_matrix(make_fleet(nodes=1), None, [finding("gpu-99", "gpu-count")])
    assert [row.name for row in matrix.rows] == ["gpu-1", "gpu-99"]


def test_sixteen_nodes_are_all_shown_and_seventeen_fold() -> None:
    for nodes, folded in ((16, 0), (17, 17)):
        fleet = make_fleet(nodes=nodes)
        matrix = build_matrix(fleet, make_readiness(fleet), make_findings(fleet))
        assert len(matrix.clean_rows) == folded


def test_accepted_node_that_lacks_a_usual_check_is_not_folded() -> None:
    fleet = make_fleet(nodes=20)
    findings = [f for f in make_findings(fleet) if (f.node, f.check) != ("gpu-7", "gpu-count")]
    matrix = build_matrix(fleet, make_readiness(fleet), findings)
    assert [row.name for row in matrix.rows] == ["gpu-7"]


def test_suspect_node_with_all_checks_passed_is_not_folded() -> None:
    fleet = make_fleet(nodes=20)
    bad = {"gpu-3": judged("gpu-3", Verdict.SUSPECT, "rail:1")}
    matrix = build_matrix(fleet, make_readiness(fleet, bad=bad), make_findings(fleet))
    assert [row.name for row in matrix.rows] == ["gpu-3"]
