"""A rolling change: who changes when, what stops it, and what a kill leaves to the next run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.converge.rolling import (
    RollingLimits,
    RollingRecord,
    can_go_on,
    new_record,
    plan_waves,
    read_record,
    write_record,
)
from muster.converge.rolling_run import Rolling, RollingEdges
from muster.errors import MusterError, UsageError
from muster.fleet import Node
from muster.progress import silent
from muster.schedulers.model import Job, NodeStatus, Step, StepResult
from tests.unit.converge.sample import UNHURRIED, lab_fleet, node

OURS = "muster:rolling:r1"


class KilledError(BaseException):
    """Stands for kill -9: nothing of the engine catches it."""


class Hours:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.t = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)

    def monotonic_s(self) -> float:
        return self.t

    def sleep(self, seconds: float) -> None:
        self.t += seconds


class Cluster:
    """A scheduler in memory. `jobs_until` says when the jobs of a node end."""

    def __init__(self, names: Iterable[str], clock: Hours) -> None:
        self.clock = clock
        self.reasons = dict.fromkeys(names, "")
        self.jobs_until: dict[str, float] = {}
        self.silent: set[str] = set()
        self.tick: Callable[[], None] = lambda: None
        """Called around each deed, so that a test can end the run at any."""

    def nodes(self) -> Mapping[str, NodeStatus]:
        return {name: self._status(name) for name in self.reasons}

    def _status(self, name: str) -> NodeStatus:
        busy = self.clock.t < self.jobs_until.get(name, 0.0)
        states = {"ALLOCATED" if busy else "IDLE"}
        states |= {"DRAIN"} if self.reasons[name] else set()
        states |= {"NOT_RESPONDING"} if name in self.silent else set()
        return NodeStatus(name=name, states=frozenset(states), reason=self.reasons[name])

    def drain(self, node: str, reason: str) -> bool:
        self.tick()
        self.reasons[node] = reason
        self.tick()
        return True

    def resume(self, node: str) -> bool:
        self.tick()
        self.reasons[node] = ""
        self.tick()
        return True

    def jobs(self) -> tuple[Job, ...]:
        raise NotImplementedError

    def reservation(self, name: str) -> frozenset[str]:
        raise NotImplementedError

    def reserve(self, name: str, nodes: Iterable[str]) -> None:
        raise NotImplementedError

    def clear(self, node: str) -> None:
        raise NotImplementedError

    def run_step(self, step: Step) -> StepResult:
        raise NotImplementedError

    def cancel(self, name_prefix: str) -> tuple[str, ...]:
        raise NotImplementedError


class Trial:
    """A fleet of some nodes, and changes that are counted."""

    def __init__(self, count: int = 4, **limits: float) -> None:
        self.fleet = lab_fleet(count).nodes
        self.limits = RollingLimits(**limits)  # type: ignore[arg-type]  # ints and floats by name
        self.clock = Hours()
        self.cluster = Cluster((n.name for n in self.fleet), self.clock)
        self.wrong: dict[str, str] = {}
        self.changed: list[tuple[str, ...]] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.record = new_record("r1", self.fleet, self.limits)

    def change(self, names: Sequence[str]) -> Mapping[str, str]:
        for name in names:
            status = self.cluster.nodes()[name]
            assert status.drained, name
            assert "ALLOCATED" not in status.states, name
        self.changed.append(tuple(names))
        self.meanwhile()
        return {name: self.wrong[name] for name in names if name in self.wrong}

    def save(self, record: RollingRecord) -> None:
        self.cluster.tick()
        self.record = read_record(write_record(record))
        self.cluster.tick()

    def run(self) -> RollingRecord:
        edges = RollingEdges(
            scheduler=self.cluster,
            change=self.change,
            save=self.save,
            clock=self.clock,
            progress=silent,
        )
        return Rolling(self.record, self.limits, edges).run()

    def phase(self, name: str) -> str:
        return self.record.nodes[name].phase


FLEETS = st.lists(st.integers(0, 5), max_size=40).map(
    lambda leaves: [
        node(f"n{i}", pool="p", kind="big", leaf=f"leaf{leaf}", number=i)
        for i, leaf in enumerate(leaves)
    ]
)


@given(FLEETS, st.integers(0, 5), st.integers(1, 9))
@settings(UNHURRIED)
def test_every_node_is_in_exactly_one_wave_of_the_right_size(
    nodes: list[Node], canary: int, wave: int
) -> None:
    waves = plan_waves(nodes, canary=canary, wave=wave)
    assert sorted(name for w in waves for name in w) == sorted(n.name for n in nodes)
    assert all(waves)
    if canary and nodes:
        assert len(waves[0]) == min(canary, len(nodes))
    assert all(len(w) <= wave for w in waves[bool(canary) :])


@given(FLEETS, st.integers(1, 9))
@settings(UNHURRIED)
def test_no_wave_takes_more_of_one_leaf_than_it_must(nodes: list[Node], wave: int) -> None:
    leaf_of = {n.name: n.leaf for n in nodes}
    done: Counter[str] = Counter()
    sizes = Counter(leaf_of.values())
    for members in plan_waves(nodes, canary=0, wave=wave):
        open_leaves = [leaf for leaf in sizes if done[leaf] < sizes[leaf]]
        taken = Counter(leaf_of[name] for name in members)
        fewest = min(sizes[leaf] - done[leaf] for leaf in open_leaves)
        # As long as every leaf has nodes left, they are taken in turn.
        if fewest * len(open_leaves) >= len(members):
            assert max(taken.values()) <= -(-len(members) // len(open_leaves)) + 1
        done += taken


@pytest.mark.parametrize(("canary", "wave", "failures"), [(-1, 1, 0), (0, 0, 0), (0, 1, -1)])
def test_limits_that_mean_nothing_are_refused(canary: int, wave: int, failures: int) -> None:
    with pytest.raises(UsageError):
        RollingLimits(canary=canary, wave=wave, max_failures=failures)


def test_all_nodes_change_canary_first_and_are_in_service_after() -> None:
    trial = Trial(4, canary=1, wave=2)
    assert trial.run().ok
    assert [len(wave) for wave in trial.changed] == [1, 2, 1]
    assert set(trial.cluster.reasons.values()) == {""}
    assert trial.record.finished


def test_a_canary_that_fails_ends_it_even_where_failures_are_allowed() -> None:
    trial = Trial(4, canary=1, wave=2, max_failures=3)
    trial.wrong = {trial.record.waves[0][0]: "driver is not loaded"}
    record = trial.run()
    assert record.stopped == "the canary failed"
    assert len(trial.changed) == 1
    assert trial.cluster.reasons[trial.record.waves[0][0]] == "muster:rolling:fail:r1"
    assert [r for r in trial.cluster.reasons.values() if r] == ["muster:rolling:fail:r1"]


@pytest.mark.parametrize(("allowed", "waves"), [(0, 1), (1, 4)])
def test_no_wave_begins_after_more_failures_than_allowed(allowed: int, waves: int) -> None:
    trial = Trial(4, canary=0, wave=1, max_failures=allowed)
    trial.wrong = {trial.record.waves[0][0]: "no"}
    record = trial.run()
    assert len(trial.changed) == waves
    assert not record.ok
    assert bool(record.stopped) == (waves == 1)


def test_a_node_is_changed_only_after_its_jobs_ended() -> None:
    trial = Trial(2, canary=0, wave=2)
    trial.cluster.jobs_until = {"gpu-1": 600.0}
    assert trial.run().ok
    assert trial.clock.t >= 600


def test_a_node_whose_jobs_do_not_end_is_left_in_service() -> None:
    trial = Trial(2, canary=0, wave=2, drain_timeout_s=60)
    trial.cluster.jobs_until = {"gpu-1": 1e9}
    record = trial.run()
    assert (trial.phase("gpu-1"), trial.phase("gpu-2")) == ("left", "done")
    assert trial.cluster.reasons["gpu-1"] == ""
    assert not record.ok


def test_a_node_that_another_drained_is_not_touched() -> None:
    trial = Trial(2, canary=0, wave=2)
    trial.cluster.reasons["gpu-1"] = "bad DIMM, Ann"
    trial.run()
    assert trial.phase("gpu-1") == "left"
    assert "Ann" in trial.record.nodes["gpu-1"].why
    assert trial.cluster.reasons["gpu-1"] == "bad DIMM, Ann"
    assert trial.changed == [("gpu-2",)]


def test_a_quarantined_node_is_changed_and_stays_quarantined() -> None:
    trial = Trial(2, canary=0, wave=2)
    trial.cluster.reasons["gpu-1"] = "muster:gpu-count:fail:x"
    assert trial.run().ok
    assert trial.cluster.reasons["gpu-1"] == "muster:gpu-count:fail:x"


def test_a_node_that_someone_drains_meanwhile_is_not_resumed() -> None:
    trial = Trial(1, canary=0, wave=1)

    def drain() -> None:
        trial.cluster.reasons["gpu-1"] = "muster:gpu-count:fail:health"

    trial.meanwhile = drain
    assert not trial.run().ok
    assert trial.cluster.reasons["gpu-1"] == "muster:gpu-count:fail:health"


def test_a_node_that_does_not_come_back_has_failed() -> None:
    trial = Trial(1, canary=0, wave=1, register_timeout_s=30)
    trial.cluster.silent = {"gpu-1"}
    trial.run()
    assert trial.phase("gpu-1") == "failed"
    assert "not usable 30 s after" in trial.record.nodes["gpu-1"].why
    assert trial.cluster.reasons["gpu-1"].startswith("muster:rolling:fail")


def test_a_node_that_the_scheduler_does_not_know_is_left() -> None:
    trial = Trial(2, canary=0, wave=2)
    del trial.cluster.reasons["gpu-1"]
    assert not trial.run().ok
    assert trial.phase("gpu-1") == "left"


def test_an_error_of_the_whole_run_fails_every_node_of_the_wave() -> None:
    trial = Trial(3, canary=0, wave=2)

    def end() -> None:
        what = "ansible is gone"
        raise MusterError(what)

    trial.meanwhile = end
    record = trial.run()
    assert len(record.failed) == 2
    assert all("ansible is gone" in record.nodes[name].why for name in record.failed)


@given(st.integers(1, 200), st.integers(1, 6), st.integers(0, 2), st.integers(1, 3))
@settings(UNHURRIED)
def test_a_change_killed_anywhere_ends_as_if_it_had_not_been(
    after: int, count: int, canary: int, wave: int
) -> None:
    trial = Trial(count, canary=canary, wave=wave)
    left = after

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise KilledError

    trial.cluster.tick = tick
    trial.meanwhile = tick
    try:
        trial.run()
    except KilledError:
        assert can_go_on(trial.record, trial.fleet) or trial.record.finished
    # The next run lives.
    left = 0
    assert trial.run().ok
    assert set(trial.cluster.reasons.values()) == {""}
    assert {name for wave in trial.changed for name in wave} == {n.name for n in trial.fleet}


def test_only_a_change_that_was_cut_off_on_the_same_machines_goes_on() -> None:
    trial = Trial(2)
    assert can_go_on(trial.record, trial.fleet)
    assert not can_go_on(replace(trial.record, finished=True), trial.fleet)
    other = (trial.fleet[0].model_copy(update={"serial": "NEW"}), trial.fleet[1])
    assert not can_go_on(trial.record, other)
    assert not can_go_on(trial.record, trial.fleet[:1])


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"nodes": {}, "waves": [["a"]], "id": "x"}'])
def test_a_record_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(MusterError, match=r"rolling change|--fresh"):
        read_record(text)
