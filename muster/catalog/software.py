"""Reading the version matrix: its rows, the rules between components, and what GPUs need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from muster.catalog.citing import Citations, read_mapping, read_sources, validate
from muster.catalog.model import CatalogError
from muster.errors import UsageError
from muster.software.model import MatrixRow
from muster.software.needs import HardwareFacts
from muster.software.overlay import laid_over, load_overlay
from muster.software.rules import RuleBook
from muster.spec_errors import did_you_mean

_CATALOG = Path(__file__).parent
_DIRECTORY = "software"
_ROW = re.compile(r"\d{4}\.\d{2}")


@cache
def row_names(catalog: Path = _CATALOG) -> tuple[str, ...]:
    """Return the names of the rows, the oldest first."""
    stems = (path.stem for path in (catalog / _DIRECTORY).glob("*.yaml"))
    return tuple(sorted(stem for stem in stems if _ROW.fullmatch(stem)))


def load_row(name: str, *, overlays: Path | None = None, catalog: Path = _CATALOG) -> MatrixRow:
    """Read and check a row, with what the project's own file beside the stacks adds to it.

    Raises:
        UsageError: there is no such row.
        CatalogError: a wrong value, one without a listed source, or an overlay that contradicts.

    """
    if name not in row_names(catalog):
        raise UsageError(
            f"no row {name!r} in the version matrix", hint=did_you_mean(name, row_names(catalog))
        )
    row = _load_shipped(name, catalog)
    overlay = load_overlay(overlays, name) if overlays else None
    return laid_over(row, overlay) if overlay else row


@cache
def _load_shipped(name: str, catalog: Path) -> MatrixRow:
    row = load_row_file(catalog / _DIRECTORY / f"{name}.yaml", catalog)
    if row.name != name:
        raise CatalogError(f"names itself {row.name!r}", where=f"{name}.yaml")
    if row.fictitious:
        raise CatalogError("is fictitious", where=f"{name}.yaml")
    for component, found in row.components.items():
        for artefact in found.artefacts:
            if artefact.sha256 and not artefact.sha256_source:
                what = f"{component}: the sha256 of {artefact.name} has no source"
                raise CatalogError(what, where=f"{name}.yaml")
    return row


def load_row_file(path: Path, catalog: Path = _CATALOG) -> MatrixRow:
    """Read and check a row from a file of one's own, as tests have.

    Raises:
        CatalogError: a wrong value, or one without a listed source.

    """
    row = validate(MatrixRow, read_mapping(path), path.name)
    _check_sources(_cited(row), path.name, catalog)
    return row


@cache
def load_rules(catalog: Path = _CATALOG) -> RuleBook:
    """Read and check the rules.

    Raises:
        CatalogError: a wrong rule, or one without a listed source.

    """
    path = catalog / _DIRECTORY / "rules.yaml"
    book = validate(RuleBook, read_mapping(path), path.name)
    _check_sources(((rule.source, rule.name) for rule in book.rules), path.name, catalog)
    return book


@cache
def load_hardware(catalog: Path = _CATALOG) -> HardwareFacts:
    """Read and check what decides about the driver of a GPU.

    Raises:
        CatalogError: a wrong value, or one without a listed source.

    """
    path = catalog / _DIRECTORY / "hardware.yaml"
    facts = validate(HardwareFacts, read_mapping(path), path.name)
    cited = [(found.source, name) for name, found in facts.gpus.items()]
    cited += [(found.source, name) for name, found in facts.nvlink.items()]
    _check_sources([*cited, (facts.open_module_source, "open_module")], path.name, catalog)
    return facts


def _cited(row: MatrixRow) -> Iterator[tuple[str, str]]:
    for name, found in row.components.items():
        yield found.source, name
        if found.kernels_source:
            yield found.kernels_source, f"{name}: kernels"
        for artefact in found.artefacts:
            if artefact.sha256_source:
                yield artefact.sha256_source, f"{name}: {artefact.name}"


def _check_sources(
    cited: Iterator[tuple[str, str]] | list[tuple[str, str]], file: str, catalog: Path
) -> None:
    citations = Citations(read_sources(catalog))
    for source, place in cited:
        citations.fact(place, source, f"{file}: {place}")
