"""Bring fake hardware to a node: one program, a link per tool, the state file, a boot unit."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path

from muster.files import write_atomic
from muster.lab.fakehw.node.machine import STATE
from muster.lab.fakehw.node.main import OVERRIDES
from muster.lab.fakehw.platforms import State

PROGRAM = "usr/local/lib/fakehw/fakehw"
UNIT = "etc/systemd/system/fakehw.service"
_MUSTER = Path(__file__).parents[2]
_PACKAGES = ("", "lab", "lab/fakegpu", "lab/fakehw", "lab/fakehw/node")
_MODULES = ("lab/fakegpu/nvidia_smi.py",)
_FIXED_TIME = (2020, 1, 1, 0, 0, 0)
_UNIT_TEXT = f"""[Unit]
Description=Fake hardware: what a boot does
DefaultDependencies=no
Before=sysinit.target
After=local-fs.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/{PROGRAM} boot

[Install]
WantedBy=sysinit.target
"""


@cache
def program() -> bytes:
    """Return the program as one executable file: a zip archive that Python runs."""
    node = _MUSTER / "lab/fakehw/node"
    names = [*_MODULES, *sorted(f"lab/fakehw/node/{p.name}" for p in node.glob("*.py"))]
    texts = {f"muster/{name}": (_MUSTER / name).read_text(encoding="utf-8") for name in names}
    for package in _PACKAGES:
        texts["/".join(filter(None, ("muster", package, "__init__.py")))] = ""
    texts["__main__.py"] = (
        "import sys\nfrom muster.lab.fakehw.node.main import main\nsys.exit(main())\n"
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in sorted(texts.items()):
            archive.writestr(zipfile.ZipInfo(name, _FIXED_TIME), text)
    return b"#!/usr/bin/python3 -SE\n" + held.getvalue()


def install(root: Path, state: State) -> None:
    """Write everything below a node's root; the next boot, or `fakehw boot`, makes it live."""
    path = root / PROGRAM
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(program())
    path.chmod(0o755)
    for name in OVERRIDES:
        _link(root / "usr/local/bin" / name)
    (root / "usr/bin/nvidia-smi").unlink(missing_ok=True)
    write_state(root, state)
    write_atomic(root / UNIT, _UNIT_TEXT)
    wanted = root / "etc/systemd/system/sysinit.target.wants/fakehw.service"
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if not wanted.is_symlink():
        wanted.symlink_to(f"/{UNIT}")


def write_state(root: Path, state: State) -> None:
    """Write the state file; the tools answer by it at once."""
    (root / STATE).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(root / STATE, json.dumps(state, indent=2, sort_keys=True) + "\n")


def _link(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(f"/{PROGRAM}")
