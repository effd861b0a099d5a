"""Modules that run on nodes, imported by path as Ansible finds them."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from muster.converge.digest import PLAYBOOKS


def load(name: str) -> ModuleType:
    """Return the module of that name from playbooks/library."""
    spec = importlib.util.spec_from_file_location(
        f"node_{name}", PLAYBOOKS / "library" / f"{name}.py"
    )
    if spec is None or spec.loader is None:
        raise FileNotFoundError(name)
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look their module up
    spec.loader.exec_module(found)
    return found
