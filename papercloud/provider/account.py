"""Calls to the paper cloud: only to loopback, with the retries that the real provider makes."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlparse

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.model import OperationModel

from muster.clock import Clock, SystemClock
from muster.errors import MusterError

NOT_YET_SEEN: Final = re.compile(
    r"\.NotFound:|NatGatewayNotFound|InvalidPlacementGroup\.Unknown|NoSuchEntity"
    r"|Invalid IAM Instance Profile"
)
"""A thing that was made a moment ago is not known everywhere: ask again."""
STILL_USED: Final = re.compile(
    r"DependencyViolation|DeleteConflict|ResourceInUse|ScalingActivityInProgress|OperationAborted"
)
"""What still uses the thing is going away: ask again."""
GONE: Final = re.compile(r"NotFound|NoSuch|InvalidPlacementGroup\.Unknown|^404:")
_NEVER: Final = re.compile(r"(?!)")
_POLL_S: Final = 0.25


class PaperError(MusterError):
    """The paper cloud refused a call, or the stand-in does not model what was asked."""


class RefusedError(PaperError):
    """An API call was answered with an error; `code` is what AWS calls it."""

    def __init__(self, operation: str, code: str, message: str) -> None:
        self.code = code
        self.said = f"{code}: {message}"
        super().__init__(self.said, where=operation)

    @property
    def is_gone(self) -> bool:
        """Whether the answer says that there is no such thing."""
        return GONE.search(self.said) is not None


class Services:
    """The clients of one endpoint, made once for each service and region."""

    def __init__(self, endpoint: str) -> None:
        require_loopback(endpoint)
        self._endpoint = endpoint
        self._session = botocore.session.get_session()
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def client(self, service: str, region: str) -> Any:
        """Return the client; making one takes long, so nobody makes the same twice."""
        with self._lock:
            if (service, region) not in self._clients:
                self._clients[service, region] = self._session.create_client(
                    service,
                    region_name=region,
                    endpoint_url=self._endpoint,
                    config=Config(
                        retries={"mode": "legacy", "total_max_attempts": 25},
                        connect_timeout=5,
                        read_timeout=60,
                        max_pool_connections=32,
                        s3={"addressing_style": "path"},
                    ),
                )
            return self._clients[service, region]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Account:
    """One account in one region, as one call of the engine uses it."""

    services: Services
    region: str
    default_tags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    clock: Clock = dataclasses.field(default_factory=SystemClock)
    forgiven: re.Pattern[str] = _NEVER
    patience_s: float = 0.0

    def in_region(self, region: str | None) -> Account:
        """Return the same account in another region, where one is named."""
        return dataclasses.replace(self, region=region) if region else self

    def forgiving(self, errors: re.Pattern[str], patience_s: float) -> Account:
        """Return the same account, asking again for so long when an answer is one of `errors`."""
        return dataclasses.replace(self, forgiven=errors, patience_s=patience_s)

    def call(self, service: str, operation: str, /, **request: Any) -> dict[str, Any]:
        """Call the API; raises RefusedError."""
        deadline = self.clock.monotonic_s() + self.patience_s
        while True:
            try:
                return self._call(service, operation, request)
            except RefusedError as error:
                late = self.clock.monotonic_s() >= deadline
                if late or not self.forgiven.search(error.said):
                    raise
            self.clock.sleep(_POLL_S)

    def model(self, service: str, operation: str) -> OperationModel:
        """Return botocore's description of the operation."""
        return self.services.client(service, self.region).meta.service_model.operation_model(
            operation
        )

    def account_id(self) -> str:
        """Return the account's number."""
        return str(self.call("sts", "GetCallerIdentity")["Account"])

    def arn(self, service: str, resource: str) -> str:
        """Compose an ARN of this account and region."""
        return f"arn:aws:{service}:{self.region}:{self.account_id()}:{resource}"

    def _call(self, service: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        client = self.services.client(service, self.region)
        try:
            answer: dict[str, Any] = getattr(client, xform_name(operation))(**request)
        except ClientError as error:
            said = error.response["Error"]
            name = f"{service}:{operation}"
            raise RefusedError(name, str(said["Code"]), str(said.get("Message"))) from error
        except BotoCoreError as error:
            raise PaperError(str(error), where=f"{service}:{operation}") from error
        answer.pop("ResponseMetadata", None)
        return answer


def require_loopback(endpoint: str) -> None:
    """Refuse any address that is not this machine's own, so that no real account is touched."""
    host = urlparse(endpoint).hostname or ""
    try:
        is_own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        raise PaperError(
            f"the paper cloud's provider talks to loopback only, not to {host or 'AWS'!r}",
            where="AWS_ENDPOINT_URL",
            hint="Run it under 'python -m papercloud run', or take papercloud out of PATH",
        )
