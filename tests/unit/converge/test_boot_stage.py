"""The stages of boot and of a rolling change: who is named as failed, and what goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from muster.converge import boot_stage, rolling_stage
from muster.converge.boot import BootStatus
from muster.converge.bundle import pack
from muster.converge.converge import ConvergeError
from muster.converge.digest import PLAYBOOKS
from muster.converge.options import ConvergeOptions
from muster.converge.record import read_outcomes
from muster.converge.result import TaskFailure
from muster.converge.rolling import RollingLimits, RollingRecord, read_record
from muster.progress import silent
from tests.unit.converge.sample import TYPES, lab_fleet
from tests.unit.converge.test_boot import Nodes
from tests.unit.converge.test_rolling import Cluster, Hours, KilledError

BUNDLE = pack({})
FLEET = lab_fleet(2)


def failing(*failures: TaskFailure) -> Callable[..., None]:
    def converge(*_args: Any, **_more: Any) -> None:
        if failures:
            raise ConvergeError(failures, log=Path("log"))

    return converge


def head_failure(message: str) -> TaskFailure:
    return TaskFailure(host="head", task="slurmctld : x", message=message)


def says(name: str, state: str = "converged", message: str = "") -> BootStatus:
    good = state == "converged"
    return BootStatus(
        node=name, state=state, message=message, bundle=BUNDLE.sha256, in_service=good
    )


@pytest.fixture
def boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., boot_stage.Booted]:
    def run(
        *statuses: BootStatus,
        lost: dict[str, str] | None = None,
        converge: Callable[..., None] | None = None,
    ) -> boot_stage.Booted:
        found = {status.node: status for status in statuses}
        monkeypatch.setattr(boot_stage, "publish_bundle", lambda *_, **__: (BUNDLE, tmp_path))
        monkeypatch.setattr(boot_stage, "serve", lambda *_: "http://head")
        monkeypatch.setattr(boot_stage, "enrol", lambda *_: lost or {})
        monkeypatch.setattr(boot_stage, "converge", converge or failing())
        monkeypatch.setattr(boot_stage, "follow", lambda *_a, **_k: found)
        return boot_stage.boot_fleet(
            FLEET,
            TYPES,
            ConvergeOptions(),
            tmp_path,
            remote=Nodes(lambda *_: ""),
            clock=Hours(),
            progress=silent,
        )

    return run


def test_every_node_that_is_not_in_service_is_named_and_kept(
    boot: Callable[..., boot_stage.Booted], tmp_path: Path
) -> None:
    done = boot(says("gpu-1"), says("gpu-2", "refused", "sha256 is x"))
    assert dict(done.failed) == {"gpu-2": "boot refused: sha256 is x"}
    assert read_outcomes(tmp_path, FLEET) == {"gpu-1": "", "gpu-2": "boot refused: sha256 is x"}


def test_a_node_that_could_not_be_enrolled_has_failed(
    boot: Callable[..., boot_stage.Booted],
) -> None:
    assert dict(boot(says("gpu-1"), lost={"gpu-2": "no route"}).failed) == {"gpu-2": "no route"}


def test_a_head_that_only_waits_for_nodes_does_not_end_the_boot(
    boot: Callable[..., boot_stage.Booted],
) -> None:
    late = failing(head_failure("gpu-2: not registered with slurmctld within 30 s"))
    assert not boot(says("gpu-1"), says("gpu-2"), converge=late).failed


def test_a_head_that_failed_ends_the_boot(boot: Callable[..., boot_stage.Booted]) -> None:
    both = failing(head_failure("not registered with slurmctld"), head_failure("no disk"))
    with pytest.raises(ConvergeError):
        boot(says("gpu-1"), says("gpu-2"), converge=both)


def test_what_the_head_says_of_late_nodes_is_what_the_role_says() -> None:
    path = PLAYBOOKS / "roles" / "slurmctld" / "tasks" / "validate.yml"
    tasks = yaml.safe_load(path.read_text(encoding="utf-8"))
    messages = [task["ansible.builtin.fail"]["msg"] for task in tasks[0]["rescue"]]
    assert all(boot_stage._NOT_YET in message for message in messages)


class Rolls:
    """Rolling changes of two nodes; `converge` stands for the push."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
        self.clock = Hours()
        self.cluster = Cluster(["gpu-1", "gpu-2"], self.clock)
        self.store, self.patch = store, monkeypatch
        self.remote = Nodes(lambda *_: "")
        self.asked: list[SimpleNamespace] = []

    def run(self, push: Callable[..., None], *, fresh: bool = False) -> RollingRecord:
        def converge(*args: Any, **more: Any) -> None:
            self.asked.append(SimpleNamespace(**more))
            push(*args, **more)

        self.patch.setattr(rolling_stage, "converge", converge)
        return rolling_stage.roll(
            FLEET,
            TYPES,
            ConvergeOptions(),
            self.store,
            limits=RollingLimits(canary=1, wave=1),
            remote=self.remote,
            scheduler=self.cluster,
            clock=self.clock,
            progress=silent,
            fresh=fresh,
        )

    def kept(self) -> RollingRecord:
        return read_record((self.store / rolling_stage.RECORD).read_text(encoding="utf-8"))


@pytest.fixture
def rolls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rolls:
    return Rolls(monkeypatch, tmp_path)


def kill(*_args: Any, **_more: Any) -> None:
    raise KilledError


def test_a_push_of_a_wave_is_limited_to_it(rolls: Rolls) -> None:
    assert rolls.run(failing()).ok
    assert [(a.playbook, a.limit) for a in rolls.asked] == [
        ("rolling.yml", "gpu-1"),
        ("rolling.yml", "gpu-2"),
    ]


def test_a_node_that_fails_its_push_stays_out_of_service(rolls: Rolls) -> None:
    wrong = TaskFailure(host="gpu-1", task="slurmd : Run", message="no")
    record = rolls.run(failing(wrong))
    assert record.failed == ("gpu-1",)
    assert "slurmd : Run: no" in record.nodes["gpu-1"].why
    assert rolls.cluster.reasons["gpu-1"].startswith("muster:rolling:fail:")


def test_a_push_that_fails_as_a_whole_accuses_the_wave(rolls: Rolls) -> None:
    record = rolls.run(failing(TaskFailure(host="", task="", message="ansible ended")))
    assert record.failed == ("gpu-1",)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_change_that_was_cut_off_goes_on_unless_told_otherwise(
    rolls: Rolls, *, fresh: bool
) -> None:
    with pytest.raises(KilledError):
        rolls.run(kill)
    cut_off = rolls.kept()
    rolls.cluster.reasons = dict.fromkeys(rolls.cluster.reasons, "")
    rolls.clock.t += 1
    record = rolls.run(failing(), fresh=fresh)
    assert (record.id == cut_off.id) != fresh
    assert record.ok


@pytest.mark.parametrize("state", ["converged", "reboot-required"])
def test_nodes_that_boot_are_changed_by_a_new_bundle_and_not_by_push(
    rolls: Rolls, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    (rolls.store / "boot.json").write_text('{"source": ""}', encoding="utf-8")
    served: list[Path] = []
    monkeypatch.setattr(boot_stage, "publish_bundle", lambda *_, **__: (BUNDLE, rolls.store))
    monkeypatch.setattr(boot_stage, "serve", lambda *a: served.append(a[2]))
    monkeypatch.setattr(
        boot_stage, "follow", lambda _r, names, *_a, **_k: {n: says(n, state) for n in names}
    )
    record = rolls.run(kill)
    assert record.ok == (state == "converged")
    assert served == [rolls.store]
    first = [command for node, command, _ in rolls.remote.asked if node == "gpu-1"]
    assert "rm -f /run/muster/boot/in-service" in first[0]
    assert "systemctl start muster-boot" in first[1]


def test_a_boot_is_remembered_so_that_later_changes_go_the_same_way(
    boot: Callable[..., boot_stage.Booted], tmp_path: Path
) -> None:
    assert not boot_stage.boots(tmp_path)
    boot(says("gpu-1"), says("gpu-2"))
    assert boot_stage.boots(tmp_path)
