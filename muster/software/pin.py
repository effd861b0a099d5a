"""Computing the checksums that a row lacks, from what can be downloaded here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from muster.errors import RemoteError
from muster.progress import Progress
from muster.software.model import MatrixRow
from muster.software.overlay import Overlay, Pinned

Fetch = Callable[[str], Iterable[bytes]]
"""Gives the bytes of an address; raises RemoteError where it has not all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outstanding:
    """A file without a checksum."""

    component: str
    name: str
    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pins:
    """What was computed, and what could not be had."""

    overlay: Overlay
    pinned: tuple[Outstanding, ...]
    unknown: tuple[tuple[Outstanding, str], ...]


def outstanding(row: MatrixRow) -> Iterator[Outstanding]:
    """Give the files whose version is known and whose checksum is not."""
    for component, found in row.components.items():
        for file in found.artefacts:
            if found.version and not file.sha256:
                filled = file.filled(found.version)
                yield Outstanding(component=component, name=filled.name, url=filled.url)


def pin(
    row: MatrixRow, before: Overlay | None, fetch: Fetch, today: date, progress: Progress
) -> Pins:
    """Download every file that lacks a checksum, and add what was computed to the overlay."""
    overlay = before or Overlay(row=row.name)
    sums, pinned, unknown = dict(overlay.sha256), [], []
    for wanted in outstanding(row):
        progress(f"{wanted.component}: {wanted.url}")
        try:
            sums[wanted.url] = Pinned(sha256=_sha256(fetch(wanted.url)), read=today)
        except RemoteError as error:
            unknown.append((wanted, error.what))
        else:
            pinned.append(wanted)
    return Pins(
        overlay=overlay.model_copy(update={"sha256": sums}),
        pinned=tuple(pinned),
        unknown=tuple(unknown),
    )


def _sha256(pieces: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for piece in pieces:
        total.update(piece)
    return total.hexdigest()
