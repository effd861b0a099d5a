"""What would a change re-run? A digest of each role, playbook and template folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from muster.converge.slurm_config import TEMPLATES, RenderedFile

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"

_CHARACTERS = 16
_NOT_CONTENT = frozenset({"__pycache__", ".ansible"})


def content_digests(playbooks: Path = PLAYBOOKS, templates: Path = TEMPLATES) -> dict[str, str]:
    """Return digests by part: "role:slurmd", "playbook:site.yml", "templates:slurm"."""
    found: dict[str, str] = {}
    for path in sorted(playbooks.iterdir()):
        if path.name == "roles":
            found |= {f"role:{role.name}": _digest(role) for role in sorted(path.iterdir())}
        elif path.name not in _NOT_CONTENT:
            found[f"playbook:{path.name}"] = _digest(path)
    for path in sorted(templates.iterdir()):
        found[f"templates:{path.name}"] = _digest(path)
    return found


def rendered_digests(files: Iterable[RenderedFile]) -> dict[str, str]:
    """Return a digest of all that a role writes on one kind of machine: "files:head:slurmctld"."""
    parts: dict[str, list[str]] = {}
    for file in files:
        line = repr((file.path, file.owner, file.group, file.mode, file.text))
        parts.setdefault(f"files:{file.machine}:{file.role}", []).append(line)
    return {name: _short("\n".join(sorted(lines)).encode()) for name, lines in parts.items()}


def _digest(path: Path) -> str:
    """Digest of a file, or of the names and contents of all files below a directory."""
    if path.is_file():
        return _short(path.read_bytes())
    parts = [
        f"{file.relative_to(path).as_posix()} {_short(file.read_bytes())}"
        for file in sorted(path.rglob("*"))
        if file.is_file() and not _NOT_CONTENT.intersection(file.relative_to(path).parts)
    ]
    return _short("\n".join(parts).encode())


def _short(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_CHARACTERS]
