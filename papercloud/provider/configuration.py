"""What a program or stack configures of the provider; what we do not model is an error."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from papercloud.provider.account import Account, PaperError, Services, require_loopback

_WITHOUT_EFFECT: Final = frozenset({
    "accessKey", "secretKey", "token", "profile", "maxRetries", "retryMode", "s3UsePathStyle",
    "skipCredentialsValidation", "skipRegionValidation", "skipRequestingAccountId",
    "skipMetadataApiCheck", "version", "sharedConfigFiles", "sharedCredentialsFiles",
})  # fmt: skip
"""Settings that a simulated account has no use for."""
_MODELLED: Final = frozenset({"region", "defaultTags", "allowedAccountIds", "endpoints"})


class Configuration:
    """The provider's settings, and the account that they lead to."""

    def __init__(self, endpoint: str, region: str = "") -> None:
        self._services = Services(endpoint)
        self._region = region
        self._default_tags: Mapping[str, str] = {}

    @classmethod
    def from_environment(cls) -> Configuration:
        """Read AWS_ENDPOINT_URL and the region; raises PaperError unless it is loopback."""
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "")
        return cls(os.environ.get("AWS_ENDPOINT_URL", ""), region)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Take the settings; structured values come as JSON text."""
        plain = {key: _decoded(value) for key, value in settings.items()}
        self._region = plain.get("region") or self._region
        self._default_tags = (plain.get("defaultTags") or {}).get("tags") or {}
        for services in plain.get("endpoints") or []:
            for address in services.values():
                require_loopback(address)
        allowed = plain.get("allowedAccountIds")
        if allowed and self.account().account_id() not in allowed:
            raise PaperError(
                f"account {self.account().account_id()} is not one of {', '.join(allowed)}",
                where="allowedAccountIds",
            )

    def account(self) -> Account:
        """Return the account in the configured region."""
        if not self._region:
            raise PaperError("no region", hint="Set aws:region or AWS_REGION")
        return Account(
            services=self._services, region=self._region, default_tags=self._default_tags
        )


def configuration_mistakes(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name the settings that the stand-in does not model."""
    return [
        (key, f"the paper cloud does not model the provider's setting {key}")
        for key, value in settings.items()
        if key not in _MODELLED | _WITHOUT_EFFECT and value is not None
    ]


def _decoded(value: Any) -> Any:
    """Lists and mappings come as JSON text, whatever the engine's version."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value
