"""An account that sells Capacity Blocks, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster.cli import capacity, capacity_show
from muster.cloud.clients import Clients
from muster.cloud.gateway import RecordedGateway
from tests.unit.cli.test_catalog_refresh import refused

START = datetime(2026, 12, 1, 11, 30, tzinfo=UTC)
OFFER = "cb-0123456789abcdef0"
BLOCK = "cr-0123456789abcdef0"


class Cloud:
    """An account: what it offers, what it has, and what was bought."""

    def __init__(self) -> None:
        self.offers: list[dict[str, Any]] = [offer()]
        self.reservations: list[dict[str, Any]] = []
        self.bought: list[Mapping[str, Any]] = []
        self.refuses: Exception | None = None
        self.unread: Exception | None = None

    def gateway(self, clients: Clients) -> RecordedGateway:
        zones = [{"ZoneName": "us-east-2a", "ZoneId": "use2-az1"}]
        return RecordedGateway(
            clients.region,
            {
                ("ec2", "describe_availability_zones"): {"AvailabilityZones": zones},
                ("ec2", "describe_capacity_block_offerings"): {
                    "CapacityBlockOfferings": self.offers
                },
                ("ec2", "describe_capacity_reservations"): self._reservations,
            },
        )

    def _reservations(self, parameters: Mapping[str, Any]) -> Any:
        if self.unread:
            return self.unread
        ids = parameters.get("CapacityReservationIds")
        rows = [r for r in self.reservations if not ids or r["CapacityReservationId"] in ids]
        if ids and not rows:
            return refused("InvalidCapacityReservationId.NotFound")
        return {"CapacityReservations": rows}

    def purchase_capacity_block(self, **parameters: Any) -> dict[str, Any]:
        self.bought.append(parameters)
        if self.refuses:
            raise self.refuses
        made = block(CreateDate=datetime.now(UTC), State="payment-pending")
        self.reservations.append(made)
        return {"CapacityReservation": made}


def offer(**changes: Any) -> dict[str, Any]:
    return {
        "CapacityBlockOfferingId": OFFER,
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-2a",
        "InstanceCount": 4,
        "StartDate": START,
        "EndDate": START + timedelta(days=7),
        "CapacityBlockDurationHours": 168,
        "UpfrontFee": "27906.816",
        "CurrencyCode": "USD",
        **changes,
    }


def block(**changes: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": BLOCK,
        "ReservationType": "capacity-block",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-2a",
        "AvailabilityZoneId": "use2-az1",
        "TotalInstanceCount": 4,
        "AvailableInstanceCount": 1,
        "StartDate": START,
        "EndDate": START + timedelta(days=7),
        "State": "active",
        **changes,
    }


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    found = Cloud()
    monkeypatch.setattr(capacity, "AwsGateway", found.gateway)
    monkeypatch.setattr(capacity_show, "AwsGateway", found.gateway)
    monkeypatch.setattr(capacity, "purchase_client", lambda _region: found)
    return found
