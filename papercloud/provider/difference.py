"""Where inputs differ, and what the real thing looks like through the inputs a program gave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from papercloud.provider.schema import UNKNOWN_VALUE


def project(wanted: Any, actual: Any) -> Any:
    """Return what is really there, cut to what `wanted` speaks of and in its order."""
    if actual is None or wanted == actual or _same_text(wanted, actual):
        return wanted if actual is not None else None
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        seen = {key: project(value, actual[key]) for key, value in wanted.items() if key in actual}
        return {**{key: value for key, value in wanted.items() if key not in actual}, **seen}
    if isinstance(wanted, list) and isinstance(actual, list):
        return _project_list(wanted, actual)
    return actual


def project_map(wanted: Mapping[str, Any], actual: Mapping[str, Any]) -> dict[str, Any]:
    """Return a free-form map, such as tags, as it is: keys more and less are seen."""
    return dict(wanted) if wanted == actual else dict(actual)


def paths(old: Any, new: Any, at: str = "") -> dict[str, str]:
    """Name each place that differs: its path and `add`, `delete` or `update`."""
    if old == new or _same_text(old, new):
        return {}
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: dict[str, str] = {}
        for key in [*old, *(key for key in new if key not in old)]:
            found |= paths(old.get(key), new.get(key), f"{at}.{key}" if at else key)
        return found
    if isinstance(old, list) and isinstance(new, list):
        longest = max(len(old), len(new))
        found = {}
        for i in range(longest):
            found |= paths(_item(old, i), _item(new, i), f"{at}[{i}]")
        return found
    if old is None:
        return {at: "add"}
    return {at: "delete" if new is None else "update"}


def without_ignored(found: Mapping[str, str], ignored: Iterable[str]) -> dict[str, str]:
    """Leave out what `ignoreChanges` names, and what lies below it."""
    patterns = [re.escape(path).replace(r"\[\*\]", r"\[\d+\]") for path in ignored]
    match = re.compile("|".join(rf"(?:{pattern})(?:$|[.\[])" for pattern in patterns) or r"(?!)")
    return {path: kind for path, kind in found.items() if not match.match(path)}


def top(path: str) -> str:
    """Return the property that a path begins with."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _project_list(wanted: list[Any], actual: list[Any]) -> list[Any]:
    """Pair equals first, whatever their order, then the rest in order; extra items follow."""
    left = list(actual)
    seen: list[Any] = []
    for item in wanted:
        twin = next((other for other in left if project(item, other) == item), None)
        if twin is not None:
            left.remove(twin)
        seen.append(item if twin is not None else None)
    for i, item in enumerate(wanted):
        if seen[i] is None and left:
            seen[i] = project(item, left.pop(0))
    return [item for item in seen if item is not None] + left


def _same_text(old: Any, new: Any) -> bool:
    """JSON documents, as policies are, are the same whatever their spaces and order of keys."""
    if not isinstance(old, str) or not isinstance(new, str) or UNKNOWN_VALUE in (old, new):
        return False
    if not (old.startswith(("{", "[")) and new.startswith(("{", "["))):
        return False
    try:
        return bool(json.loads(old) == json.loads(new))
    except ValueError:
        return False


def _item(items: list[Any], index: int) -> Any:
    return items[index] if index < len(items) else None
