"""Running our programs on nodes: shipped to the shared directory, started by the scheduler.

Results are files, one per node. A step that hangs, or a node that dies, takes nothing from what the
others wrote.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from muster.errors import MusterError, RemoteError
from muster.remote import Remote
from muster.schedulers.model import Scheduler, Step, StepResult

RESERVATION = "muster-acceptance"
PARTITION = "muster"
"""Has every node whatever its pool, for root only (templates/slurm/slurm.conf.j2)."""
JOB_PREFIX = "muster-accept-"
PROGRAMS = ("node_facts.py", "local_bench.py", "pair_test.py", "reach_probe.py")
_HERE = Path(__file__).parent / "node"
_COPY_S = 30.0
_SSH_AT_ONCE = 16
_WRITE = """
import json, os, sys, tempfile
base, files = sys.argv[1], json.load(sys.stdin)
for name, text in files.items():
    path = os.path.join(base, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, part = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.chmod(part, 0o644)
    os.rename(part, path)
"""
_READ = """
import json, os, sys
base, found = sys.argv[1], {}
for name in os.listdir(base):
    if not name.startswith("."):
        with open(os.path.join(base, name), errors="replace") as stream:
            found[name] = stream.read()
json.dump(found, sys.stdout)
"""


class WorkbenchError(MusterError):
    """Programs could not be brought to the shared directory, or results not fetched."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Harvest:
    """What a step brought: each asked node's output, or None where it wrote none."""

    results: Mapping[str, str | None]
    errors: Mapping[str, str]
    """What each node's program wrote to stderr, where it wrote anything."""
    step: StepResult


@cache
def program_texts() -> Mapping[str, str]:
    """Return the programs that run on nodes, by file name."""
    return {name: (_HERE / name).read_text(encoding="utf-8") for name in PROGRAMS}


def programs_digest() -> str:
    """Name the programs' content: nodes never run a mix of two versions."""
    text = json.dumps(program_texts(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Workbench:
    """The shared directory, as seen from the head, and the scheduler's steps that work in it."""

    def __init__(
        self, *, remote: Remote, scheduler: Scheduler, head: str, shared_dir: str, run_id: str
    ) -> None:
        self._remote = remote
        self._scheduler = scheduler
        self._head = head
        self._base = f"{shared_dir}/muster"
        self._run_id = run_id
        self.bin = f"{self._base}/bin/{programs_digest()}"
        self.job_name = f"{JOB_PREFIX}{run_id}"

    def ship(self) -> None:
        """Bring the programs to the shared directory; what is there already stays."""
        prefix = self.bin.removeprefix(f"{self._base}/")
        self._write({f"{prefix}/{name}": text for name, text in program_texts().items()})

    def directory(self, name: str) -> str:
        """Return the directory of one step's files."""
        return f"{self._base}/runs/{self._run_id}/{name}"

    def on_head(self, command: str, *, timeout_s: float, stdin: str = "") -> str:
        """Run a command on the head that must succeed; returns its output."""
        try:
            done = self._remote.run(self._head, command, timeout_s=timeout_s, stdin=stdin)
        except RemoteError as error:
            raise WorkbenchError(error.what, where=self._head) from error
        if not done.ok:
            what = f"`{command[:80]}` ended with {done.rc}: {done.stderr.strip()[-200:]}"
            raise WorkbenchError(what, where=self._head)
        return done.stdout

    def run(
        self,
        name: str,
        nodes: Sequence[str],
        *,
        program: str,
        ask: Mapping[str, Any],
        deadline_s: float,
    ) -> Harvest:
        """Run a program on nodes as one step and collect what each wrote."""
        place = self.directory(name)
        # A directory of its own for the results: a file there is a node's, and whole.
        self._write({f"runs/{self._run_id}/{name}/ask.json": json.dumps(ask)})
        command = (
            f"d={shlex.quote(place)}; n=$SLURMD_NODENAME; mkdir -p $d/out;"
            f" python3 -I {shlex.quote(f'{self.bin}/{program}')} $d/ask.json $n"
            " > $d/.$n.part 2> $d/.$n.err && mv $d/.$n.part $d/out/$n.json;"
            " [ ! -s $d/.$n.err ] || mv $d/.$n.err $d/out/$n.err"
        )
        step = self._scheduler.run_step(
            Step(
                name=self.job_name,
                nodes=tuple(nodes),
                command=command,
                deadline_s=deadline_s,
                reservation=RESERVATION,
                partition=PARTITION,
            )
        )
        found = self._read(f"{place}/out")
        return Harvest(
            results={node: found.get(f"{node}.json") for node in nodes},
            errors={node: found[f"{node}.err"] for node in nodes if f"{node}.err" in found},
            step=step,
        )

    def run_by_ssh(
        self, name: str, nodes: Iterable[str], *, program: str, timeout_s: float
    ) -> dict[str, str | RemoteError]:
        """Run a program on nodes that the scheduler does not reach, side by side."""
        command = (
            f"timeout {timeout_s:g} python3 -I {shlex.quote(f'{self.bin}/{program}')}"
            f" {shlex.quote(f'{self.directory(name)}/ask.json')} "
        )

        def ask(node: str) -> str | RemoteError:
            try:
                done = self._remote.run(node, command + node, timeout_s=timeout_s + 5)
            except RemoteError as error:
                return error
            if done.ok:
                return done.stdout
            return RemoteError(f"{program} ended with {done.rc}: {done.stderr.strip()[-200:]}")

        with ThreadPoolExecutor(max_workers=_SSH_AT_ONCE) as pool:
            names = list(nodes)
            return dict(zip(names, pool.map(ask, names), strict=True))

    def _write(self, files: Mapping[str, str]) -> None:
        command = f"python3 -I -c {shlex.quote(_WRITE)} {shlex.quote(self._base)}"
        self.on_head(command, timeout_s=_COPY_S, stdin=json.dumps(files))

    def _read(self, directory: str) -> dict[str, str]:
        place = shlex.quote(directory)
        command = f"mkdir -p {place} && python3 -I -c {shlex.quote(_READ)} {place}"
        found: dict[str, str] = json.loads(self.on_head(command, timeout_s=_COPY_S))
        return found
