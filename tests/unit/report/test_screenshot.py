"""tools/screenshot says what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

from muster.shell import Completed, run

TOOL = Path(__file__).resolve().parents[3] / "tools" / "screenshot"


def screenshot(*arguments: str, path: str = "/usr/bin:/bin") -> Completed:
    return run([str(TOOL), *arguments], timeout_s=20, env={"PATH": path})


def test_wrong_usage_shows_the_usage() -> None:
    done = screenshot()
    assert done.rc == 2
    assert "usage: tools/screenshot" in done.stderr


def test_missing_page_is_named(tmp_path: Path) -> None:
    done = screenshot(str(tmp_path / "no.html"), str(tmp_path / "out.png"))
    assert done.rc == 2
    assert "no.html" in done.stderr


def test_missing_browser_is_named_with_its_package(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("sh", "realpath"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program) or "")
    page = tmp_path / "page.html"
    page.write_text("<p>x</p>", encoding="utf-8")
    done = screenshot(str(page), str(tmp_path / "out.png"), path=str(tmp_path / "bin"))
    assert done.rc == 3
    assert "apt-get install chromium" in done.stderr
