"""Prices are read through boto3 itself, against the simulated cloud on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papercloud.cloud.scenario import BlockOffering, Scenario
from papercloud.server import PaperCloud
from tests.unit.cli.paper_environment import use
from tests.unit.cli.test_cli import Command, muster, project

__all__ = ["muster", "project"]

PROBE = BlockOffering(
    id="cbo-1", type="p5.48xlarge", count=1, hours=24, zone="us-east-2a", upfront_usd=996.67
)
PRICES = {"p5.48xlarge": 60.0}
SPOT = {"p5.48xlarge/us-east-2a": 21.5}


def test_all_three_ways_of_buying_are_read_and_shown(
    project: Path, muster: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario(block_offerings=(PROBE,), prices=PRICES, spot_prices=SPOT)
    words = ("catalog", "refresh", "--region", "us-east-2", "--type", "p5.48xlarge", "--json")
    with PaperCloud(scenario) as cloud:
        use(monkeypatch, cloud.environ(project / "state"))
        status, out, err = muster(*words)
    assert status == 0, err
    assert json.loads(out)["notTaken"] == []
    shown = json.loads(muster("catalog", "show", "p5.48xlarge", "--json")[1])
    prices = shown["regionPrices"]["us-east-2"]
    assert prices["on_demand"]["usd"] == 60
    assert prices["spot"]["use2-az1"]["usd"] == 21.5
    assert prices["capacity_block"]["use2-az1"]["usd"] == 41.527917
