# ruff: noqa: INP001  Ansible finds plugins by folder, not by package
"""Write down what a run did on the one machine it ran on, for the program that started it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: boot_result
type: notification
short_description: Counts and failures of a local run, as JSON
description: Writes the file that MUSTER_BOOT_RESULT names, at the end of the run.
"""


class CallbackModule(CallbackBase):
    """Collects failures, and writes them with the counts."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "boot_result"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._failures: list[str] = []

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002 - Ansible's signature
        """Note a failed task."""
        if not ignore_errors:
            task = str(result.task.get_name())
            said = result.result
            hidden = "the output is hidden because it may hold a secret"
            parts = [said.get("msg"), said.get("stderr")] if "censored" not in said else [hidden]
            text = ": ".join(str(part) for part in parts if part)
            self._failures.append(f"{task}: {' '.join(text.split())[-600:]}")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the result; a failure that a rescue dealt with is none."""
        failed = sum(stats.failures.values())
        record = {
            "changed": sum(stats.changed.values()),
            "ok": sum(stats.ok.values()),
            # The one that ended the run; those before it were dealt with.
            "failures": self._failures[-1:] if failed else [],
        }
        path = Path(os.environ["MUSTER_BOOT_RESULT"])
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(json.dumps(record), encoding="utf-8")
        beside.rename(path)
