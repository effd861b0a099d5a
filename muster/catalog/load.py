"""Reading the catalog's files: every value cites a listed source, or the catalog does not load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from muster.catalog.limits import Limit, Quantity, check_limits
from muster.catalog.model import Catalog, CatalogError, Fact, Gpu, InstanceType, Source

_NOTE = "note"
_HERE = Path(__file__).parent

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(slots=True)
class _Citations:
    """The listed sources, and which of them were cited so far."""

    sources: Mapping[str, Source]
    cited: set[str] = field(default_factory=set)

    def fact(self, value: Any, source: str, where: str) -> Fact:
        if source not in self.sources:
            what = f"cites source {source!r}, which sources.yaml does not list"
            raise CatalogError(what, where=where)
        self.cited.add(source)
        listed = self.sources[source]
        return Fact(value=value, source=source, as_of=listed.as_of, read=listed.read)

    def facts(self, entry: Mapping[str, Any], where: str) -> dict[str, Fact]:
        """Flatten {source: {field: value}}; one value may have one source only."""
        found: dict[str, Fact] = {}
        for source, values in entry.items():
            if source == _NOTE:
                continue
            for name, value in _mapping(values, f"{where}: {source}").items():
                if name in found:
                    what = f"{name} is stated by {found[name].source} and by {source}"
                    raise CatalogError(what, where=where, hint="Keep the better source.")
                found[name] = self.fact(value, source, where)
        return found

    def refuse_uncited(self) -> None:
        for name in sorted(set(self.sources) - self.cited):
            raise CatalogError(f"source {name!r} is cited by no value", where="sources.yaml")


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CatalogError(f"must be a mapping, not {type(value).__name__}", where=where)
    return cast("Mapping[str, Any]", value)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise CatalogError(str(error), where=path.name) from error
    return _mapping(data, path.name)


def _validate(model: type[_Model], data: Mapping[str, Any], where: str) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(str(part) for part in first["loc"])
        raise CatalogError(f"{at} {first['msg']}".strip(), where=where) from error


@cache
def load_catalog(directory: Path = _HERE) -> Catalog:
    """Read and check every file of the catalog.

    Raises:
        CatalogError: a value without a listed source, an impossible limit, a wrong type.

    """
    listed = _read(directory / "sources.yaml")
    sources = {k: _validate(Source, v, f"sources.yaml: {k}") for k, v in listed.items()}
    citations = _Citations(sources)
    gpus = _load_gpus(directory / "gpus.yaml", citations)
    types: dict[str, InstanceType] = {}
    for path in sorted((directory / "instance_types").glob("*.yaml")):
        for found in _load_types(path, gpus, citations):
            if found.name in types:
                raise CatalogError(f"{found.name} stands in two files", where=path.name)
            types[found.name] = found
    quantities, limits = _load_limits(directory / "limits.yaml", gpus, types, citations)
    citations.refuse_uncited()
    return Catalog(types=types, gpus=gpus, sources=sources, quantities=quantities, limits=limits)


def _load_gpus(path: Path, citations: _Citations) -> dict[str, Gpu]:
    gpus = {}
    for model, entry in _read(path).items():
        where = f"{path.name}: {model}"
        facts = citations.facts(_mapping(entry, where), where)
        values = {name: fact.value for name, fact in facts.items()}
        values |= {"model": model, "note": entry.get(_NOTE, ""), "facts": facts}
        gpus[model] = _validate(Gpu, values, where)
    return gpus


def _load_types(
    path: Path, gpus: Mapping[str, Gpu], citations: _Citations
) -> Iterator[InstanceType]:
    content = _read(path)
    defaults = citations.facts(_mapping(content.get("defaults", {}), path.name), path.name)
    for name, entry in _mapping(content.get("types"), path.name).items():
        where = f"{path.name}: {name}"
        facts = {**defaults, **citations.facts(_mapping(entry, where), where)}
        values = {key: fact.value for key, fact in facts.items()}
        values |= {"name": name, "target": content.get("target"), "note": entry.get(_NOTE, "")}
        if values.get("gpu_count"):
            gpu = _gpu_of(values, gpus, where)
            values["gpu_tdp_w"] = gpu.tdp_w
            facts |= {"gpu_tdp_w": gpu.facts["tdp_w"]} if gpu.tdp_w else {}
        yield _validate(InstanceType, {**values, "facts": facts}, where)


def _gpu_of(values: Mapping[str, Any], gpus: Mapping[str, Gpu], where: str) -> Gpu:
    model = str(values.get("gpu_model"))
    if model not in gpus:
        raise CatalogError(f"gpu_model {model!r} is not in gpus.yaml", where=where)
    return gpus[model]


def _load_limits(
    path: Path, gpus: Mapping[str, Gpu], types: Mapping[str, InstanceType], citations: _Citations
) -> tuple[dict[str, Quantity], tuple[Limit, ...]]:
    content = _read(path)
    named = _mapping(content.get("quantities"), path.name)
    quantities = {k: _validate(Quantity, v, f"{path.name}: {k}") for k, v in named.items()}
    limits = []
    for row, where in _limit_rows(_mapping(content.get("limits"), path.name), path.name):
        limit = _validate(Limit, row, where)
        fact = citations.fact(limit.value, limit.source, where)
        limits.append(limit if limit.as_of else limit.model_copy(update={"as_of": fact.as_of}))
    scopes = [f"gpu:{name}" for name in gpus] + [f"type:{name}" for name in types]
    scopes += [f"target:{found.target}" for found in types.values()]
    for mistake in check_limits(quantities, limits, scopes):
        raise CatalogError(mistake, where=path.name)
    return quantities, tuple(limits)


def _limit_rows(content: Mapping[str, Any], file: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Flatten {quantity: {scope: [row, …]}}; each row with its place in the file."""
    for quantity, scopes in content.items():
        for scope, rows in _mapping(scopes, f"{file}: {quantity}").items():
            where = f"{file}: {quantity}: {scope}"
            for row in rows or ():
                yield {**_mapping(row, where), "quantity": quantity, "scope": scope}, where
