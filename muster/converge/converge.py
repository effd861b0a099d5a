"""Bring all machines of a fleet to what the spec says: a real Slurm, by Ansible."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.clock import Clock, SystemClock
from muster.converge.ansible import run_playbook
from muster.converge.inventory import build_inventory
from muster.converge.options import ConvergeOptions, NodeType
from muster.converge.result import HostCounts, PlaybookResult, TaskFailure
from muster.converge.secret import ensure_munge_key
from muster.converge.slurm_config import render, texts
from muster.errors import MusterError
from muster.files import write_atomic
from muster.fleet import Fleet
from muster.progress import Progress
from muster.software.fleet import FleetUses

_SOFTWARE = "software.yml"
_KEPT_RUNS = 5
_NAMED_FAILURES = 10


class ConvergeError(MusterError):
    """Hosts did not converge. `failures` has one entry per host and task."""

    def __init__(self, failures: tuple[TaskFailure, ...], *, log: Path) -> None:
        self.failures = failures
        self.log = log
        named = "; ".join(str(failure) for failure in failures[:_NAMED_FAILURES])
        more = len(failures) - _NAMED_FAILURES
        what = named + (f"; and {more} more" if more > 0 else "")
        super().__init__(what, hint=f"Log: {log}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvergeResult:
    """What a converge did. Counts are tasks over all hosts, `hosts` has them per host."""

    changed: int
    ok: int
    failed: int
    hosts: Mapping[str, HostCounts]
    changed_tasks: tuple[str, ...]
    log: Path


def converge(
    fleet: Fleet,
    types: Mapping[str, NodeType],
    options: ConvergeOptions,
    store_dir: Path,
    progress: Progress,
    *,
    check: bool = False,
    playbook: str = "site.yml",
    limit: str | None = None,
    clock: Clock | None = None,
    software: FleetUses | None = None,
) -> ConvergeResult:
    """Converge the head and all nodes; with `check` only say what would change.

    `software` has the roles that the machines' hardware needs; they run first.

    `limit` names the machines to work on, with commas; the plays of all others are left out.

    `store_dir` is the stack's directory: the key lies in secrets/, the last runs in converge/.

    Raises:
        ConvergeError: a host failed, could not be reached, or was not reported on.
        UsageError: a type or a host key is unknown.

    """
    workdir = _new_workdir(store_dir / "converge", clock or SystemClock())
    files = render(fleet, types, options)
    rendered = workdir / "rendered"
    for path, text in texts(files).items():
        write_atomic(rendered / path, text)
    inventory = build_inventory(
        fleet,
        types,
        files,
        options,
        rendered=rendered,
        munge_key=ensure_munge_key(store_dir / "secrets"),
        known_hosts=Path(fleet.ssh.known_hosts_file).read_text(encoding="utf-8"),
        software=software,
    )

    def run(book: str, place: Path) -> PlaybookResult:
        return run_playbook(
            book,
            inventory,
            {},
            place,
            progress,
            check=check,
            limit=limit,
            timeout_s=options.timeout_s,
            forks=options.forks,
        )

    first = [run(_SOFTWARE, workdir / "software")] if software else []
    return _judged([*first, run(playbook, workdir)])


def _judged(results: Sequence[PlaybookResult]) -> ConvergeResult:
    failures = tuple(failure for result in results for failure in result.failures)
    bad = [result for result in results if not result.ok]
    if bad:
        raise ConvergeError(failures, log=Path(bad[0].log))
    counts = [count for result in results for count in result.hosts.values()]
    return ConvergeResult(
        changed=sum(result.changed for result in results),
        ok=sum(count.ok for count in counts),
        failed=sum(count.failed + count.unreachable for count in counts),
        hosts=results[-1].hosts,
        changed_tasks=tuple(task for result in results for task in result.changed_tasks),
        log=Path(results[-1].log),
    )


def _new_workdir(base: Path, clock: Clock) -> Path:
    """Make the directory of this run, and remove all but the last few before it."""
    base.mkdir(parents=True, exist_ok=True)
    older = sorted(path for path in base.iterdir() if path.is_dir())
    for path in older[: -(_KEPT_RUNS - 1)]:
        shutil.rmtree(path, ignore_errors=True)
    workdir = base / f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    workdir.mkdir()
    return workdir
