"""Which error codes AWS sends: one that it never sends would teach a wrong lesson."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from botocore.exceptions import UnknownServiceError
from moto.core.errors import COMMON_ERROR_CODES
from moto.core.exceptions import ServiceException
from moto.core.utils import get_service_model

_FILE = Path(__file__).with_name("codes.yaml")


class PaperError(ServiceException):
    """An error in AWS' form.

    A class of our own: of its own errors moto takes the service from the module's name.
    """


@cache
def _listed() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return content


def status_of(code: str) -> int | None:
    """Return the HTTP status of a code that every service sends; None leaves it to the model."""
    status: int | None = _listed()["common"]["status"].get(code)
    return status


# Else moto warns of each that the service's own model does not list it.
COMMON_ERROR_CODES.extend(set(_listed()["common"]["codes"]) - set(COMMON_ERROR_CODES))


@cache
def hand_listed(service: str) -> frozenset[str]:
    """Codes of a service that botocore does not list, from the list kept by hand."""
    rows = _listed().get(service, {"codes": []})["codes"]
    return frozenset(row["code"] for row in rows)


@cache
def sends(service: str, action: str, code: str) -> bool:
    """Say whether a call of a service can be answered with this error code."""
    model = get_service_model(service)
    if code in _listed()["common"]["codes"] or code in hand_listed(service):
        return True
    names = model.operation_names if "*" in action or "?" in action else [action]
    found = {
        name
        for operation in names
        if operation in model.operation_names and fnmatchcase(operation, action)
        for shape in model.operation_model(operation).error_shapes
        for name in (shape.name, shape.metadata.get("error", {}).get("code", shape.name))
    }
    return code in found


def mistake_in(match: str, code: str) -> str:
    """Say what is wrong with a fault of these calls; an empty text if nothing is."""
    service, _, action = match.partition(":")
    if "*" in service or "?" in service:
        return ""
    try:
        sent = sends(service, action, code)
    except UnknownServiceError:
        return f"{service!r} is not a service; use boto3's name, as elasticfilesystem is efs"
    return "" if sent else f"{service} never answers {action} with {code!r}"
