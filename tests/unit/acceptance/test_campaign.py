"""A whole run names the right node and part, and nobody else, and does what follows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from muster.acceptance.campaign import accept
from muster.acceptance.policy import for_shared_machine, load_policy
from muster.acceptance.request import AcceptRequest, Waiver
from muster.catalog.load import load_catalog
from muster.converge.record import outcomes
from muster.errors import UsageError
from muster.findings import Outcome
from muster.progress import silent
from muster.readiness import NodeReadiness, Readiness, Verdict
from muster.report.model import load_pairs
from muster.runstore import Run, RunStore
from muster.schedulers.model import Job, SchedulerUnavailableError
from tests.unit.acceptance.cluster import Cluster
from tests.unit.acceptance.documents import command

SOON = date(2027, 1, 1)


class Trial:
    """A cluster, and the runs on it."""

    def __init__(self, directory: Path, count: int = 8) -> None:
        self.cluster = Cluster(count)
        self.store = RunStore(directory, "test", self.cluster.clock)
        self.run: Run = self.store.new_run()

    def accept(self, **changes: Any) -> Readiness:
        catalog = load_catalog()
        policy = for_shared_machine(load_policy("quick", catalog), cores=2, pair_mbit=80)
        self.run = self.store.new_run()
        fleet = self.cluster.fleet
        known: dict[str, Any] = {
            "wanted": len(fleet.nodes),
            "converge_failures": outcomes(fleet, ()),
        }
        given = known | changes
        return accept(
            AcceptRequest(fleet=self.cluster.fleet, catalog=catalog, policy=policy, **given),
            scheduler=self.cluster,
            remote=self.cluster,
            run=self.run,
            clock=self.cluster.clock,
            progress=silent,
        )

    def events(self, kind: str) -> list[dict[str, Any]]:
        text = (self.run.directory / "events.jsonl").read_text(encoding="utf-8")
        return [e for e in map(json.loads, text.splitlines()) if e["kind"] == kind]


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def not_accepted(readiness: Readiness) -> dict[str, tuple[Verdict, str]]:
    return {
        n.node: (n.verdict, n.component)
        for n in readiness.nodes
        if n.verdict is not Verdict.ACCEPTED
    }


def of(readiness: Readiness, name: str) -> NodeReadiness:
    return next(node for node in readiness.nodes if node.node == name)


def names(numbers: Iterable[int]) -> set[str]:
    return {f"gpu-{n}" for n in numbers}


def test_a_healthy_fleet_is_ready_and_given_to_its_users(trial: Trial) -> None:
    readiness = trial.accept()
    assert readiness.ready
    assert readiness.accepted == 8
    assert trial.cluster.reserved == set()
    assert trial.cluster.accepted.splitlines()[0] == "gpu-1 serial-1"
    assert len(trial.cluster.accepted.splitlines()) == 8
    assert trial.run.readiness() == readiness


def test_every_node_has_a_finding_of_every_check_and_evidence(trial: Trial) -> None:
    readiness = trial.accept()
    assert {(n.checks.passed, n.checks.fail, n.checks.unknown) for n in readiness.nodes} == {
        (20, 0, 0)
    }
    for finding in trial.run.findings():
        assert finding.evidence, finding.check
        assert all((trial.run.directory / path).is_file() for path in finding.evidence)
        assert finding.cmd


def test_pairs_are_kept_in_the_form_that_reports_read(trial: Trial) -> None:
    trial.accept()
    pairs = load_pairs(trial.run)
    assert {pair.rail for pair in pairs} == {0, 1}
    assert {pair.kind for pair in pairs} == {"intra", "cross"}
    assert all(pair.valid for pair in pairs)


def test_a_missing_gpu_is_named_and_its_node_drained(trial: Trial) -> None:
    member = trial.cluster["gpu-2"]
    member.fails_prolog = True
    rows = json.loads(trial.cluster.output("node_facts.py", "gpu-2", {}))
    lines = rows["commands"]["gpu"]["stdout"].splitlines()

    def lose(document: dict[str, Any]) -> None:
        document["commands"]["gpu"]["stdout"] = "\n".join(lines[:3] + lines[4:])
        document["gpu_devices"].remove("/dev/nvidia3")

    member.change = lose
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-2": (Verdict.QUARANTINED, "gpu:3")}
    assert not readiness.ready
    reason = trial.cluster["gpu-2"].status.reason
    assert reason == f"muster:gpu-count:fail:{trial.run.id}"
    assert trial.cluster.reserved == {"gpu-2"}
    assert "gpu-2" not in trial.cluster.accepted


def test_a_slow_rail_is_named(trial: Trial) -> None:
    trial.cluster["gpu-3"].rail_bps = {1: 3.8e6}
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-3": (Verdict.QUARANTINED, "rail:1")}
    assert "pair-bandwidth" in trial.cluster["gpu-3"].status.reason


def test_a_slow_processor_is_measured_again_alone_and_then_named(trial: Trial) -> None:
    trial.cluster["gpu-5"].slow = 3
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-5": (Verdict.QUARANTINED, "node")}
    alone = [s for s in trial.cluster.steps if s.nodes == ("gpu-5",)]
    assert len(alone) == 2


def test_a_dead_daemon_is_named_by_the_nodes_own_words(trial: Trial) -> None:
    member = trial.cluster["gpu-4"]
    member.slurmd, member.writes = "closed: Connection refused", False
    member.change = command("services", rc=3, stdout="active\nactive\ninactive\nactive\n")
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-4": (Verdict.QUARANTINED, "node")}
    assert "services: slurmd is inactive" in of(readiness, "gpu-4").reasons[0]


def test_a_hung_node_is_named_and_holds_no_step(trial: Trial) -> None:
    member = trial.cluster["gpu-8"]
    member.ssh, member.writes = "silent", False
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-8": (Verdict.QUARANTINED, "node")}
    assert all("gpu-8" not in step.nodes for step in trial.cluster.steps)


def test_where_nobody_answers_nobody_is_blamed(trial: Trial) -> None:
    for member in trial.cluster.members.values():
        member.ssh, member.slurmd, member.writes = "closed: no answer", "closed: no answer", False
    readiness = trial.accept()
    assert readiness.untested == 8
    assert trial.events("drained") == []


def test_a_node_that_hangs_in_the_pair_tests_holds_the_others_up_twice_at_most(
    trial: Trial,
) -> None:
    usual = trial.cluster.run_step

    def hang(step: Any) -> Any:
        trial.cluster["gpu-6"].writes = "pairs" not in step.command
        return usual(step)

    trial.cluster.run_step = hang  # type: ignore[method-assign]
    readiness = trial.accept()
    assert not_accepted(readiness).keys() == {"gpu-6"}
    assert of(readiness, "gpu-6").verdict is Verdict.UNTESTED
    late = [e for e in trial.events("step") if e["timed_out"]]
    assert len(late) == 2


def test_a_wrong_clock_is_seen_though_the_time_daemon_is_content(trial: Trial) -> None:
    trial.cluster["gpu-6"].clock_off_s = 45
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-6": (Verdict.QUARANTINED, "node")}
    assert "clock-offset" in of(readiness, "gpu-6").reasons[0]


def test_a_fault_of_all_nodes_is_the_fleets_and_drains_nobody(trial: Trial) -> None:
    for member in trial.cluster.members.values():
        member.change = command("services", rc=3, stdout="active\nfailed\nactive\nactive\n")
    readiness = trial.accept()
    assert readiness.suspect == 8
    assert [c.component for c in readiness.fleet] == ["fleet"]
    assert trial.events("drained") == []
    assert trial.cluster.reserved == names(range(1, 9))


def test_more_failures_than_one_run_may_drain_are_held_but_not_drained(trial: Trial) -> None:
    trial.cluster["gpu-2"].clock_off_s = 45
    trial.cluster["gpu-7"].slow = 3
    readiness = trial.accept()
    assert not_accepted(readiness) == {
        "gpu-2": (Verdict.QUARANTINED, "node"),
        "gpu-7": (Verdict.SUSPECT, "node"),
    }
    assert [e["node"] for e in trial.events("drained")] == ["gpu-2"]
    assert trial.cluster.reserved == {"gpu-2", "gpu-7"}
    assert "more nodes failed" in readiness.reason


def test_our_own_drained_node_is_proved_again_after_its_repair(trial: Trial) -> None:
    trial.cluster["gpu-3"].rail_bps = {1: 3.8e6}
    trial.accept()
    trial.cluster["gpu-3"].rail_bps = {}
    readiness = trial.accept()
    assert readiness.ready
    assert trial.cluster["gpu-3"].status.usable
    assert [e["node"] for e in trial.events("resumed")] == ["gpu-3"]


def test_a_node_that_a_human_drained_is_left_alone_and_untested(trial: Trial) -> None:
    trial.cluster.drain_by("gpu-1", "bad fan", "ann")
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-1": (Verdict.UNTESTED, "")}
    assert "ann: bad fan" in of(readiness, "gpu-1").reasons[0]
    assert trial.cluster["gpu-1"].status.reason == "bad fan"


def test_a_node_with_a_users_job_is_untested_and_stays_with_its_user(trial: Trial) -> None:
    trial.accept()
    trial.cluster.running = [Job(id="7", name="train", user="ann", nodes=("gpu-2",))]
    readiness = trial.accept()
    assert not_accepted(readiness) == {"gpu-2": (Verdict.UNTESTED, "")}
    assert of(readiness, "gpu-2").reasons == ("busy with job 7 of ann",)
    assert trial.cluster.reserved == set()
    assert "gpu-2 serial-2" in trial.cluster.accepted


def test_steps_of_a_killed_run_are_cancelled(trial: Trial) -> None:
    trial.cluster.running = [
        Job(id="9", name="muster-accept-old", user="root", nodes=("gpu-1",)),
        Job(id="8", name="train", user="ann", nodes=()),
    ]
    assert trial.accept().ready
    assert trial.cluster.cancelled == ["9"]


def test_only_some_nodes_are_tested_and_the_others_keep_their_verdict(trial: Trial) -> None:
    trial.accept()
    chosen = frozenset(names(range(1, 5)))
    readiness = trial.accept(only=chosen)
    assert readiness.ready
    assert of(readiness, "gpu-8").reasons == ("not tested in this run",)
    assert {n for step in trial.cluster.steps[-3:] for n in step.nodes} == chosen


def test_a_replaced_node_is_not_taken_for_the_one_that_was_accepted(trial: Trial) -> None:
    trial.cluster.accepted = "gpu-8 another-serial\n"
    readiness = trial.accept(only=frozenset(names(range(1, 8))))
    assert not_accepted(readiness) == {"gpu-8": (Verdict.UNTESTED, "")}


def test_wrong_sums_accept_nobody(trial: Trial) -> None:
    trial.cluster.allreduce = {"wrong": 1, "wrong_hosts": ["gpu-1"]}
    readiness = trial.accept()
    assert readiness.suspect == 8
    assert not readiness.ready


def test_an_all_reduce_of_other_ranks_is_tried_again_and_then_unknown(trial: Trial) -> None:
    trial.cluster.allreduce = {"ranks": 1}
    readiness = trial.accept()
    assert readiness.untested == 8
    assert sum("allreduce" in step.command for step in trial.cluster.steps) == 3


def test_an_unknown_is_let_through_only_by_a_waiver_that_holds(trial: Trial) -> None:
    trial.cluster["gpu-5"].change = command("xid", rc=1, stderr="No journal files were found")
    assert not_accepted(trial.accept()) == {"gpu-5": (Verdict.UNTESTED, "")}
    old = Waiver(check="gpu-xid", reason="journal is off", until=date(2026, 11, 20))
    assert not trial.accept(waivers=(old,)).ready
    waiver = Waiver(check="gpu-xid", reason="journal is off", until=SOON)
    assert trial.accept(waivers=(waiver,)).ready
    waived = [f for f in trial.run.findings() if "waiver" in f.params]
    assert [f.node for f in waived] == ["gpu-5"]


def test_spares_make_up_for_a_bad_node(trial: Trial) -> None:
    trial.cluster["gpu-6"].clock_off_s = 45
    assert trial.accept(wanted=7).ready


def test_a_scheduler_that_does_not_answer_gives_no_verdict(trial: Trial) -> None:
    trial.cluster.scheduler_down = True
    with pytest.raises(SchedulerUnavailableError):
        trial.accept()
    assert trial.run.readiness() is None


def test_few_pairs_at_once_where_the_machine_is_shared(tmp_path: Path) -> None:
    trial = Trial(tmp_path, 16)
    assert trial.accept().ready
    pairs = [s for s in trial.cluster.steps if "pair_test" in s.command]
    assert {len(step.nodes) for step in pairs} == {8}


@pytest.mark.parametrize("state", ["COMPLETING", "NOT_RESPONDING"])
def test_a_node_that_the_scheduler_will_use_in_a_moment_is_waited_for(
    trial: Trial, state: str
) -> None:
    member = trial.cluster["gpu-4"]
    usual = trial.cluster.clock.sleep

    def sleep(seconds: float) -> None:
        usual(seconds)
        if trial.cluster.clock.passed_s > 20:
            member.status = replace(member.status, states=frozenset({"IDLE"}))

    trial.cluster.clock.sleep = sleep  # type: ignore[method-assign]
    member.status = replace(member.status, states=frozenset({"IDLE", state}))
    assert trial.accept().ready


def test_a_node_that_is_never_cleared_is_untested_and_holds_nobody(trial: Trial) -> None:
    member = trial.cluster["gpu-4"]
    member.status = replace(member.status, states=frozenset({"IDLE", "COMPLETING"}))
    assert not_accepted(trial.accept()) == {"gpu-4": (Verdict.UNTESTED, "")}


def ending(trial: Trial, job_name: str) -> None:
    """A job that ended, but that the scheduler still waits for on gpu-4."""
    member = trial.cluster["gpu-4"]
    member.status = replace(member.status, states=frozenset({"IDLE", "COMPLETING"}))
    job = Job(id="147", name=job_name, user="root", nodes=("gpu-4",))
    trial.cluster.running = [job]
    trial.cluster.cancel_takes_effect = False


def test_an_earlier_test_of_ours_that_will_not_end_is_cleared_away(trial: Trial) -> None:
    ending(trial, "muster-accept-earlier")
    assert trial.accept().ready
    assert trial.cluster.cleared == ["gpu-4"]


def test_a_users_job_that_will_not_end_is_left_alone(trial: Trial) -> None:
    ending(trial, "train")
    found = not_accepted(trial.accept())
    assert found["gpu-4"][0] is Verdict.UNTESTED
    assert trial.cluster.cleared == []


def test_rails_without_address_or_name_are_unknown_and_nobody_is_accepted_for_it(
    trial: Trial,
) -> None:
    fleet = trial.cluster.fleet
    nameless = tuple(
        node.model_copy(
            update={
                "rails": tuple(
                    rail.model_copy(update={"interface": "", "address": ""}) for rail in node.rails
                )
            }
        )
        for node in fleet.nodes
    )
    trial.cluster.fleet = fleet.model_copy(update={"nodes": nameless})
    readiness = trial.accept()
    assert not readiness.ready
    assert {node.verdict for node in readiness.nodes} == {Verdict.UNTESTED}
    unknown = {f.check for f in trial.run.findings() if f.outcome is Outcome.UNKNOWN}
    assert {"nic-count", "nic-link", "pair-bandwidth", "pair-retransmits"} <= unknown
    assert not [f for f in trial.run.findings() if f.outcome is Outcome.FAIL]


def test_a_fleet_without_a_shared_file_system_cannot_be_proved(trial: Trial) -> None:
    with pytest.raises(UsageError, match="no shared file system"):
        trial.accept(shared_dir="")
