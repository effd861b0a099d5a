"""Plain Python values and the engine's protobuf ones; what is not known yet stays its marker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

from papercloud.provider.schema import UNKNOWN_VALUE

Properties = dict[str, Any]


def from_struct(struct: Struct) -> Properties:
    """Read properties; whole numbers become integers, as botocore wants them."""
    return {key: _plain(value) for key, value in struct.fields.items()}


def to_struct(properties: Mapping[str, Any]) -> Struct:
    """Write properties; what is None stays out."""
    struct = Struct()
    struct.update({key: value for key, value in properties.items() if value is not None})
    return struct


def has_unknown(value: Any) -> bool:
    """Whether any part of the value is not known before the work is done."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return bool(value == UNKNOWN_VALUE)


def _plain(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind in (None, "null_value") else getattr(value, kind)
