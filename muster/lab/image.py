"""The root file system that all lab nodes share, baked once per recipe.

Two steps, each kept: a plain Debian tree ("base", minutes, changes with the package list) and the
lab node made from it (seconds, changes with the configuration). Each is built beside its place and
renamed, so a kill at any moment leaves nothing that looks finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from muster import shell
from muster.errors import CommandError, MusterError
from muster.files import write_atomic
from muster.lab.locks import locked
from muster.lab.model import Image
from muster.lab.paths import lab_root
from muster.progress import Progress

RECIPE = Path(__file__).parent / "recipe"
FAKEGPU = Path(__file__).parent / "fakegpu" / "nvidia_smi.py"
ALLREDUCE = Path(__file__).parents[1] / "acceptance" / "node" / "allreduce.c"
_BUILD_TIMEOUT_S = 1800
_BAKE_TIMEOUT_S = 300
_FORGET_AFTER_S = 3600.0
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# A killed parent takes the build with it: the build's PID namespace ends with its first process.
_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child",
                "--mount-proc", "--")  # fmt: skip


def packages(text: str) -> tuple[str, ...]:
    """Read the package list: one name a line, `#` starts a comment."""
    names = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return tuple(sorted({name for name in names if name}))


def _digest(parts: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(dict(parts), sort_keys=True).encode()).hexdigest()[:16]


def _recipe() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RECIPE / "recipe.json").read_text(encoding="utf-8"))
    return loaded


def base_digest() -> str:
    """Name the Debian tree by all that decides it."""
    recipe = _recipe()
    return _digest(
        {
            "suite": recipe["suite"],
            "components": recipe["components"],
            "excluded_paths": " ".join(recipe["excluded_paths"]),
            "architecture": platform.machine(),
            "packages": " ".join(packages((RECIPE / "packages.txt").read_text(encoding="utf-8"))),
        }
    )


def recipe_digest() -> str:
    """Name the image by all that decides it; the archive's state on the day is not part of it."""
    files = [RECIPE / "bake.sh", FAKEGPU, ALLREDUCE]
    files += sorted(path for path in (RECIPE / "files").rglob("*") if path.is_file())
    home = Path(__file__).parents[1]
    texts = {str(p.relative_to(home)): p.read_text(encoding="utf-8") for p in files if p.is_file()}
    return _digest({"base": base_digest(), **texts})


def image_path(digest: str) -> Path:
    """Return where the root of an image is, or will be."""
    return lab_root() / "img" / digest / "root"


def mirrors(indextargets: str, suite: str, components: str) -> tuple[str, ...]:
    """Return apt source lines for the mirror that this host uses; none if it has no Debian mirror.

    Reads "LABEL REPO_URI" lines of `apt-get indextargets`.
    """
    suites = {"Debian": suite, "Debian-Security": f"{suite}-security"}
    found: dict[str, str] = {}
    for line in indextargets.splitlines():
        label, _, uri = line.partition(" ")
        if label in suites and uri:
            found.setdefault(label, uri.strip())
    if "Debian" not in found:
        return ()
    return tuple(f"deb {found[k]} {suites[k]} {components}" for k in suites if k in found)


def _host_mirrors(suite: str, components: str) -> tuple[str, ...]:
    argv = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    try:
        done = shell.run(argv, timeout_s=30)
    except CommandError:
        return ()
    return mirrors(done.stdout if done.ok else "", suite, components)


class _Steps:
    """Turns a program's output into one progress line a second, with the time so far."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._title = title
        self._line = ""
        self._ticks_s = 0

    def line(self, text: str) -> None:
        self._line = " ".join(text.split())[:80] or self._line

    def tick(self) -> None:
        self._ticks_s += 1
        said = f": {self._line}" if self._line else ""
        self._progress(f"{self._title}, {self._ticks_s} s{said}")


def _build(argv: list[str], timeout_s: float, progress: Progress, title: str) -> None:
    steps = _Steps(progress, title)
    done = shell.stream(
        [*_WITH_PARENT, *argv],
        timeout_s=timeout_s,
        on_line=steps.line,
        on_tick=steps.tick,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
    )
    if not done.ok:
        wrong = [line for line in done.stdout.splitlines() if line.startswith(("E:", "error"))]
        tail = " | ".join((wrong or done.stdout.splitlines())[-4:])
        what = f"{title} failed with status {done.rc}: {tail}"
        raise MusterError(what, hint="Is the Debian mirror reachable? Try `apt-get update`.")


def _ensure_base(images: Path, progress: Progress) -> Path:
    """Build the plain Debian tree unless it is there."""
    recipe, name = _recipe(), f"base-{base_digest()}"
    if (images / name).is_dir():
        return images / name
    temporary = images / f"tmp.{name}"
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in recipe["excluded_paths"]]
    include = ",".join(packages((RECIPE / "packages.txt").read_text(encoding="utf-8")))
    argv = ["mmdebstrap", "--verbose", "--mode=root", "--format=directory", "--variant=apt",
            f"--architectures={_ARCHITECTURES.get(platform.machine(), platform.machine())}",
            f"--include={include}", '--aptopt=APT::Install-Recommends "false"',
            "--dpkgopt=force-unsafe-io", *excluded, recipe["suite"],
            str(temporary)]  # fmt: skip
    argv += _host_mirrors(recipe["suite"], recipe["components"])
    _build(argv, _BUILD_TIMEOUT_S, progress, "image: Debian tree")
    temporary.rename(images / name)
    return images / name


def _bake(base: Path, images: Path, digest: str, progress: Progress) -> None:
    """Make the lab node's tree from the plain one."""
    temporary = images / f"tmp.{digest}"
    root = temporary / "root"
    root.mkdir(parents=True)
    copy = ["cp", "-a", "--reflink=auto", f"{base}/.", str(root)]
    _build(copy, _BAKE_TIMEOUT_S, progress, "image: copy the Debian tree")
    argv = ["sh", str(RECIPE / "bake.sh"), str(root), str(RECIPE / "files"), str(FAKEGPU)]
    argv += [str(ALLREDUCE)] if ALLREDUCE.is_file() else []
    _build(argv, _BAKE_TIMEOUT_S, progress, "image: bake")
    query = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W"]
    write_atomic(temporary / "manifest.txt", shell.must_run(query, timeout_s=60).stdout)
    record = {"digest": digest, "base": base.name, "suite": _recipe()["suite"]}
    write_atomic(temporary / "recipe.json", json.dumps(record, indent=2) + "\n")
    temporary.rename(images / digest)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        shutil.rmtree(path)


def unused(root: Path, *, keep: Collection[str], now_s: float) -> list[Path]:
    """Return finished images that no node was made from and nobody asked for lately."""
    in_use = {
        json.loads(record.read_text(encoding="utf-8"))["image"]
        for record in root.glob("labs/*/nodes/*/node.json")
    }
    kept = {*in_use, *keep}
    found = (path for path in (root / "img").iterdir() if path.is_dir() and path.name not in kept)
    return [path for path in found if now_s - path.stat().st_mtime > _FORGET_AFTER_S]


def _taken(image: Image) -> bool:
    """Is the image there? If so, note that it was asked for."""
    if not image.path.is_dir():
        return False
    os.utime(image.path.parent)
    return True


def ensure_image(progress: Progress) -> Image:
    """Return the image of today's recipe; builds it if it is not there.

    Raises:
        MusterError: the build failed; nothing that looks finished is left.

    """
    images, digest = lab_root() / "img", recipe_digest()
    image = Image(path=image_path(digest), digest=digest)
    if _taken(image):
        return image
    with locked(images / "build.lock", progress, "image build"):
        if _taken(image):
            return image
        # The lock is ours, so whoever began these is dead.
        _remove(images.glob("tmp.*"))
        base = _ensure_base(images, progress)
        _bake(base, images, digest, progress)
        _remove(unused(lab_root(), keep={digest, base.name}, now_s=time.time()))
    progress(f"image: {digest} is ready")
    return image
