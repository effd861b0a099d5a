"""The number of tasks that progress counts towards."""

from __future__ import annotations

from pathlib import Path

from muster.converge.digest import PLAYBOOKS
from muster.converge.tasks import count_tasks


def test_roles_imports_and_blocks_are_followed_and_meta_is_not_counted(tmp_path: Path) -> None:
    tasks = tmp_path / "roles" / "r" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "main.yml").write_text(
        "- ansible.builtin.import_tasks: more.yml\n"
        "- ansible.builtin.meta: flush_handlers\n"
        "- ansible.builtin.command: {argv: [a]}\n",
        encoding="utf-8",
    )
    (tasks / "more.yml").write_text(
        "- block:\n  - ansible.builtin.ping:\n  - ansible.builtin.ping:\n", encoding="utf-8"
    )
    playbook = tmp_path / "p.yml"
    playbook.write_text(
        "- hosts: all\n  roles: [{role: r}]\n"
        "- hosts: all\n  tasks:\n"
        "  - ansible.builtin.import_role: {name: r, tasks_from: more}\n",
        encoding="utf-8",
    )
    assert count_tasks(playbook) == 5


def test_an_imported_playbook_counts_as_if_it_were_written_there(tmp_path: Path) -> None:
    ping = "- {hosts: all, tasks: [{ansible.builtin.ping: }]}\n"
    (tmp_path / "p.yml").write_text(ping, encoding="utf-8")
    both = tmp_path / "both.yml"
    both.write_text(f"- ansible.builtin.import_playbook: p.yml\n{ping}", encoding="utf-8")
    assert count_tasks(both) == 2


def test_plays_on_groups_without_hosts_do_not_count(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yml"
    playbook.write_text(
        "- {hosts: all, tasks: [{ansible.builtin.ping: }]}\n"
        "- {hosts: none_here, tasks: [{ansible.builtin.ping: }]}\n",
        encoding="utf-8",
    )
    assert count_tasks(playbook) == 2
    assert count_tasks(playbook, ["none_here"]) == 1


def test_site_stays_small_enough_for_many_nodes() -> None:
    assert 15 < count_tasks(PLAYBOOKS / "site.yml") < 40
