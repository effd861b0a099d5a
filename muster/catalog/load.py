"""Reading the catalog's files: every value cites a listed source, or the catalog does not load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from muster.catalog.citing import (
    NOTE,
    SOURCES,
    Citations,
    mapping,
    read_mapping,
    read_sources,
    validate,
)
from muster.catalog.limits import Limit, Quantity, check_limits
from muster.catalog.model import Catalog, CatalogError, Gpu, InstanceType
from muster.catalog.prices_file import load_region_prices

_HERE = Path(__file__).parent
_OWN = {SOURCES, "gpus.yaml", "limits.yaml"}


def load_catalog(directory: Path = _HERE, prices: Path | None = None) -> Catalog:
    """Read and check the catalog, and the prices that were read from AWS for this project.

    `prices` is the folder with a file for each region; with none, the catalog's own prices hold.

    Raises:
        CatalogError: a value without a listed source, an impossible limit, a wrong type.

    """
    catalog, regions = _load_shipped(directory), load_region_prices(prices)
    if not regions:
        return catalog
    found = {key: source for region in regions for key, source in region.sources.items()}
    return replace(catalog, sources={**catalog.sources, **found}, region_prices=regions)


@cache
def _load_shipped(directory: Path) -> Catalog:
    """Read and check the sources, accelerators, types and limits.

    Every other file of the folder has its own loader, which checks its values and that their
    sources are listed; here only the sources under its keys `source` count as cited.

    Raises:
        CatalogError: a value without a listed source, an impossible limit, a wrong type.

    """
    sources = read_sources(directory)
    citations = Citations(sources)
    gpus = _load_gpus(directory / "gpus.yaml", citations)
    types: dict[str, InstanceType] = {}
    for path in sorted((directory / "instance_types").glob("*.yaml")):
        for found in _load_types(path, gpus, citations):
            if found.name in types:
                raise CatalogError(f"{found.name} stands in two files", where=path.name)
            types[found.name] = found
    quantities, limits = _load_limits(directory / "limits.yaml", gpus, types, citations)
    for path in (*directory.glob("*.yaml"), *(directory / "software").glob("*.yaml")):
        if path.name not in _OWN:
            citations.count(read_mapping(path))
    citations.refuse_uncited()
    return Catalog(types=types, gpus=gpus, sources=sources, quantities=quantities, limits=limits)


def _load_gpus(path: Path, citations: Citations) -> dict[str, Gpu]:
    gpus = {}
    for model, entry in read_mapping(path).items():
        where = f"{path.name}: {model}"
        facts = citations.facts(mapping(entry, where), where)
        values = {name: fact.value for name, fact in facts.items()}
        values |= {"model": model, "note": entry.get(NOTE, ""), "facts": facts}
        gpus[model] = validate(Gpu, values, where)
    return gpus


def _load_types(
    path: Path, gpus: Mapping[str, Gpu], citations: Citations
) -> Iterator[InstanceType]:
    content = read_mapping(path)
    defaults = citations.facts(mapping(content.get("defaults", {}), path.name), path.name)
    for name, entry in mapping(content.get("types"), path.name).items():
        where = f"{path.name}: {name}"
        facts = {**defaults, **citations.facts(mapping(entry, where), where)}
        values = {key: fact.value for key, fact in facts.items()}
        values |= {"name": name, "target": content.get("target"), "note": entry.get(NOTE, "")}
        if values.get("gpu_count"):
            gpu = _gpu_of(values, gpus, where)
            values["gpu_tdp_w"] = gpu.tdp_w
            facts |= {"gpu_tdp_w": gpu.facts["tdp_w"]} if gpu.tdp_w else {}
        yield validate(InstanceType, {**values, "facts": facts}, where)


def _gpu_of(values: Mapping[str, Any], gpus: Mapping[str, Gpu], where: str) -> Gpu:
    model = str(values.get("gpu_model"))
    if model not in gpus:
        raise CatalogError(f"gpu_model {model!r} is not in gpus.yaml", where=where)
    return gpus[model]


def _load_limits(
    path: Path, gpus: Mapping[str, Gpu], types: Mapping[str, InstanceType], citations: Citations
) -> tuple[dict[str, Quantity], tuple[Limit, ...]]:
    content = read_mapping(path)
    named = mapping(content.get("quantities"), path.name)
    quantities = {k: validate(Quantity, v, f"{path.name}: {k}") for k, v in named.items()}
    limits = []
    for row, where in _limit_rows(mapping(content.get("limits"), path.name), path.name):
        limit = validate(Limit, row, where)
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
        for scope, rows in mapping(scopes, f"{file}: {quantity}").items():
            where = f"{file}: {quantity}: {scope}"
            for row in rows or ():
                yield {**mapping(row, where), "quantity": quantity, "scope": scope}, where
