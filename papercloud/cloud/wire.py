"""HTTP requests to calls, and answers back, in each protocol that AWS speaks."""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.model import OperationModel, ServiceModel
from moto.core.exceptions import ServiceException
from moto.core.parse import PROTOCOL_PARSERS, RequestDict
from moto.core.request import determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.serialize import XFormedAttributePicker, get_serializer_class
from moto.core.utils import get_service_model
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.moto_server.werkzeug_app import BackendRequest
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from papercloud.cloud.codes import status_of

# What a request is signed for, where boto3 calls the service otherwise.
_SIGNED_AS = {"elasticfilesystem": "efs", "servicequotas": "service-quotas"}
_SCOPE_PARTS = 5
# What moto changes in answers about instances, which are partly its own objects here too.
_OF_INSTANCES = {
    path: change
    for path, change in EC2BaseResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER.items()
    if "Instance" in path
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was understood, and how to answer it."""

    service: ServiceModel
    operation: OperationModel
    protocol: str
    params: dict[str, Any]
    region: str

    def reply(self, result: Any) -> Response:
        """Turn an answer, or an exception, into a response."""
        serializer = get_serializer_class(self.service.service_name, self.protocol)
        # moto's objects name their attributes in their own way; this knows how.
        picker = XFormedAttributePicker(
            response_transformers=_OF_INSTANCES if self.service.service_name == "ec2" else {}
        )
        done = serializer(operation_model=self.operation, value_picker=picker).serialize(result)
        own = status_of(result.code) if isinstance(result, ServiceException) else None
        status = own or done["status_code"]
        return Response(done["body"], status=status, headers=dict(done["headers"]))


def read(environ: dict[str, Any]) -> Exchange | None:
    """Understand a request; None where it is none of AWS' signed calls.

    The body is put back, for whoever reads the request next.
    """
    scope = _scope(environ.get("HTTP_AUTHORIZATION", ""))
    if scope is None:
        return None
    region, signed_for = scope
    service = get_service_model(_SIGNED_AS.get(signed_for, signed_for))
    _buffer(environ)
    request = BackendRequest(dict(environ))
    action, url_params = _action(service.service_name, request)
    _rewind(environ)
    if action not in service.operation_names:
        return None
    operation = service.operation_model(action)
    protocol = determine_request_protocol(service, request.content_type)
    params = _params(operation, protocol, request, url_params)
    _rewind(environ)  # a JSON body is read only here
    return Exchange(
        service=service,
        operation=operation,
        protocol=protocol,
        params=params,
        region=region,
    )


def _params(
    operation: OperationModel, protocol: str, request: Any, url_params: dict[str, Any]
) -> dict[str, Any]:
    if operation.service_model.service_name == "s3":
        return {}  # bodies may be large, and no handler here answers S3
    asked: RequestDict = {
        "method": request.method,
        "values": request.values,
        "headers": request.headers,
        "body": request.data,
        "url_path": request.path,
        "url_params": url_params,
    }
    parsed: dict[str, Any] = PROTOCOL_PARSERS[protocol](operation, map_type=dict).parse(asked) or {}
    aware: dict[str, Any] = _aware(parsed)
    return aware


def _aware(value: Any) -> Any:
    """Give times that name no zone the one that AWS means: UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    if isinstance(value, dict):
        return {key: _aware(inner) for key, inner in value.items()}
    return [_aware(inner) for inner in value] if isinstance(value, list) else value


def _scope(authorization: str) -> tuple[str, str] | None:
    """Read region and service out of a Signature Version 4 header."""
    _, _, rest = authorization.partition("Credential=")
    parts = rest.split(",")[0].split("/")
    return (parts[2], parts[3].lower()) if len(parts) == _SCOPE_PARTS else None


def _action(service: str, request: Any) -> tuple[str, dict[str, Any]]:
    named = request.values.get("Action") or request.headers.get("X-Amz-Target", "").split(".")[-1]
    if named:
        return str(named), {}
    try:
        operation, url_params = get_service_router(service).match(request)
    except (NotFound, NotImplementedError):
        return "", {}
    return str(operation.name), dict(url_params)


def _buffer(environ: dict[str, Any]) -> None:
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length and not isinstance(environ["wsgi.input"], io.BytesIO):
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))


def _rewind(environ: dict[str, Any]) -> None:
    if isinstance(environ["wsgi.input"], io.BytesIO):
        environ["wsgi.input"].seek(0)
