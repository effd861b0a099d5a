"""What the installed AWS SDK says a resource type takes and gives; and checks against it.

Reading the SDK takes seconds, so the result is kept as JSON in the user's cache directory, one
file for each version of the SDK and of what reads it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from papercloud.provider.tokens import FUNCTIONS, RESOURCES

UNKNOWN_VALUE: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine writes a value that is not known yet."""
SIGNATURE_KEY: Final = "4dabf18193072939515e22adb298388d"
"""Marks a secret or an output on the wire."""
_CLASSES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (),
}


class Schema:
    """The types of the resources and functions that the paper cloud models."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def inputs(self, token: str) -> Mapping[str, Any]:
        """Return the input properties of a resource or function, by their name on the wire."""
        found: Mapping[str, Any] = self._entry(token)["inputs"]
        return found

    def outputs(self, token: str) -> Mapping[str, Any]:
        """Return the output properties of a resource or function."""
        found: Mapping[str, Any] = self._entry(token)["outputs"]
        return found

    def required(self, token: str) -> Sequence[str]:
        """Return the inputs that must be given."""
        found: Sequence[str] = self._entry(token)["required"]
        return found

    def properties(self, kind: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the properties of a nested type."""
        found: Mapping[str, Any] = self._document["objects"][kind["object"]]["properties"]
        return found

    def mistakes(self, token: str, inputs: Mapping[str, Any]) -> list[str]:
        """Name each input that the SDK would not take: unknown, missing or of another type."""
        if not self.models(token):
            return [f"{token}: the paper cloud does not model this type"]
        properties, required = self.inputs(token), self.required(token)
        return [
            f"{token}: {line}" for line in self._in_object(inputs, properties, required, path="")
        ]

    def models(self, token: str) -> bool:
        """Whether the type or function is one of those that the paper cloud knows."""
        return token in self._document["resources"] or token in self._document["functions"]

    def _entry(self, token: str) -> Mapping[str, Any]:
        kinds = self._document["functions" if token in FUNCTIONS else "resources"]
        found: Mapping[str, Any] = kinds[token]
        return found

    def _in_object(
        self,
        value: Mapping[str, Any],
        properties: Mapping[str, Any],
        required: Sequence[str],
        *,
        path: str,
    ) -> list[str]:
        lines = [
            f"property {path}{key} is required" for key in required if _bare(value.get(key)) is None
        ]
        for key, item in value.items():
            if key in properties:
                lines += self._in_value(item, properties[key], path=f"{path}{key}")
            elif key != "__defaults":
                lines.append(f"property {path}{key} is an unknown property{_near(key, properties)}")
        return lines

    def _in_value(self, value: Any, kind: Any, *, path: str) -> list[str]:
        value = _bare(value)
        if value is None or value == UNKNOWN_VALUE or kind == "any":
            return []
        if isinstance(kind, str):
            return [] if _is_a(value, kind) else [f"property {path} is not of type {kind}"]
        items = _items(value, kind, path)
        if items is None:
            return [f"property {path} is not a {'list' if 'array' in kind else 'mapping'}"]
        if "object" in kind:
            shape = self._document["objects"][kind["object"]]
            return self._in_object(value, shape["properties"], shape["required"], path=f"{path}.")
        of = kind.get("array") or kind["map"]
        return [line for at, item in items for line in self._in_value(item, of, path=at)]


def _items(value: Any, kind: Mapping[str, Any], path: str) -> list[tuple[str, Any]] | None:
    """Pair each item of a list or mapping with its path; None where it is not what it should be."""
    if "array" in kind:
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        return [(f"{path}[{i}]", item) for i, item in enumerate(value)] if is_list else None
    if not isinstance(value, Mapping):
        return None
    return [(f"{path}.{key}", item) for key, item in value.items()]


def _bare(value: Any) -> Any:
    """Take the wrapper off a secret or an output; one that is not known is the unknown value."""
    if isinstance(value, Mapping) and SIGNATURE_KEY in value:
        return _bare(value.get("value", UNKNOWN_VALUE))
    return value


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, (int, float)) and float(value).is_integer()
    return isinstance(value, _CLASSES[kind])


def _near(key: str, properties: Mapping[str, Any]) -> str:
    import difflib  # noqa: PLC0415  # only a mistake needs it; the plugin starts often

    near = difflib.get_close_matches(key, properties, n=1)
    return f"; did you mean {near[0]}?" if near else ""


@functools.cache
def load() -> Schema:
    """Return the schema of the installed SDK, read once for each version of it."""
    kept = _cache_file()
    try:
        return Schema(json.loads(kept.read_text()))
    except FileNotFoundError:
        document = _read_sdk()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as draft:
        json.dump(document, draft)
    Path(draft.name).replace(kept)
    return Schema(document)


def sdk_version() -> str:
    """Return the version of the installed pulumi_aws."""
    return metadata.version("pulumi_aws")


def check_inputs(token: str, inputs: Mapping[str, Any]) -> list[str]:
    """Name the mistakes in the inputs of a resource, as a program's mocks recorded them."""
    return load().mistakes(token, inputs)


def _read_sdk() -> dict[str, Any]:
    from papercloud.provider.extract import extract  # noqa: PLC0415  # imports the whole SDK

    return extract(RESOURCES, FUNCTIONS)


def _cache_file() -> Path:
    here = Path(__file__).parent
    reader = b"".join((here / name).read_bytes() for name in ("extract.py", "tokens.py"))
    digest = hashlib.sha256(reader).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "muster" / "papercloud" / f"aws-{sdk_version()}-{digest}.json"
