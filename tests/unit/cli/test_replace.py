"""muster replace: which call makes a node anew on each target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from muster.cli import nodes as verbs
from muster.clock import SystemClock
from muster.engine import Engine
from muster.fleet import Fleet
from muster.progress import silent
from muster.provider.aws import AwsFleetHandler
from muster.runstore import RunStore
from tests.unit.cloud.aws_fleet import (
    ManualClock,
    gateway,
    inputs,
    make_group,
    make_head,
    members,
)


class RecordedEngine:
    """Keeps what it was asked to do; its state has the head."""

    def __init__(self, head: str) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.head = head

    def up(self, _self: Engine, stack: str, *, yes: bool) -> int:
        self.asked.append(("up", stack, str(yes)))
        return 0

    def replace(self, _self: Engine, stack: str, urn: str) -> int:
        self.asked.append(("replace", stack, urn))
        return 0

    def export(self, _self: Engine, _stack: str) -> dict[str, Any]:
        return {"deployment": {"resources": [{"urn": "urn:head", "id": self.head}]}}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedEngine]:
    (tmp_path / "Pulumi.yaml").write_text("name: muster\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUSTER_STORE", str(tmp_path / "store"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        head = make_head()
        make_group(3)
        handler = AwsFleetHandler(tmp_path / "store", ManualClock(), lambda _region: gateway())
        state = handler.create("fleet", inputs(head, size=3), silent)[1]
        store = RunStore(tmp_path / "store", "demo", SystemClock())
        store.write_fleet(Fleet.model_validate(state["fleet"]))
        recorded = RecordedEngine(head)
        for verb in ("up", "replace", "export"):
            monkeypatch.setattr(Engine, verb, _method(recorded, verb))
        yield recorded


def _method(recorded: RecordedEngine, verb: str) -> Any:
    called = getattr(recorded, verb)

    def method(engine: Engine, *words: Any, **options: Any) -> Any:
        return called(engine, *words, **options)

    return method


def instance_of(name: str) -> str:
    return RunStore(Path("store").resolve(), "demo", SystemClock()).fleet().node(name).serial


def test_a_node_on_aws_is_ended_through_its_group_and_an_up_follows(
    engine: RecordedEngine,
) -> None:
    ended = instance_of("train-2")
    with pytest.raises(SystemExit) as stop:
        verbs.replace("demo", "train-2")
    assert stop.value.code == 0
    assert ended not in members()
    assert len(members()) == 3
    assert engine.asked == [("up", "demo", "True")]


def test_the_head_on_aws_is_replaced_as_the_resource_that_it_is(engine: RecordedEngine) -> None:
    with pytest.raises(SystemExit):
        verbs.replace("demo", "head")
    assert engine.asked == [("replace", "demo", "urn:head")]
    assert len(members()) == 3
