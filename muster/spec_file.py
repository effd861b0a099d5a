"""Reading `muster:cluster` out of a Pulumi.<stack>.yaml file."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from muster.errors import UsageError
from muster.spec_errors import ROOT, did_you_mean


class _Loader(yaml.SafeLoader):
    """YAML in which a key given twice is an error, not the loss of the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: set[str] = set()
        for key, _value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    message = f"key {key.value!r} is given twice"
                    raise yaml.constructor.ConstructorError(None, None, message, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load_stack_file(path: Path) -> object:
    """Return the value of `muster:cluster`, not yet checked.

    Raises:
        UsageError: no such file, not YAML (with line and column), or no such key.

    """
    content = _read(path)
    config = content.get("config") if isinstance(content, dict) else None
    if not isinstance(config, dict):
        what = "has no mapping `config`"
        raise UsageError(what, where=str(path), hint=f"Put {ROOT} under it.")
    if ROOT not in config:
        names = [str(name) for name in config]
        raise UsageError(f"config has no {ROOT}", where=str(path), hint=did_you_mean(ROOT, names))
    found: object = config[ROOT]
    return found


def stack_setting(path: Path, key: str) -> str | None:
    """Return a setting of a stack's config beside the spec, as aws:region; None without it.

    Raises:
        UsageError: no such file, or not YAML.

    """
    content = _read(path)
    config = content.get("config") if isinstance(content, dict) else None
    found = config.get(key) if isinstance(config, dict) else None
    return found if isinstance(found, str) else None


def _read(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        hint = _stacks_beside(path)
        raise UsageError("no such file", where=str(path), hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", where=str(path)) from error
    try:
        found: object = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader that refuses doubles
    except yaml.MarkedYAMLError as error:
        raise UsageError(_problem(error), where=f"{path}{_mark(error)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"not YAML: {error}", where=str(path)) from error
    return found


def _stacks_beside(path: Path) -> str:
    names = sorted(found.name for found in path.parent.glob("Pulumi.*.yaml"))
    return f"There: {', '.join(names)}." if names else ""


def _problem(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part) or "not YAML"


def _mark(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f":{mark.line + 1}:{mark.column + 1}" if mark else ""
