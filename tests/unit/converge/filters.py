"""The filters of the playbooks, loaded as Ansible does: from files, not from packages."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

from muster.converge.digest import PLAYBOOKS


def filters(name: str) -> ModuleType:
    """Return a module of playbooks/filter_plugins."""
    path = PLAYBOOKS / "filter_plugins" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"filters_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def said(stdout: str = "", rc: int = 0, stderr: str = "") -> dict[str, Any]:
    """Return what Ansible registers for a command that ran."""
    return {"rc": rc, "stdout": stdout, "stderr": stderr}


MISSING: dict[str, Any] = {"rc": 2, "stdout": "", "stderr": "", "msg": "Error executing command."}
"""What Ansible registers for a command that is not there."""
