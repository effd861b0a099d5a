"""A head whose launch fails says why."""

from __future__ import annotations

import pytest

from papercloud.cloud.machines import Launch, Machine
from papercloud.cloud.scenario import Scenario
from papercloud.provider.account import Account, Services
from papercloud.provider.lifecycle import NotReadyError
from papercloud.server import PaperCloud
from tests.cloud.provider import paper_world as pw
from tests.cloud.provider.paper_world import PaperWorld


class NoMachines:
    """Every launch fails."""

    def offers(self, instance_type: str) -> bool:
        return True

    def start(self, launch: Launch) -> Machine:
        raise OSError("no room left on the rack")

    def stop(self, instance_id: str) -> None:
        pass


def test_an_instance_that_did_not_live_to_run_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "paper")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "paper")
    with PaperCloud(Scenario(), NoMachines()) as cloud:
        world = PaperWorld(Account(services=Services(cloud.endpoint), region="us-east-2"))
        with pytest.raises(NotReadyError, match="became 'gone'.*no room left on the rack"):
            world.make(pw.INSTANCE, pw.EXAMPLES[pw.INSTANCE](world), "head")
