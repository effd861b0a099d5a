"""Reading files of facts, and counting which sources they cite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError

from muster.catalog.model import CatalogError, Fact, Source

NOTE = "note"
SOURCES = "sources.yaml"

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(slots=True)
class Citations:
    """The listed sources, and which of them were cited so far."""

    sources: Mapping[str, Source]
    cited: set[str] = field(default_factory=set)

    def fact(self, value: Any, source: str, where: str) -> Fact:
        """Tie a value to its source.

        Raises:
            CatalogError: no such source is listed.

        """
        if source not in self.sources:
            what = f"cites source {source!r}, which {SOURCES} does not list"
            raise CatalogError(what, where=where)
        self.cited.add(source)
        listed = self.sources[source]
        return Fact(value=value, source=source, as_of=listed.as_of, read=listed.read)

    def facts(self, entry: Mapping[str, Any], where: str) -> dict[str, Fact]:
        """Flatten {source: {field: value}}; one value may have one source only."""
        found: dict[str, Fact] = {}
        for source, values in entry.items():
            if source == NOTE:
                continue
            for name, value in mapping(values, f"{where}: {source}").items():
                if name in found:
                    what = f"{name} is stated by {found[name].source} and by {source}"
                    raise CatalogError(what, where=where, hint="Keep the better source.")
                found[name] = self.fact(value, source, where)
        return found

    def count(self, content: Any) -> None:
        """Take as cited what a key `source` or `…_source` names in a file with its own loader."""
        self.cited.update(_named_sources(content))

    def refuse_uncited(self) -> None:
        """Raise CatalogError for a source that no value cites."""
        for name in sorted(set(self.sources) - self.cited):
            raise CatalogError(f"source {name!r} is cited by no value", where=SOURCES)


def _named_sources(content: Any) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            if isinstance(value, str) and (key == "source" or str(key).endswith("_source")):
                yield value
            yield from _named_sources(value)
    elif isinstance(content, list):
        for value in content:
            yield from _named_sources(value)


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """Return the value as the mapping that it must be.

    Raises:
        CatalogError: it is something else.

    """
    if not isinstance(value, dict):
        raise CatalogError(f"must be a mapping, not {type(value).__name__}", where=where)
    return cast("Mapping[str, Any]", value)


def read_mapping(path: Path) -> Mapping[str, Any]:
    """Read a YAML file.

    Raises:
        CatalogError: it cannot be read or is no mapping.

    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError) as error:
        raise CatalogError(str(error), where=path.name) from error
    return mapping(data, path.name)


def validate(model: type[_Model], data: Mapping[str, Any], where: str) -> _Model:
    """Check data against its model.

    Raises:
        CatalogError: it names the first mistake.

    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(str(part) for part in first["loc"])
        raise CatalogError(f"{at} {first['msg']}".strip(), where=where) from error


def load_cited(
    model: type[_Model], path: Path, cited: Callable[[_Model], Iterable[tuple[str, str]]]
) -> _Model:
    """Read a file with its own model; `cited` yields each source that it names, and the place.

    Raises:
        CatalogError: a wrong value, or one of no listed source.

    """
    found = validate(model, read_mapping(path), path.name)
    citations = Citations(read_sources(path.parent))
    for source, place in cited(found):
        citations.fact(place, source, f"{path.name}: {place}" if place else path.name)
    return found


def read_sources(directory: Path) -> dict[str, Source]:
    """Read the list of sources that every file of the catalog cites from."""
    listed = read_mapping(directory / SOURCES)
    return {key: validate(Source, value, f"{SOURCES}: {key}") for key, value in listed.items()}
