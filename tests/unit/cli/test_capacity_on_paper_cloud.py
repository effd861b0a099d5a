"""Buying a block through boto3 itself, against the simulated cloud on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from papercloud.cloud.scenario import BlockOffering, Scenario
from papercloud.server import PaperCloud
from tests.unit.cli.paper_environment import use
from tests.unit.cli.test_cli import Command, muster, project, write_spec
from tests.unit.cli.test_plan import example

__all__ = ["muster", "project"]

OFFERING = BlockOffering(
    id="cbo-0123456789abcdef0",
    type="p5.48xlarge",
    count=4,
    hours=168,
    zone="us-east-2a",
    starts_in_s=86400,
    upfront_usd=27906.82,
)


@pytest.fixture
def cloud(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperCloud]:
    with PaperCloud(Scenario(block_offerings=(OFFERING,))) as found:
        use(monkeypatch, found.environ(project / "state"))
        yield found


def test_a_block_is_listed_bought_once_and_shown(
    project: Path, muster: Command, cloud: PaperCloud
) -> None:
    wanted = ("--type", "p5.48xlarge", "--count", "4", "--days", "7", "--json")
    listed = json.loads(muster("capacity", "offers", *wanted)[1])["offers"]
    assert [offer["offer"] for offer in listed] == [OFFERING.id]
    words = ("capacity", "buy", OFFERING.id, "--max-upfront-usd", "27906.82", "--yes", "--json")
    status, out, err = muster(*words)
    assert status == 0, err
    bought = json.loads(out)
    status, _, err = muster(*words)
    assert status == 1
    assert "no longer offers it" in err
    calls = [call for call in cloud.calls() if call.action == "PurchaseCapacityBlock"]
    assert len(calls) == 1
    write_spec(project, example(pools=bought["spec"]["pools"]), "prod")
    shown = muster("capacity", "show", "prod", "--region", "us-east-2", "--json")[1]
    (row,) = json.loads(shown)["capacity"]
    assert (row["id"], row["block"], row["total"]) == (bought["block"], True, 4)
