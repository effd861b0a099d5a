"""A file whose sha256 is known is fetched; everything else is refused."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import tarfile
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import pytest

from muster.converge.digest import PLAYBOOKS

CONTENT = b"an installer"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ARTEFACT = {"name": "tool.tar.gz", "url": "https://example.org/tool.tar.gz", "sha256": SHA256}


@pytest.fixture(scope="module")
def module() -> ModuleType:
    path = PLAYBOOKS / "library" / "fetched_artefact.py"
    spec = importlib.util.spec_from_file_location("fetched_artefact_module", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sha256": ""}, "tool.tar.gz has no sha256, so it is not downloaded"),
        ({"sha256": SHA256[:-1]}, "has no sha256"),
        ({"url": "http://example.org/tool"}, "has no url that starts with https"),
        ({"name": "../tool"}, "no plain file name"),
        ({"name": ""}, "no plain file name"),
    ],
)
def test_an_artefact_that_cannot_be_checked_is_refused(
    module: ModuleType, change: dict[str, str], said: str
) -> None:
    with pytest.raises(module.RefusedError, match=said):
        module.checked(ARTEFACT | change)


def test_a_file_with_the_right_content_gets_its_name(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / SHA256 / "tool.tar.gz"
    module.fetch(ARTEFACT, path, lambda _: io.BytesIO(CONTENT))
    assert module.digest(path) == SHA256
    assert [p.name for p in path.parent.iterdir()] == ["tool.tar.gz"]


@pytest.mark.parametrize("content", [b"", CONTENT[:4], CONTENT + b"!"])
def test_half_or_altered_content_is_refused_and_removed(
    module: ModuleType, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "tool.tar.gz"
    with pytest.raises(module.RefusedError, match="expected " + SHA256):
        module.fetch(ARTEFACT, path, lambda _: io.BytesIO(content))
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_leaves_nothing(module: ModuleType, tmp_path: Path) -> None:
    def broken(_: str) -> BinaryIO:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        module.fetch(ARTEFACT, tmp_path / "tool.tar.gz", broken)
    assert list(tmp_path.iterdir()) == []


def test_an_archive_appears_whole(module: ModuleType, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("tool/install.sh")
        entry.size = len(CONTENT)
        archive.addfile(entry, io.BytesIO(CONTENT))
    module.unpack(tmp_path / "a.tar.gz", tmp_path / "tree")
    assert (tmp_path / "tree" / "tool" / "install.sh").read_bytes() == CONTENT


def test_an_archive_that_reaches_outside_is_refused(module: ModuleType, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"), io.BytesIO())
    with pytest.raises(tarfile.TarError):
        module.unpack(tmp_path / "a.tar.gz", tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
