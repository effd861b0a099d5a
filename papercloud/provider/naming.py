"""From Pulumi's property names to botocore's members and back; only exceptions are written down.

`vpcSecurityGroupIds` and `VpcSecurityGroupIds` match by themselves, as do singular and plural.
A table entry's `rename` names the rest: `{"arn<": "ResourceARN"}` for reading, `{"x>": "Y.Z"}` for
writing, `{"x": "Y"}` for both; nested properties by their path, `networkInterfaces.securityGroups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.model import Shape

from papercloud.provider.account import PaperError
from papercloud.provider.schema import UNKNOWN_VALUE, Schema
from papercloud.provider.values import Properties


class UnmodelledError(PaperError):
    """A property that the API has no member for: an error, so that nothing is dropped silently."""


class Names:
    """The names of one resource type."""

    def __init__(self, rename: Mapping[str, str], flatten: str = "") -> None:
        self._rename = rename
        self._flatten = flatten

    def target(self, path: str, shape: Shape) -> str | None:
        """Return the path of the member that takes a property, None where there is none."""
        renamed = self._renamed(path, ">")
        if renamed is not None:
            # `A|B`: operations of one type may call the same thing differently.
            return next((way for way in renamed.split("|") if self._exists(way, shape)), None)
        name = path.rsplit(".", 1)[-1]
        member = match(name, shape.members)
        if member or not self._flatten or "." in path or self._flatten not in shape.members:
            return member
        inner = match(name, shape.members[self._flatten].members)
        return f"{self._flatten}.{inner}" if inner else None

    def request(self, inputs: Mapping[str, Any], shape: Shape, path: str = "") -> Properties:
        """Write properties as the request of an operation."""
        request: Properties = {}
        for key, value in inputs.items():
            if value is None:
                continue
            target = self.target(f"{path}{key}", shape)
            if target is None:
                raise UnmodelledError(f"the paper cloud does not model property {path}{key}")
            self._put(request, target, shape, value, f"{path}{key}")
        return request

    def properties(
        self, found: Mapping[str, Any], kinds: Mapping[str, Any], schema: Schema, path: str = ""
    ) -> Properties:
        """Read what an API answered as properties; what is not in the answer stays out."""
        read: Properties = {}
        for key, kind in kinds.items():
            value = self._found(found, f"{path}{key}", is_top=not path)
            if value is not None:
                read[key] = self._read(value, kind, schema, f"{path}{key}")
        return read

    def _renamed(self, path: str, direction: str) -> str | None:
        return self._rename.get(path + direction, self._rename.get(path))

    def _exists(self, target: str, shape: Shape) -> bool:
        for part in target.split("."):
            members = getattr(shape, "members", {})
            if part not in members:
                return False
            shape = members[part]
        return True

    def _put(self, request: Properties, target: str, shape: Shape, value: Any, path: str) -> None:
        *outer, last = target.split(".")
        for part in outer:
            request = request.setdefault(part, {})
            shape = shape.members[part]
        request[last] = self._write(value, shape.members[last], path)

    def _write(self, value: Any, shape: Shape, path: str) -> Any:
        if value == UNKNOWN_VALUE:
            return value
        if shape.type_name == "list":
            return self._write_list(value, shape, path)
        if shape.type_name == "structure":
            if not isinstance(value, Mapping):
                return {"Value": value}  # EC2 wraps single attributes
            return self.request(value, shape, f"{path}.")
        if shape.type_name == "map":
            return dict(value)
        return _write_scalar(value, shape.type_name)

    def _write_list(self, value: Any, shape: Shape, path: str) -> Any:
        if isinstance(value, Mapping) and "Key" in getattr(shape.member, "members", {}):
            return [{"Key": key, "Value": item} for key, item in value.items()]
        items = value if isinstance(value, list) else [value]
        if None in items:
            raise UnmodelledError(f"property {path} has an item that is null")
        return [self._write(item, shape.member, path) for item in items]

    def _found(self, found: Mapping[str, Any], path: str, *, is_top: bool) -> Any:
        renamed = self._renamed(path, "<")
        if renamed is not None:
            ways = (at(found, way) for way in renamed.split("|"))
            return next((value for value in ways if value is not None), None)
        name = path.rsplit(".", 1)[-1]
        member = match(name, found)
        if member is None and is_top and self._flatten in found:
            found = found[self._flatten]
            member = match(name, found)
        return None if member is None else found[member]

    def _read(self, value: Any, kind: Any, schema: Schema, path: str) -> Any:
        if isinstance(kind, str):
            return _read_scalar(value, kind)
        if "array" in kind:
            items = value if isinstance(value, list) else [value]
            return [self._read(item, kind["array"], schema, path) for item in items]
        if "map" in kind:
            return tags_of(value) if isinstance(value, list) else dict(value)
        if isinstance(value, list):
            value = value[0] if value else {}
        return self.properties(value, schema.properties(kind), schema, f"{path}.")


def match(name: str, members: Iterable[str]) -> str | None:
    """Find the member of that name, whatever its case, in singular or plural."""
    by_lower = {member.lower(): member for member in members}
    lower = name.lower()
    for candidate in (lower, f"{lower}s", lower.removesuffix("s")):
        if candidate in by_lower:
            return by_lower[candidate]
    return None


def at(found: Any, path: str) -> Any:
    """Follow a path: `A.0.B` into lists, `A.*.B` over all items; None where it ends early."""
    if not path or found is None:
        return found
    part, _, rest = path.partition(".")
    if part == "*":
        return [at(item, rest) for item in found]
    if isinstance(found, list):
        return at(found[int(part)], rest) if len(found) > int(part) else None
    return at(found.get(part), rest)


def tags_of(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Read a list of keys and values; what AWS itself writes (`aws:`) is not ours."""
    found = {tag["Key"]: tag.get("Value", "") for tag in tags}
    return {key: value for key, value in found.items() if not key.startswith("aws:")}


def _write_scalar(value: Any, type_name: str) -> Any:
    if type_name == "boolean":
        return value if isinstance(value, bool) else value == "true"
    if type_name in ("integer", "long"):
        return int(value)
    if type_name in ("float", "double"):
        return float(value)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _read_scalar(value: Any, kind: str) -> Any:
    if isinstance(value, list):
        return _read_scalar(value[0], kind) if value else None
    if isinstance(value, Mapping) and "Value" in value:
        return _read_scalar(value["Value"], kind)
    if kind == "boolean" or isinstance(value, bool):
        word = str(value).lower()
        return word if kind == "string" else word == "true"
    if kind in ("integer", "number"):
        return int(value) if float(value).is_integer() else float(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(value)
