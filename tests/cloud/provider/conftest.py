"""One paper cloud for the module, and an account in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from papercloud.cloud.scenario import Scenario
from papercloud.provider.account import Account, Services
from papercloud.server import PaperCloud


@pytest.fixture(scope="module")
def cloud() -> Iterator[PaperCloud]:
    with PaperCloud(Scenario()) as serving:
        yield serving


@pytest.fixture(scope="module")
def account(cloud: PaperCloud) -> Iterator[Account]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "paper")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "paper")
        tags = {"cost": "train"}
        services = Services(cloud.endpoint)
        yield Account(services=services, region="us-east-2", default_tags=tags)
