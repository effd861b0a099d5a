"""The engine's preview is read whatever its exit status, and is an error where it prints none."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.engine import Engine
from muster.errors import MusterError


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine whose pulumi is a script beside it."""
    monkeypatch.setattr(Engine, "_argv", lambda _engine, *words: [str(tmp_path / "pulumi"), *words])
    return Engine(tmp_path)


def prints(tmp_path: Path, script: str) -> None:
    path = tmp_path / "pulumi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_preview_of_a_program_that_fails_is_read_with_what_it_says(
    tmp_path: Path, engine: Engine
) -> None:
    prints(tmp_path, """echo '{"diagnostics": [{"severity": "error"}]}'; exit 255""")
    assert engine.preview_document("prod") == {"diagnostics": [{"severity": "error"}]}


def test_what_is_printed_instead_of_a_preview_is_told_in_one_line(
    tmp_path: Path, engine: Engine
) -> None:
    prints(tmp_path, "echo 'error: no such\nbackend' >&2; exit 255")
    with pytest.raises(MusterError, match="printed no preview: error: no such backend"):
        engine.preview_document("prod")


def test_an_engine_is_present_where_its_program_can_be_run(tmp_path: Path, engine: Engine) -> None:
    assert not engine.is_present()
    prints(tmp_path, "true")
    assert engine.is_present()
