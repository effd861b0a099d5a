"""What a run of Ansible did, read from its events; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_TEXT_CHARACTERS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class HostCounts:
    """How many tasks of one host ended in each way."""

    ok: int = 0
    changed: int = 0
    failed: int = 0
    unreachable: int = 0
    skipped: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFailure:
    """One task that failed on one host; `task` is empty where the whole run failed."""

    host: str
    task: str
    message: str

    def __str__(self) -> str:
        """`gpu-3: slurmd : Run slurmd: Job for slurmd.service failed`."""
        return ": ".join(part for part in (self.host, self.task, self.message) if part)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaybookResult:
    """Outcome of a run. `changed_tasks` are "host: role : task", in order of their end."""

    hosts: Mapping[str, HostCounts]
    failures: tuple[TaskFailure, ...]
    changed_tasks: tuple[str, ...]
    log: str = ""

    @property
    def ok(self) -> bool:
        """Did every wanted host do all its tasks?"""
        return not self.failures

    @property
    def changed(self) -> int:
        """Number of changed tasks over all hosts."""
        return sum(counts.changed for counts in self.hosts.values())


@dataclass(slots=True)
class EventReader:
    """Collects events of ansible-runner; ask `result` at the end."""

    _failures: list[TaskFailure] = field(default_factory=list)
    _changed: list[str] = field(default_factory=list)
    _stats: Mapping[str, Any] | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        data = event.get("event_data") or {}
        match event.get("event"):
            case "runner_on_failed" if not data.get("ignore_errors"):
                self._failures.append(_failure(data))
            case "runner_on_unreachable":
                self._failures.append(_failure(data))
            case "runner_on_ok" if (data.get("res") or {}).get("changed"):
                self._changed.append(f"{data.get('host')}: {_task(data)}")
            case "playbook_on_stats":
                self._stats = data
            case _:
                pass

    def result(
        self, *, wanted: Iterable[str], status: str, output: str, log: str
    ) -> PlaybookResult:
        """Judge the run: a host that is missing from the statistics failed, whatever else."""
        stats = self._stats or {}
        hosts = {name: _counts(stats, name) for name in _names(stats)}
        failures = [f for f in self._failures if _really_failed(f, hosts)]
        accused = {failure.host for failure in failures}
        for name in wanted:
            if name in accused:
                continue
            problem = _silent_problem(name, hosts)
            if problem:
                failures.append(TaskFailure(host=name, task="", message=problem))
        if (status != "successful" and not failures) or self._stats is None:
            message = f"ansible ended as {status!r}: {_tail(output) or 'no output'}"
            failures = [TaskFailure(host="", task="", message=message)]
        return PlaybookResult(
            hosts=hosts, failures=tuple(failures), changed_tasks=tuple(self._changed), log=log
        )


def _names(stats: Mapping[str, Any]) -> list[str]:
    columns = ("ok", "changed", "failures", "dark", "skipped", "processed", "rescued")
    return sorted({name for column in columns for name in stats.get(column) or {}})


def _counts(stats: Mapping[str, Any], name: str) -> HostCounts:
    def column(key: str) -> int:
        return int((stats.get(key) or {}).get(name, 0))

    return HostCounts(
        ok=column("ok"),
        changed=column("changed"),
        failed=column("failures"),
        unreachable=column("dark"),
        skipped=column("skipped"),
    )


def _really_failed(failure: TaskFailure, hosts: Mapping[str, HostCounts]) -> bool:
    """A failure that a rescue dealt with is not one; without statistics every failure counts."""
    counts = hosts.get(failure.host)
    return counts is None or bool(counts.failed or counts.unreachable)


def _silent_problem(name: str, hosts: Mapping[str, HostCounts]) -> str:
    counts = hosts.get(name)
    if counts is None:
        return "Ansible did not report on it; expected an outcome for every host"
    if counts.failed or counts.unreachable:
        return "failed, but Ansible gave no message"
    return ""


def _failure(data: Mapping[str, Any]) -> TaskFailure:
    return TaskFailure(
        host=str(data.get("host", "")),
        task=_task(data),
        message=_message(data.get("res") or {}),
    )


def _task(data: Mapping[str, Any]) -> str:
    return " : ".join(str(data[key]) for key in ("role", "task") if data.get(key))


def _message(res: Mapping[str, Any]) -> str:
    """One line: the module's message and what the program said."""
    if "censored" in res:
        return "failed; the output is hidden because it may hold a secret"
    parts = [str(res.get("msg") or "failed")]
    for stream in ("stderr", "module_stderr", "stdout"):
        said = str(res.get(stream) or "").strip()
        if said and said not in parts[0]:
            parts.append(said)
            break
    return _tail(": ".join(parts))


def _tail(text: str) -> str:
    return " ".join(text.split())[-_TEXT_CHARACTERS:]
