"""How many tasks does a playbook have, so that progress can say "12/41"; reads YAML only."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

_IMPORT = "ansible.builtin.import_playbook"


def count_tasks(playbook: Path, empty_groups: Collection[str] = ()) -> int:
    """Count the tasks that Ansible starts in a run where no handler fires.

    Plays on groups without hosts are not begun.
    `import_playbook`, `import_role` and `import_tasks` are followed. Skipped tasks count, as
    Ansible starts them too; checks of arguments and `meta` do not, they ask nothing of a host.
    """
    roles = playbook.parent / "roles"
    begun = [play for play in _load(playbook) if play.get("hosts") not in empty_groups]
    imported = [play[_IMPORT] for play in begun if _IMPORT in play]
    inside = sum(count_tasks(playbook.parent / name, empty_groups) for name in imported)
    return inside + sum(_play(play, roles) for play in begun)


def _play(play: dict[str, Any], roles: Path) -> int:
    total = 0
    for section in ("pre_tasks", "tasks", "post_tasks"):
        total += _tasks(play.get(section) or [], roles, roles)
    for entry in play.get("roles") or []:
        total += _role(entry["role"] if isinstance(entry, dict) else entry, "main", roles)
    return total


def _role(role: str, entry_point: str, roles: Path) -> int:
    folder = roles / role / "tasks"
    return _tasks(_load(folder / f"{entry_point}.yml"), folder, roles)


def _tasks(tasks: list[dict[str, Any]], folder: Path, roles: Path) -> int:
    return sum(_task(task, folder, roles) for task in tasks)


def _task(task: dict[str, Any], folder: Path, roles: Path) -> int:
    if "block" in task:
        return _tasks(task["block"], folder, roles)
    if "ansible.builtin.import_tasks" in task:
        return _tasks(_load(folder / task["ansible.builtin.import_tasks"]), folder, roles)
    if "ansible.builtin.import_role" in task:
        wanted = task["ansible.builtin.import_role"]
        return _role(wanted["name"], wanted.get("tasks_from", "main"), roles)
    if task.get("ansible.builtin.meta"):
        return 0
    return 1


def _load(path: Path) -> list[dict[str, Any]]:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded if isinstance(loaded, list) else []
