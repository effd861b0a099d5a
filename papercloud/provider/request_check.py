"""Hold the planned create request against botocore's model: stricter than a real preview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from botocore.model import Shape
from botocore.validate import ParamValidator

from papercloud.provider.account import Account
from papercloud.provider.kind import Kind
from papercloud.provider.naming import UnmodelledError
from papercloud.provider.values import has_unknown

_OPEN_ENUMS = frozenset({"InstanceType"})
"""Enums that grow faster than botocore: the catalog has types that it does not list yet."""


def request_mistakes(kind: Kind, account: Account, inputs: Mapping[str, Any]) -> list[str]:
    """Name what the model does not take: unmodelled properties, types, limits, enum values."""
    try:
        request = kind.request(account, inputs)
    except UnmodelledError as error:
        return [str(error)]
    if has_unknown(request):
        return []
    shape = account.model(kind.service, kind.create_by.operation).input_shape
    report = ParamValidator().validate(request, shape)
    lines = report.generate_report().splitlines() if report.has_errors() else []
    return lines + list(_enum_mistakes(request, shape, ""))


def _enum_mistakes(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if shape.type_name == "structure" and isinstance(value, Mapping):
        for key in value:
            if key in shape.members:
                yield from _enum_mistakes(value[key], shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for i, item in enumerate(value):
            yield from _enum_mistakes(item, shape.member, f"{path}[{i}]")
    elif shape.type_name == "string" and _is_odd(value, shape):
        yield f"{path.lstrip('.')}: {value!r} is not one of {', '.join(shape.enum)}"


def _is_odd(value: Any, shape: Shape) -> bool:
    return bool(shape.enum) and shape.name not in _OPEN_ENUMS and value not in shape.enum
