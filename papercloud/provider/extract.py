"""Read the types of the installed pulumi_aws: names, nested types, what is required, outputs."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pulumi_aws
from pulumi import Output, _types

_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number"}


def extract(resources: Iterable[str], functions: Iterable[str]) -> dict[str, Any]:
    """Describe the resource types and functions as plain JSON values."""
    objects: dict[str, Any] = {}
    return {
        "resources": {token: _resource(token, objects) for token in sorted(resources)},
        "functions": {token: _function(token, objects) for token in sorted(functions)},
        "objects": objects,
    }


@functools.cache
def _classes() -> Mapping[str, tuple[str, str]]:
    """Map a resource token to its module and class, from the SDK's own register."""
    text = Path(pulumi_aws.__file__).read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg == "resource_modules":
            modules = json.loads(ast.literal_eval(node.value))
            return {
                token: (module["fqn"], name)
                for module in modules
                for token, name in module["classes"].items()
            }
    raise LookupError(f"{pulumi_aws.__file__} has no register of resource modules")


def _resource(token: str, objects: dict[str, Any]) -> dict[str, Any]:
    module_name, class_name = _classes()[token]
    module = importlib.import_module(module_name)
    cls = getattr(module, class_name)
    args = _args_class(cls, class_name)
    outputs = {name: _type(kind, objects) for name, kind in _types.resource_types(cls).items()}
    return {**_inputs(args, objects), "outputs": outputs}


def _args_class(cls: type, class_name: str) -> type:
    """The SDK says `InitArgs` where a nested type has the plain name."""
    own = vars(inspect.getmodule(cls))
    found: type = own.get(f"{class_name}InitArgs") or own[f"{class_name}Args"]
    return found


def _inputs(args: type, objects: dict[str, Any]) -> dict[str, Any]:
    wire = _types.input_type_py_to_pulumi_names(args)
    kinds = _types.input_type_types(args)
    required = [
        wire[name]
        for name, parameter in inspect.signature(args).parameters.items()
        if parameter.default is inspect.Parameter.empty and name in wire
    ]
    properties = {name: _type(kind, objects) for name, kind in kinds.items()}
    return {"inputs": properties, "required": sorted(required)}


def _function(token: str, objects: dict[str, Any]) -> dict[str, Any]:
    """A function's inputs come from its signature, its outputs from the result class."""
    module = _function_module(token)
    python_name = module.__name__.rsplit(".", 1)[-1]
    call = getattr(module, python_name)
    hints = get_type_hints(call)
    parameters = [p for p in inspect.signature(call).parameters.values() if p.name != "opts"]
    wire = _wire_names(inspect.getsource(call))
    result = next(
        cls
        for name, cls in vars(module).items()
        if name.startswith("Get") and name.endswith("Result")
    )
    return {
        "inputs": {wire[p.name]: _type(hints[p.name], objects) for p in parameters},
        "required": sorted(
            wire[p.name] for p in parameters if p.default is inspect.Parameter.empty
        ),
        "outputs": {
            name: _type(kind, objects) for name, kind in _types.output_type_types(result).items()
        },
    }


def _function_module(token: str) -> ModuleType:
    package, name = re.fullmatch(r"aws:(\w+)/(\w+):\w+", token).groups()  # type: ignore[union-attr]  # a token of the table
    python_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    parent = "pulumi_aws" if package == "index" else f"pulumi_aws.{package}"
    return importlib.import_module(f"{parent}.{python_name}")


def _wire_names(source: str) -> dict[str, str]:
    """Read `__args__['allowUnsafeFilter'] = allow_unsafe_filter` lines."""
    return {py: wire for wire, py in re.findall(r"__args__\['(\w+)'\] = (\w+)", source)}


def _type(kind: Any, objects: dict[str, Any]) -> Any:
    kind = _unwrap(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin = get_origin(kind)
    if origin is not None and issubclass(origin, Mapping):
        return {"map": _type(get_args(kind)[1], objects)}
    if origin is not None and issubclass(origin, Sequence):
        return {"array": _type(get_args(kind)[0], objects)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "string"
    if isinstance(kind, type) and (_types.is_input_type(kind) or _types.is_output_type(kind)):
        return {"object": _object(kind, objects)}
    return "any"


def _unwrap(kind: Any) -> Any:
    """Take `Input`, `Optional` and "enum or string" off a type."""
    while get_origin(kind) in (Union, UnionType):
        arms = [arm for arm in get_args(kind) if not _is_wrapper(arm)]
        named = [arm for arm in arms if not (isinstance(arm, type) and issubclass(arm, Enum))]
        plain = [arm for arm in named if not _is_typed_dict(arm)]
        kind = (plain or arms)[0]
    return kind


def _is_wrapper(arm: Any) -> bool:
    origin = get_origin(arm)
    wraps = origin is Output or getattr(origin, "__name__", "") == "Awaitable"
    return arm is type(None) or wraps


def _is_typed_dict(arm: Any) -> bool:
    return isinstance(arm, type) and issubclass(arm, dict)


def _object(cls: type, objects: dict[str, Any]) -> str:
    name = f"{cls.__module__.removeprefix('pulumi_aws.')}.{cls.__name__}"
    if name in objects:
        return name
    objects[name] = {}  # a type may contain itself
    if _types.is_input_type(cls):
        shape = _inputs(cls, objects)
        objects[name] = {"properties": shape["inputs"], "required": shape["required"]}
    else:
        kinds = _types.output_type_types(cls)
        properties = {key: _type(kind, objects) for key, kind in kinds.items()}
        objects[name] = {"properties": properties, "required": []}
    return name
