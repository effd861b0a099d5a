"""What a project adds to a row of the matrix: stacks/software/<row>.yaml.

The row that muster ships is never written to. An overlay fills in what the row leaves empty and may
contradict nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from muster.catalog.citing import read_mapping, validate
from muster.catalog.model import CatalogError, Entry
from muster.errors import UsageError
from muster.files import write_atomic
from muster.software.model import Artefact, Component, MatrixRow, Os, Package
from muster.spec_errors import did_you_mean

_HEAD = """\
# What this project adds to a row of the version matrix: checksums by address, as computed by
# `muster software pin`, and versions and packages that you state yourself. Commit it, so that every
# node of this project gets the same files.
---
"""


class Pinned(Entry):
    """A checksum that was computed from a download."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    read: date


class Added(Entry):
    """What a person states of a component."""

    version: str = ""
    versions: Mapping[Os, str] = Field(default_factory=dict)
    packages: Mapping[Os, tuple[Package, ...]] = Field(default_factory=dict)
    kernels: Mapping[Os, tuple[str, ...]] = Field(default_factory=dict)
    built_for: str = ""
    because: str = Field(min_length=1)
    """Where it is from."""


class Overlay(Entry):
    """The file."""

    row: str
    sha256: Mapping[str, Pinned] = Field(default_factory=dict)
    """By address."""
    components: Mapping[str, Added] = Field(default_factory=dict)


def overlay_path(directory: Path, row: str) -> Path:
    """Return where the overlay of a row is."""
    return directory / f"{row}.yaml"


def load_overlay(directory: Path, row: str) -> Overlay | None:
    """Read the overlay of a row; None where there is none.

    Raises:
        CatalogError: it cannot be read, or is for another row.

    """
    path = overlay_path(directory, row)
    if not path.is_file():
        return None
    found = validate(Overlay, read_mapping(path), str(path))
    if found.row != row:
        raise CatalogError(f"is for row {found.row!r}", where=str(path))
    return found


def write_overlay(directory: Path, overlay: Overlay) -> Path:
    """Write an overlay, and return where."""
    path = overlay_path(directory, overlay.row)
    content = overlay.model_dump(mode="json", exclude_defaults=True)
    write_atomic(path, _HEAD + yaml.safe_dump(content, sort_keys=True, width=100))
    return path


def laid_over(row: MatrixRow, overlay: Overlay) -> MatrixRow:
    """Fill in what the row leaves empty.

    Raises:
        UsageError: the overlay contradicts the row, or names what is not in it.

    """
    for name in overlay.components:
        if name not in row.components:
            hint = did_you_mean(name, tuple(row.components))
            raise UsageError(f"no component {name!r} in row {row.name}", where="overlay", hint=hint)
    components = {
        name: _pinned(_added(name, found, overlay.components.get(name)), overlay)
        for name, found in row.components.items()
    }
    return MatrixRow.model_validate(row.model_copy(update={"components": components}).model_dump())


def _added(name: str, found: Component, added: Added | None) -> Component:
    if added is None:
        return found
    update: dict[str, object] = {}
    for field in ("version", "built_for"):
        ours, theirs = getattr(found, field), getattr(added, field)
        if ours and theirs and ours != theirs:
            raise _contradicts(name, f"{field} {theirs}, but the row says {ours}")
        update[field] = ours or theirs
    for field in ("versions", "packages", "kernels"):
        ours, theirs = getattr(found, field), getattr(added, field)
        for os in sorted(set(ours) & set(theirs)):
            same = ours[os] == theirs[os]
            if not same and not (field == "packages" and _fills_in(ours[os], theirs[os])):
                raise _contradicts(name, f"{field} of {os} differ from the row's")
        update[field] = {**ours, **theirs}
    return found.model_copy(update=update)


def _contradicts(name: str, what: str) -> UsageError:
    return UsageError(
        what, where=f"overlay: {name}", hint="An overlay only fills in what is empty."
    )


def _fills_in(ours: Sequence[Package], theirs: Sequence[Package]) -> bool:
    """Are these the row's packages, with versions where it has none?"""
    return len(ours) == len(theirs) and all(
        mine.name == given.name and mine.version in {"", given.version}
        for mine, given in zip(ours, theirs, strict=True)
    )


def _pinned(found: Component, overlay: Overlay) -> Component:
    return found.model_copy(
        update={"artefacts": tuple(_with_sums(found, file, overlay) for file in found.artefacts)}
    )


def _with_sums(component: Component, file: Artefact, overlay: Overlay) -> Artefact:
    """Give a file the checksum that was pinned for its address."""
    pinned = overlay.sha256.get(file.filled(component.version).url)
    if pinned is None:
        return file
    if file.sha256 and file.sha256 != pinned.sha256:
        what = f"the pinned sha256 of {file.name} differs from the row's"
        raise UsageError(what, where="overlay", hint="Remove it, and find out which is right.")
    source = f"pinned {pinned.read}"
    return file.model_copy(update={"sha256": pinned.sha256, "sha256_source": source})
