"""Checksums are of whole files only, are kept beside the stacks, and never overrule a row."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.catalog.model import CatalogError
from muster.clock import SystemClock
from muster.errors import RemoteError, UsageError
from muster.software.download import ATTEMPTS, Downloads
from muster.software.model import MatrixRow
from muster.software.overlay import Overlay, laid_over, load_overlay, write_overlay
from muster.software.pin import Pins, outstanding, pin
from tests.unit.software.rows import SHA, row

DAY = date(2026, 11, 21)
CONTENT = b"installer" * 1000
SUM = hashlib.sha256(CONTENT).hexdigest()
URL = "https://example.org/efa-9.tar.gz"


class NoWaiting(SystemClock):
    """Counts pauses and makes none."""

    def __init__(self) -> None:
        self.pauses = 0

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.pauses += 1


class Files(BaseHTTPRequestHandler):
    """Serves one whole file, one cut short, one that comes at the third try, and errors."""

    asked: dict[str, int]

    def do_GET(self) -> None:
        times = self.asked[self.path] = self.asked.get(self.path, 0) + 1
        if self.path == "/gone":
            self.send_error(404)
            return
        if self.path == "/busy" or (self.path == "/shaky" and times < ATTEMPTS):
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if self.path == "/half" else CONTENT)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server() -> Iterator[tuple[str, dict[str, int]]]:
    asked: dict[str, int] = {}
    handler = type("Handler", (Files,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}", asked
        running.shutdown()
        thread.join()


def efa(**more: Any) -> MatrixRow:
    artefact = {"name": "efa-{version}.tar.gz", "url": "https://example.org/efa-{version}.tar.gz"}
    part = {"role": "efa", "version": "9", "source": "muster-choice"}
    return row(efa={**part, "artefacts": [{**artefact, **more}]})


def pinned(matrix: MatrixRow, content: bytes | None = CONTENT) -> Pins:
    def fetch(url: str) -> Iterator[bytes]:
        if content is None:
            raise RemoteError("cannot be reached", where=url)
        yield content

    return pin(matrix, None, fetch, DAY, lambda _line: None)


def test_a_file_is_read_to_its_end(server: tuple[str, dict[str, int]]) -> None:
    assert b"".join(Downloads(NoWaiting())(f"{server[0]}/whole")) == CONTENT


def test_half_a_file_is_an_error_and_never_a_checksum(server: tuple[str, dict[str, int]]) -> None:
    with pytest.raises(RemoteError, match=r"broke"):
        list(Downloads(NoWaiting())(f"{server[0]}/half"))


@pytest.mark.parametrize(
    ("path", "tries", "works"), [("/gone", 1, False), ("/busy", 3, False), ("/shaky", 3, True)]
)
def test_a_server_in_trouble_is_asked_again_and_a_missing_file_is_not(
    server: tuple[str, dict[str, int]], path: str, tries: int, *, works: bool
) -> None:
    url, asked = server
    clock = NoWaiting()
    if works:
        assert b"".join(Downloads(clock)(url + path)) == CONTENT
    else:
        with pytest.raises(RemoteError, match="the server answers"):
            list(Downloads(clock)(url + path))
    assert (asked[path], clock.pauses) == (tries, tries - 1)


def test_pinning_fills_in_what_was_missing_and_only_that(tmp_path: Path) -> None:
    matrix = efa()
    assert [one.url for one in outstanding(matrix)] == [URL]
    assert matrix.components["efa"].missing("debian-13", "x86_64") == ("no sha256 of efa-9.tar.gz",)
    pins = pinned(matrix)
    write_overlay(tmp_path, pins.overlay)
    again = load_overlay(tmp_path, "test")
    assert again == pins.overlay
    filled = laid_over(matrix, pins.overlay)
    assert list(outstanding(filled)) == []
    file = filled.components["efa"].artefact("debian-13", "x86_64")
    assert file is not None
    assert (file.sha256, file.sha256_source) == (SUM, "pinned 2026-11-21")
    assert filled.components["efa"].missing("debian-13", "x86_64") == ()


def test_what_cannot_be_reached_stays_unknown() -> None:
    pins = pinned(efa(), None)
    assert pins.pinned == ()
    assert [(wanted.url, why) for wanted, why in pins.unknown] == [(URL, "cannot be reached")]
    assert pins.overlay.sha256 == {}


def test_a_pin_that_differs_from_the_rows_own_checksum_is_refused() -> None:
    with pytest.raises(UsageError, match="differs from the row's"):
        laid_over(efa(sha256=SHA, sha256_source="x"), pinned(efa()).overlay)


def test_a_file_for_another_row_or_with_a_mistake_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("row: b\n")
    with pytest.raises(CatalogError, match="is for row 'b'"):
        load_overlay(tmp_path, "a")
    (tmp_path / "a.yaml").write_text("row: a\nsha265: {}\n")
    with pytest.raises(CatalogError, match="sha265"):
        load_overlay(tmp_path, "a")
    assert load_overlay(tmp_path, "c") is None


def overlay(**added: Any) -> Overlay:
    components = {name: {**value, "because": "read by hand"} for name, value in added.items()}
    return Overlay.model_validate({"row": "test", "components": components})


def test_a_person_may_state_what_the_row_leaves_empty() -> None:
    nameless = {"name": "rocm-hip", "version": ""}
    empty = {"role": "rocm", "source": "muster-choice", "packages": {"debian-13": [nameless]}}
    stated = {"version": "7", "packages": {"debian-13": [{**nameless, "version": "7-1"}]}}
    filled = laid_over(row(rocm=empty), overlay(rocm=stated))
    assert filled.components["rocm"].missing("debian-13", "x86_64") == ()


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"efa": {"version": "10"}}, "version 10, but the row says 1.2.3"),
        ({"efa": {"packages": {"al2023": [{"name": "other", "version": "1"}]}}}, "packages of al2"),
        (
            {"efa": {"packages": {"al2023": [{"name": "efa-pkg", "version": "9"}]}}},
            "packages of al2023 differ",
        ),
        ({"efaa": {"version": "10"}}, "no component 'efaa' in row test. Did you mean efa?"),
    ],
)
def test_a_person_may_not_contradict_the_row(added: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        laid_over(row(), overlay(**added))


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_checksum_does_not_depend_on_the_pieces(content: bytes, size: int) -> None:
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    pins = pin(efa(), None, lambda _url: pieces, DAY, lambda _line: None)
    assert pins.overlay.sha256[URL].sha256 == hashlib.sha256(content).hexdigest()
