"""boto3 clients with the retries and timeouts that a large fleet needs."""

from __future__ import annotations

import threading
from typing import Any

import boto3
from botocore.config import Config

_CONFIG = Config(
    # The default gives up after three attempts, within twenty calls at 30 % throttling (measured
    # against the paper cloud); "adaptive" also slows the client down.
    retries={"mode": "adaptive", "total_max_attempts": 10},
    connect_timeout=10,
    read_timeout=60,
    user_agent_extra="muster",
)


class Clients:
    """One boto3 client per service of one region; credentials come from the usual places."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._session = boto3.session.Session(region_name=region)
        self._made: dict[str, Any] = {}
        # Making a client is not thread-safe; using one is (boto3 guide, "Multithreading").
        self._lock = threading.Lock()

    def client(self, service: str) -> Any:
        """Return the client of a service, as "ec2"; the same one every time."""
        with self._lock:
            if service not in self._made:
                self._made[service] = self._session.client(service, config=_CONFIG)
            return self._made[service]
