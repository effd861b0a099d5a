"""Calls to AWS whose failure ends the work: the error says what was asked and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from muster.cloud.clients import Clients
from muster.cloud.gateway import AwsGateway, Gateway
from muster.cloud.refusals import code_of, unread
from muster.errors import MusterError

_AT_ONCE = 8

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class CloudError(MusterError):
    """AWS refused a call, or did not answer; `code` is AWS's own name of the error, if any."""

    def __init__(self, what: str, *, where: str = "", hint: str = "", code: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.code = code


def aws_gateway(region: str) -> Gateway:
    """Reach AWS in a region, with the credentials of the usual places."""
    return AwsGateway(Clients(region))


def call(gateway: Gateway, service: str, operation: str, **parameters: Any) -> Iterator[Any]:
    """Give each page of an answer.

    Raises:
        CloudError: AWS refused, or did not answer after all retries.

    """
    try:
        yield from gateway.pages(service, operation, parameters)
    except (ClientError, BotoCoreError, ResponseParserError) as error:
        said = unread(error, service, operation)
        code = code_of(error) if isinstance(error, ClientError) else ""
        raise CloudError(said.why, where=gateway.region, hint=said.do, code=code) from error


def do(gateway: Gateway, service: str, operation: str, **parameters: Any) -> None:
    """Make a call whose answer says nothing (errors as `call`)."""
    for _ in call(gateway, service, operation, **parameters):
        pass


def in_batches(items: Iterable[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split what one call takes only so many of."""
    listed = list(items)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def side_by_side(work: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """Do the same for every item, some at a time; answers are in the order of the items."""
    with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="muster-cloud") as threads:
        return list(threads.map(work, items))
