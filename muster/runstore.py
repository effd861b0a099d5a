"""The run store: what each run found, in files that survive a kill at any moment."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from muster.clock import Clock
from muster.errors import UsageError
from muster.files import append_line, write_atomic
from muster.findings import Finding
from muster.fleet import Fleet, load_fleet
from muster.readiness import Readiness

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Run:
    """One run's directory: results.jsonl and events.jsonl grow, the rest is written once."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.directory = directory
        self.id = directory.name
        self._clock = clock

    def append(self, finding: Finding) -> Finding:
        """Add one line to results.jsonl and return the finding as stored (with time and run)."""
        stored = finding.model_copy(update={"run_id": self.id, "ts": self._clock.now()})
        line = stored.model_dump_json(by_alias=True, exclude_none=True)
        append_line(self.directory / "results.jsonl", line)
        return stored

    def event(self, kind: str, **data: Any) -> None:
        """Add one line to events.jsonl: what was done (drained, resumed, stage begun)."""
        record = {"ts": self._clock.now().isoformat(), "run_id": self.id, "kind": kind, **data}
        append_line(self.directory / "events.jsonl", json.dumps(record, sort_keys=True))

    def findings(self) -> tuple[Finding, ...]:
        """Read results.jsonl back; a last line cut short by a kill is left out."""
        path = self.directory / "results.jsonl"
        if not path.is_file():
            return ()
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        return tuple(Finding.model_validate_json(line) for line in lines if line)

    def save_evidence(self, node: str, name: str, text: str) -> str:
        """Keep a program's output; returns its path relative to the run's directory."""
        relative = Path("evidence") / _UNSAFE.sub("_", node or "fleet") / _UNSAFE.sub("_", name)
        write_atomic(self.directory / relative, text)
        return str(relative)

    def write_readiness(self, readiness: Readiness) -> Path:
        """Write readiness.json."""
        path = self.directory / "readiness.json"
        write_atomic(path, readiness.model_dump_json(by_alias=True, indent=2) + "\n")
        return path

    def readiness(self) -> Readiness | None:
        """Read readiness.json, or None where the run did not get that far."""
        path = self.directory / "readiness.json"
        if not path.is_file():
            return None
        return Readiness.model_validate_json(path.read_text(encoding="utf-8"))


class RunStore:
    """All runs of one stack, below `<root>/<stack>/`."""

    def __init__(self, root: Path, stack: str, clock: Clock) -> None:
        self.directory = root / stack
        self.stack = stack
        self._clock = clock

    @property
    def fleet_path(self) -> Path:
        """Where fleet.json is."""
        return self.directory / "fleet.json"

    def fleet(self) -> Fleet:
        """Read fleet.json (errors as `load_fleet`)."""
        return load_fleet(self.fleet_path)

    def write_fleet(self, fleet: Fleet) -> None:
        """Write fleet.json."""
        write_atomic(self.fleet_path, fleet.model_dump_json(by_alias=True, indent=2) + "\n")

    def event(self, kind: str, **data: Any) -> None:
        """Note what was done to the stack outside of a run, in its own events.jsonl."""
        record = {"ts": self._clock.now().isoformat(), "kind": kind, **data}
        append_line(self.directory / "events.jsonl", json.dumps(record, sort_keys=True))

    def new_run(self) -> Run:
        """Make the directory of a new run, `<utc>-<id>`; names sort by time."""
        name = f"{self._clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        directory = self.directory / "runs" / name
        directory.mkdir(parents=True)
        return Run(directory, self._clock)

    def runs(self) -> Iterator[Run]:
        """All runs, oldest first."""
        base = self.directory / "runs"
        names = sorted(p.name for p in base.iterdir() if p.is_dir()) if base.is_dir() else []
        for name in names:
            yield Run(base / name, self._clock)

    def latest(self) -> Run:
        """Return the newest run that reached a verdict.

        Raises:
            UsageError: there is none yet.

        """
        finished = [run for run in self.runs() if (run.directory / "readiness.json").is_file()]
        if not finished:
            what = f"stack {self.stack} has no finished run below {self.directory}"
            raise UsageError(what, hint=f"Run `muster accept {self.stack}`.")
        return finished[-1]
