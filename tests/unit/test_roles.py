"""Rules about the roles themselves: what a role must have, say and never do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.converge.slurm_config import TEMPLATES

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
ROLES = sorted(path for path in (PLAYBOOKS / "roles").iterdir() if path.is_dir())
FILES = {
    "README.md",
    "defaults/main.yml",
    "handlers/main.yml",
    "meta/argument_specs.yml",
    "meta/main.yml",
    "tasks/configure.yml",
    "tasks/install.yml",
    "tasks/main.yml",
    "tasks/validate.yml",
    "vars/main.yml",
}
# What other roles import, beside the entry points that every role has.
MORE_FILES = {"packages": {"tasks/pinned.yml"}}
OWN_MODULES = {path.stem for path in (PLAYBOOKS / "library").glob("*.py")}
every_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def all_tasks() -> list[tuple[str, dict[str, Any]]]:
    """Every task and handler of all roles and playbooks, blocks opened."""
    found: list[tuple[str, dict[str, Any]]] = []

    def collect(where: str, tasks: list[dict[str, Any]]) -> None:
        for task in tasks:
            found.append((where, task))
            for part in ("block", "rescue", "always"):
                collect(where, task.get(part) or [])

    for role in ROLES:
        for path in sorted([*role.glob("tasks/*.yml"), *role.glob("handlers/*.yml")]):
            collect(f"{role.name}/{path.name}", load(path) or [])
    for name in ("site.yml", "validate.yml"):
        for play in load(PLAYBOOKS / name):
            collect(name, [*(play.get("pre_tasks") or []), *(play.get("tasks") or [])])
    return found


@every_role
def test_every_role_has_the_same_files(role: Path) -> None:
    found = {p.relative_to(role).as_posix() for p in role.rglob("*") if p.is_file()}
    assert found == FILES | MORE_FILES.get(role.name, set())


@every_role
def test_arguments_and_defaults_say_the_same(role: Path) -> None:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    options: dict[str, Any] = {}
    for entry in specs.values():
        options |= entry.get("options") or {}
    stated = {name: o["default"] for name, o in options.items() if "default" in o}
    assert stated == load(role / "defaults" / "main.yml")
    assert all(o.get("required") for name, o in options.items() if name not in stated)


@every_role
def test_every_entry_point_has_arguments_and_a_description(role: Path) -> None:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    assert set(specs) == {path.stem for path in role.glob("tasks/*.yml")}
    assert all(entry["short_description"] for entry in specs.values())


@every_role
def test_every_argument_is_named_after_its_role(role: Path) -> None:
    names = load(role / "defaults" / "main.yml")
    assert all(name.startswith(f"{role.name}_") for name in names)


def test_files_of_the_manifest_belong_to_roles_that_take_them() -> None:
    for entry in load(TEMPLATES / "manifest.yaml"):
        defaults = load(PLAYBOOKS / "roles" / entry["role"] / "defaults" / "main.yml")
        assert f"{entry['role']}_files" in defaults


def test_no_task_goes_on_after_an_error() -> None:
    for where, task in all_tasks():
        assert not {"ignore_errors", "ignore_unreachable"} & set(task), where


def test_every_command_says_when_it_changed_something() -> None:
    for where, task in all_tasks():
        command = task.get("ansible.builtin.command") or task.get("ansible.builtin.shell")
        if command is not None:
            assert "changed_when" in task or "creates" in command, f"{where}: {task['name']}"


def test_nothing_is_downloaded_while_converging() -> None:
    banned = {"apt", "package", "dnf", "pip", "get_url", "git", "apt_repository"}
    for where, task in all_tasks():
        used = {key.removeprefix("ansible.builtin.") for key in task}
        assert not used & banned, where


def test_only_builtin_modules_and_our_own_are_used() -> None:
    keywords = {
        "become", "block", "changed_when", "check_mode", "delay", "failed_when", "listen",
        "name", "no_log", "notify", "register", "rescue", "retries", "timeout", "until",
        "vars", "when",
    }  # fmt: skip
    for where, task in all_tasks():
        modules = set(task) - keywords
        assert all(m in OWN_MODULES or m.startswith("ansible.builtin.") for m in modules), (
            where,
            modules,
        )


def test_no_task_on_nodes_is_skipped_by_a_condition() -> None:
    """A skipped task costs the controller as much as a short one: use groups and plays."""
    site = load(PLAYBOOKS / "site.yml")
    on_nodes = {
        entry["role"]
        for play in site
        if play["hosts"] != "head"
        for entry in play.get("roles") or []
    }
    for role in on_nodes:
        for task in load(PLAYBOOKS / "roles" / role / "tasks" / "configure.yml"):
            assert "when" not in task, f"{role}: {task['name']}"


@pytest.mark.parametrize(("group", "plays"), [("head", "head"), ("slurm_nodes", "slurm_nodes")])
def test_packages_of_a_group_are_those_of_its_roles(group: str, plays: str) -> None:
    wanted: set[str] = set()
    for play in load(PLAYBOOKS / "site.yml"):
        if play["hosts"] in {"all", plays}:
            for entry in play.get("roles") or []:
                role = entry["role"]
                wanted |= set(
                    load(PLAYBOOKS / "roles" / role / "vars" / "main.yml")[f"__{role}_packages"]
                )
    listed = load(PLAYBOOKS / "group_vars" / f"{group}.yml")["base_packages"]
    assert sorted(wanted) == sorted(listed)
    assert len(set(listed)) == len(listed)


def test_secrets_are_not_logged() -> None:
    for where, task in all_tasks():
        if "munge_key_file" in str(task):
            assert task.get("no_log") is True, where


def test_daemons_are_restarted_in_the_order_in_which_they_need_each_other() -> None:
    order = [
        entry["role"] for play in load(PLAYBOOKS / "site.yml") for entry in play.get("roles") or []
    ]
    daemons = ["munge", "mariadb", "slurmdbd", "slurmctld", "slurm_reservation", "slurmd"]
    assert [role for role in order if role in daemons] == daemons
