"""Between the engine's property values and plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi.provider.experimental.property_value import Computed, PropertyValue
from pulumi.runtime import rpc

from muster.provider.handler import UNKNOWN, Properties, Unknown


def to_plain(value: PropertyValue) -> Any:
    """Turn a property value into None, bool, int, float, str, list, dict or UNKNOWN.

    Numbers travel as doubles; whole ones become int.
    """
    inner = value.value
    if isinstance(inner, Computed) or inner == rpc.UNKNOWN:
        return UNKNOWN
    if isinstance(inner, Mapping):
        return {key: to_plain(item) for key, item in inner.items()}
    if isinstance(inner, tuple | list):
        return [to_plain(item) for item in inner]
    if isinstance(inner, float) and inner.is_integer():
        return int(inner)
    return inner


def to_property(value: Any) -> PropertyValue:
    """Turn a plain value into a property value."""
    if isinstance(value, Unknown):
        # The wire's form: the SDK (3.250) has a class Computed, but neither reads nor writes it.
        return PropertyValue(rpc.UNKNOWN)
    if isinstance(value, Mapping):
        return PropertyValue({str(key): to_property(item) for key, item in value.items()})
    if isinstance(value, tuple | list):
        return PropertyValue([to_property(item) for item in value])
    if isinstance(value, int) and not isinstance(value, bool):
        return PropertyValue(float(value))
    return PropertyValue(value)


def map_to_plain(values: Mapping[str, PropertyValue]) -> Properties:
    """Turn a resource's properties into plain values.

    A map or list with an unknown inside is unknown as a whole: handlers compare whole properties.
    """
    plain = {key: to_plain(value) for key, value in values.items()}
    return {key: UNKNOWN if _has_unknown(value) else value for key, value in plain.items()}


def map_to_property(values: Mapping[str, Any]) -> dict[str, PropertyValue]:
    """Turn plain values into a resource's properties."""
    return {key: to_property(value) for key, value in values.items()}


def _has_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(_has_unknown(item) for item in value)
    return value is UNKNOWN
