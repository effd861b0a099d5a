"""Runs plays over the platforms with the project's own Ansible settings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from muster.converge.ansible import run_playbook
from muster.converge.digest import PLAYBOOKS
from muster.converge.inventory import Inventory
from muster.converge.result import PlaybookResult
from muster.lab.fakehw.node.machine import PROCFS, SYSFS
from muster.progress import silent
from muster.software.model import RoleUse
from tests.lab.software.platforms import Platforms

_NUMBERS = itertools.count()


def inventory(platforms: Platforms, uses: Mapping[str, Iterable[RoleUse]]) -> Inventory:
    """Return a group per role with the platforms that need it; its arguments are host variables."""
    paths = platforms.lab.paths
    hosts: dict[str, dict[str, Any]] = {}
    groups: dict[str, dict[str, Any]] = {}
    for platform, roles in uses.items():
        hosts[platform] = {
            "ansible_host": platforms.lab.nodes[platforms.nodes[platform]].address,
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={paths.known_hosts}",
        }
        for use in roles:
            hosts[platform] |= use.variables
            groups.setdefault(f"software_{use.role}", {"hosts": {}})["hosts"][platform] = None
    everywhere = {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(paths.key_file),
        "packages_family": "debian",
        "software_sysfs": f"/{SYSFS}",
        "software_procfs": f"/{PROCFS}",
    }
    return {"all": {"hosts": hosts, "vars": everywhere, "children": groups}}


def software() -> list[dict[str, Any]]:
    """Return the plays of playbooks/software.yml."""
    loaded: list[dict[str, Any]] = yaml.safe_load((PLAYBOOKS / "software.yml").read_text("utf-8"))
    return loaded


def role_plays(roles: Iterable[str], tasks_from: str) -> list[dict[str, Any]]:
    """Return a play per role over the hosts that need it."""
    return [
        {
            "name": f"{tasks_from} {role}",
            "hosts": f"software_{role}",
            "gather_facts": False,
            "tasks": [
                {
                    "name": role,
                    "ansible.builtin.import_role": {"name": role, "tasks_from": tasks_from},
                }
            ],
        }
        for role in roles
    ]


def judging_play() -> list[dict[str, Any]]:
    """Return one play in which each host validates the role that its variable names.

    One, since Ansible ends a run after a play in which every host failed.
    """
    tasks = [
        {
            "name": "Judge",
            "ansible.builtin.include_role": {
                "name": "{{ judged_role }}",
                "tasks_from": "validate",
            },
        }
    ]
    return [{"name": "Judge", "hosts": "all", "gather_facts": False, "tasks": tasks}]


def run(
    plays: list[dict[str, Any]], hosts: Inventory, work: Path, *, check: bool = False
) -> PlaybookResult:
    """Run plays; a failed host is in the result."""
    directory = work / f"run{next(_NUMBERS)}"
    playbook = directory / "playbooks" / "plays.yml"
    playbook.parent.mkdir(parents=True)
    for folder in ("roles", "filter_plugins"):
        (playbook.parent / folder).symlink_to(PLAYBOOKS / folder)
    groups = hosts["all"]["children"]
    wanted = [play for play in plays if play["hosts"] in {"all", *groups}]
    playbook.write_text(yaml.safe_dump(wanted, sort_keys=False), encoding="utf-8")
    return run_playbook(str(playbook), hosts, {}, directory, silent, check=check, timeout_s=600)
