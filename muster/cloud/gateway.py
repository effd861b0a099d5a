"""The one way in which questions reach AWS; tests hand in recorded answers instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from muster.cloud.clients import Clients


class Gateway(Protocol):
    """Asks one service one thing."""

    @property
    def region(self) -> str:
        """The region that is asked."""
        ...

    def pages(
        self, service: str, operation: str, parameters: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """Give each page of the answer; errors are those of botocore."""
        ...


class AwsGateway:
    """Asks through boto3."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    @property
    def region(self) -> str:
        """The region that is asked."""
        return self._clients.region

    def pages(
        self, service: str, operation: str, parameters: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """Give each page of the answer."""
        client = self._clients.client(service)
        if client.can_paginate(operation):
            yield from client.get_paginator(operation).paginate(**parameters)
        else:
            yield getattr(client, operation)(**parameters)


class RecordedGateway:
    """Answers from what was written down; what was not is an error that names it."""

    def __init__(self, region: str, answers: Mapping[tuple[str, str], Any]) -> None:
        """Take the answer, or the error to raise, by service and operation."""
        self.region = region
        self.asked: list[tuple[str, str, Mapping[str, Any]]] = []
        self._answers = answers

    def pages(
        self, service: str, operation: str, parameters: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """Give the answer as one page."""
        self.asked.append((service, operation, parameters))
        answer = self._answers[service, operation]
        if callable(answer):
            answer = answer(parameters)
        if isinstance(answer, Exception):
            raise answer
        yield answer
