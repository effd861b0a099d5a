"""A build that is killed leaves nothing that looks finished, and the next one finishes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muster.lab import image
from muster.lab.paths import lab_root
from muster.progress import silent

pytestmark = pytest.mark.lab

_CHILD = "from muster.lab import image; image.ensure_image(print)"


def _builders(root: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{root}/img/tmp." in text:
            found.append(text)
    return found


def _kill_when(root: Path, pattern: str) -> None:
    """Start a build, and kill it a moment after a path appears."""
    env = {**os.environ, "MUSTER_LAB_ROOT": str(root)}
    argv = [sys.executable, "-c", _CHILD]
    with subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL) as child:
        deadline_s = time.monotonic() + 60
        while not list(root.glob(pattern)):
            assert time.monotonic() < deadline_s
            assert child.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        child.kill()
    deadline_s = time.monotonic() + 10
    while _builders(root):
        assert time.monotonic() < deadline_s, _builders(root)
        time.sleep(0.1)


def test_a_killed_build_takes_its_programs_along_and_the_next_one_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image.ensure_image(silent)
    base = f"base-{image.base_digest()}"
    images = tmp_path / "img"
    images.mkdir()
    _kill_when(tmp_path, f"img/tmp.{base}/var")
    assert [p.name for p in images.glob("base-*")] == []
    # The Debian tree of the real root spares this test the download.
    (images / base).symlink_to(lab_root() / "img" / base)
    _kill_when(tmp_path, f"img/tmp.{image.recipe_digest()}/root/usr")
    assert not (images / image.recipe_digest()).exists()
    monkeypatch.setenv("MUSTER_LAB_ROOT", str(tmp_path))
    lines: list[str] = []
    made = image.ensure_image(lines.append)
    assert list(images.glob("tmp.*")) == []
    assert (made.path / "usr/local/lib/fakegpu/nvidia-smi").is_file()
    assert "slurmctld" in (made.path.parent / "manifest.txt").read_text(encoding="utf-8")
    assert not list((made.path / "etc/apt/sources.list.d").glob("*"))
    assert not (made.path / "etc/apt/sources.list").exists()
    assert (made.path / "etc/machine-id").read_text(encoding="utf-8") == ""
    assert lines[-1].endswith("is ready")


def test_an_image_that_is_there_is_taken_at_once() -> None:
    first = image.ensure_image(silent)
    lines: list[str] = []
    assert image.ensure_image(lines.append) == first
    assert lines == []
    assert first.digest == image.recipe_digest()
