"""What a local run of Ansible leaves for the program that started it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from muster import shell
from muster.converge.digest import PLAYBOOKS

FAILS = """\
- hosts: all
  gather_facts: false
  tasks:
    - {name: Say something, ansible.builtin.command: {cmd: "true"}, changed_when: true}
    - block:
        - {name: Dealt with, ansible.builtin.fail: {msg: "not this"}}
      rescue:
        - {name: Go on, ansible.builtin.meta: noop}
    - {name: "%s", ansible.builtin.fail: {msg: "expected 8, found 7"}, when: %s}
    - {name: Hidden, ansible.builtin.command: {cmd: "cat /no/secret/here"}, no_log: true, when: %s}
"""


def result(folder: Path, *, fails: bool = False, hides: bool = False) -> dict[str, Any]:
    playbook = folder / "play.yml"
    playbook.write_text(
        FAILS % ("Count disks", str(fails).lower(), str(hides).lower()), encoding="utf-8"
    )
    program = str(Path(sys.executable).parent / "ansible-playbook")
    environment = {
        **os.environ,
        "ANSIBLE_CALLBACKS_ENABLED": "boot_result",
        "ANSIBLE_CALLBACK_PLUGINS": str(PLAYBOOKS / "callback_plugins"),
        "ANSIBLE_HOME": str(folder / "home"),
        "MUSTER_BOOT_RESULT": str(folder / "result.json"),
    }
    argv = [program, "-i", "n1,", "-c", "local", str(playbook)]
    shell.run(argv, timeout_s=120, env=environment)
    found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return found


def test_changes_are_counted_and_a_rescued_failure_is_none(tmp_path: Path) -> None:
    found = result(tmp_path)
    assert found["changed"] == 1
    assert found["ok"] >= 1
    assert found["failures"] == []


def test_a_failure_is_named_by_task_and_message(tmp_path: Path) -> None:
    found = result(tmp_path, fails=True)
    assert found["failures"] == ["Count disks: expected 8, found 7"]


def test_a_hidden_output_stays_hidden(tmp_path: Path) -> None:
    (failure,) = result(tmp_path, hides=True)["failures"]
    assert failure.startswith("Hidden: ")
    assert "/no/secret" not in failure
