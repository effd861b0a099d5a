"""The edge to Ansible: one playbook run by ansible-runner, with progress and a verdict per host."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import ansible_runner

from muster import shell
from muster.converge.digest import PLAYBOOKS
from muster.converge.inventory import Inventory
from muster.converge.result import EventReader, PlaybookResult
from muster.converge.tasks import count_tasks
from muster.errors import MusterError
from muster.progress import Progress

_IDLE_TIMEOUT_S = 300
_KEPT_EVENTS = frozenset({"runner_on_failed", "runner_on_unreachable", "playbook_on_stats"})
_NOT_WORK = frozenset({"meta", "ansible.builtin.meta", "ansible.builtin.validate_argument_spec"})
_TASK_STARTS = frozenset({"playbook_on_task_start", "playbook_on_handler_task_start"})

Event = Mapping[str, Any]


def run_playbook(
    playbook: str,
    inventory: Inventory,
    extravars: Mapping[str, Any],
    workdir: Path,
    progress: Progress,
    *,
    check: bool = False,
    limit: str | None = None,
    timeout_s: float = 1800.0,
    forks: int = 8,
) -> PlaybookResult:
    """Run `playbooks/<playbook>` over the inventory; a failed host is in the result, not raised.

    `workdir` keeps the log and the events of the run. The processes of Ansible end with the caller,
    also when it is killed.
    """
    path = PLAYBOOKS / playbook
    if not path.is_file():
        what = f"no playbook {path}"
        raise MusterError(what)
    workdir.mkdir(parents=True, exist_ok=True)
    events: SimpleQueue[Event | None] = SimpleQueue()
    follower = _Follower(events, progress, total=_task_count(path, inventory), check=check)
    # Sockets of shared connections: their path must be short, and they must not outlive the run.
    with tempfile.TemporaryDirectory(prefix="muster-cp.") as sockets:
        runner = _runner(
            path,
            inventory,
            extravars,
            workdir,
            Path(sockets),
            check=check,
            limit=limit,
            timeout_s=timeout_s,
            forks=forks,
            events=events,
        )
        follower.start()
        try:
            runner.run()
        finally:
            events.put(None)
            follower.join()
            _close_connections(Path(sockets))
    return follower.reader.result(
        wanted=_hosts(inventory) if limit is None else _limited(inventory, limit),
        status=runner.status,
        output=_output(runner),
        log=str(_log(runner)),
    )


class _Follower(threading.Thread):
    """Reads events away from ansible-runner's own loop, where a slow handler breaks the run."""

    def __init__(
        self, events: SimpleQueue[Event | None], progress: Progress, *, total: int, check: bool
    ) -> None:
        super().__init__(name="converge-events", daemon=True)
        self.reader = EventReader()
        self._events = events
        self._progress = progress
        self._total = total
        self._verb = "check" if check else "converge"
        self._tasks_begun = 0

    def run(self) -> None:
        """Follow until None comes."""
        while (event := self._events.get()) is not None:
            self.reader.add(event)
            line = self._line(event)
            if line:
                self._progress(line)

    def _line(self, event: Event) -> str:
        data = event.get("event_data") or {}
        kind = event.get("event")
        task = " : ".join(part for part in (data.get("role"), data.get("task")) if part)
        if kind in _TASK_STARTS and data.get("task_action") not in _NOT_WORK:
            if "/handlers/" not in str(data.get("task_path")):
                self._tasks_begun += 1
            return f"{self._verb} {min(self._tasks_begun, self._total)}/{self._total}: {task}"
        if kind in {"runner_on_failed", "runner_on_unreachable"}:
            return f"{self._verb}: {data.get('host')} failed at {task}"
        return ""


def _runner(
    playbook: Path,
    inventory: Inventory,
    extravars: Mapping[str, Any],
    workdir: Path,
    sockets: Path,
    *,
    check: bool,
    limit: str | None,
    timeout_s: float,
    forks: int,
    events: SimpleQueue[Event | None],
) -> Any:
    """Prepare ansible-runner; its command is wrapped so that it ends when this process does."""

    def enqueue(event: Event) -> bool:
        if event.get("event") in _KEPT_EVENTS | _TASK_STARTS or _is_change(event):
            events.put(event)
        # What is not kept is not written as a file either: one file an event adds up.
        return event.get("event") in _KEPT_EVENTS

    runner = ansible_runner.interface.init_runner(
        private_data_dir=str(workdir),
        project_dir=str(playbook.parent.parent),
        playbook=str(playbook),
        inventory=inventory,
        extravars=dict(extravars),
        envvars=_environment(sockets),
        cmdline="--check --diff" if check else None,
        limit=limit,
        forks=forks,
        ident="run",
        quiet=True,
        # Its default takes over the signal handlers of the whole process.
        cancel_callback=lambda: False,
        settings={
            "idle_timeout": _IDLE_TIMEOUT_S,
            "job_timeout": int(timeout_s),
            "pexpect_timeout": 10,
        },
        event_handler=enqueue,
    )
    program, *arguments = runner.config.command
    program = str(Path(sys.executable).parent / program)
    # The signal comes when the thread that started it ends, which a kill -9 of us brings about.
    runner.config.command = ["setpriv", "--pdeathsig", "TERM", program, *arguments]
    return runner


def _environment(sockets: Path) -> dict[str, str]:
    return {
        "ANSIBLE_CONFIG": str(PLAYBOOKS.parent / "ansible.cfg"),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(sockets),
        "ANSIBLE_NOCOLOR": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def _is_change(event: Event) -> bool:
    data = event.get("event_data") or {}
    return event.get("event") == "runner_on_ok" and bool((data.get("res") or {}).get("changed"))


def _task_count(playbook: Path, inventory: Inventory) -> int:
    groups = inventory["all"].get("children", {})
    return count_tasks(playbook, [name for name, group in groups.items() if not group["hosts"]])


def _hosts(inventory: Inventory) -> list[str]:
    return list(inventory["all"]["hosts"])


def _limited(inventory: Inventory, limit: str) -> list[str]:
    """Hosts that a limit names; it is a list of host names, never a pattern."""
    return [name for name in limit.split(",") if name in inventory["all"]["hosts"]] or [limit]


def _log(runner: Any) -> Path:
    return Path(runner.config.artifact_dir) / "stdout"


def _output(runner: Any) -> str:
    log = _log(runner)
    return log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""


def _close_connections(sockets: Path) -> None:
    for socket in sockets.iterdir():
        shell.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "muster"], timeout_s=5)
