"""The whole thing, as a person runs it: `muster up`, break, accept, mend, kill -9, `muster down`.

One lab for the file; the tests build on each other in order, and each brings the lab back to ready.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muster.clock import SystemClock
from muster.lab import cgroups, node, teardown
from muster.lab.paths import lab_paths
from muster.project import own_environment, project_with_stack
from muster.readiness import Readiness, Verdict

pytestmark = pytest.mark.lab

STACK = "e2e"
NODES = 4
_UP_S = 900
_APPEAR_S = 300
_FREED_S = 60


@dataclass(frozen=True)
class Project:
    """A copy of the program with a stack, a state and a lab of its own."""

    directory: Path
    lab: str

    def muster(self, *words: str, timeout_s: float = _UP_S) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, "-m", "muster.cli.main", *words], timeout_s)

    def pulumi(self, *words: str) -> subprocess.CompletedProcess[str]:
        cli = str(Path(sys.executable).parent / "pulumi")
        return self._run([cli, *words, "--stack", STACK, "--non-interactive"], 300)

    def start_up(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "muster.cli.main", "up", STACK, "--yes"],
                cwd=self.directory,
                env={**os.environ, **own_environment(self.directory)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def log(self) -> Path:
        """What the last `up` in the background printed."""
        return self.directory / "up.log"

    def readiness(self) -> Readiness:
        [*_, newest] = sorted(
            (self.directory / ".muster" / STACK / "runs").glob("*/readiness.json")
        )
        return Readiness.model_validate_json(newest.read_text())

    def previewed(self, *flags: str) -> dict[str, str]:
        """What a preview would do, by resource name; what stays the same is left out."""
        done = self.pulumi("preview", "--json", *flags)
        assert done.returncode == 0, done.stdout + done.stderr
        steps = json.loads(done.stdout)["steps"]
        quiet = {"same", "refresh"}
        return {s["urn"].rsplit("::", 1)[-1]: s["op"] for s in steps if s["op"] not in quiet}

    def head(self, command: str) -> str:
        done = self.muster("ssh", STACK, "head", command, timeout_s=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, argv: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=self.directory,
            env={**os.environ, **own_environment(self.directory)},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory, lab_names: Callable[[], str]
) -> Iterator[Project]:
    directory, lab = tmp_path_factory.mktemp("project"), lab_names()
    cluster: dict[str, Any] = {
        "target": "lab",
        "pools": [{"name": "gpu", "type": "lab.8gpu", "count": NODES}],
        "lab": {"name": lab, "nodesPerLeaf": 1},
    }
    project_with_stack(directory, STACK, cluster)
    made = Project(directory, lab)
    yield made
    made.muster("down", STACK)


def machine() -> dict[str, set[str]]:
    """What a lab could leave behind on this machine, by kind."""

    def lines(*argv: str) -> set[str]:
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        return set(out.splitlines())

    return {
        "mounts": {line.split()[4] for line in lines("cat", "/proc/self/mountinfo")},
        "namespaces": {line.split()[0] for line in lines("ip", "netns", "list")},
        "links": {line.split(":")[1] for line in lines("ip", "-oneline", "link")},
    }


def test_up_killed_at_two_moments_ends_ready_when_run_again(project: Project) -> None:
    first = project.start_up()
    _wait(lambda: _booted(project) >= 2, first, project.log)
    _kill_all(first)

    second = project.start_up()
    _wait(lambda: _converging(project), second, project.log)
    _kill_all(second)

    up = project.muster("up", STACK, "--yes")
    assert up.returncode == 0, up.stdout[-3000:] + up.stderr
    assert "ready: true" in up.stdout
    assert "cleared the stack's lock" in up.stderr
    assert project.readiness().ready
    assert {n.verdict for n in project.readiness().nodes} == {Verdict.ACCEPTED}


def test_users_reach_the_nodes_only_once_they_are_accepted(project: Project) -> None:
    assert "muster-acceptance" not in project.head("scontrol show reservation")
    out = project.head(f"srun -N{NODES} --gpus-per-node=8 hostname | sort")
    assert out.split() == [f"gpu-{i}" for i in range(1, NODES + 1)]
    assert f"gres/gpu={8 * NODES}" in project.head("sacct -X -n -o alloctres%60")


def test_a_preview_right_after_up_shows_no_change(project: Project) -> None:
    assert project.previewed("--refresh") == {}


def test_editing_one_role_previews_exactly_the_stages_to_be_rerun(project: Project) -> None:
    tasks = project.directory / "playbooks/roles/slurm_hooks/tasks/main.yml"
    text = tasks.read_text()
    tasks.write_text(f"{text}# edited\n")
    try:
        assert project.previewed() == {"convergence": "update", "acceptance": "update"}
        shown = project.pulumi("preview", "--diff").stdout
        changed = [line.split() for line in shown.splitlines() if "role:" in line and "=>" in line]
        assert [words[1] for words in changed] == ["role:slurm_hooks"]
    finally:
        tasks.write_text(text)


def test_a_slow_rail_is_named_and_drained_and_proved_again_when_mended(project: Project) -> None:
    broken = project.muster(
        "lab", "break", STACK, "slow-rail", "gpu-3", "--rail", "1", "--percent", "20"
    )
    assert broken.returncode == 0, broken.stderr
    accept = project.muster("accept", STACK)
    assert accept.returncode == 1, accept.stdout
    found = project.readiness()
    bad = {n.node: (n.verdict, n.component) for n in found.nodes if n.verdict != "accepted"}
    assert bad == {"gpu-3": (Verdict.QUARANTINED, "rail:1")}
    assert not found.ready
    assert "drain" in project.head("sinfo -h -n gpu-3 -o %T")

    assert project.muster("lab", "mend", STACK).returncode == 0
    again = project.muster("accept", STACK)
    assert again.returncode == 0, again.stdout
    assert _becomes_idle(project, "gpu-3"), "it is back in service, and nothing of ours is on it"


def test_a_node_put_in_quarantine_by_hand_is_released_by_hand(project: Project) -> None:
    assert project.muster("quarantine", STACK, "gpu-2", "--why", "fan noise").returncode == 0
    assert "drain" in project.head("sinfo -h -n gpu-2 -o %T")
    assert project.muster("status", STACK).returncode in {0, 1}
    assert project.muster("release", STACK, "gpu-2").returncode == 0
    assert "idle" in project.head("sinfo -h -n gpu-2 -o %T")


def test_what_a_person_drained_is_never_released(project: Project) -> None:
    project.head("scontrol update nodename=gpu-2 state=drain reason='do not touch'")
    released = project.muster("release", STACK, "gpu-2")
    assert released.returncode == 1
    assert "do not touch" in released.stderr
    project.head("scontrol update nodename=gpu-2 state=resume")


def test_a_refresh_sees_a_dead_node_and_up_brings_it_back_proved(project: Project) -> None:
    cgroups.remove(f"{lab_paths(project.lab).cgroup}/gpu-4", SystemClock())
    steps = project.previewed("--refresh")
    assert {"gpu-4": "update", "convergence": "update", "acceptance": "update"}.items() <= (
        steps.items()
    )
    assert set(steps) <= {"gpu-4", "convergence", "acceptance"}
    up = project.muster("up", STACK, "--yes")
    assert up.returncode == 0, up.stdout[-3000:]
    assert project.readiness().ready


def test_down_leaves_nothing(project: Project) -> None:
    down = project.muster("down", STACK)
    assert down.returncode == 0, down.stdout[-3000:] + down.stderr
    assert teardown.leftovers(project.lab) == []
    own = {
        kind: {name for name in names if project.lab in name} for kind, names in machine().items()
    }
    assert own == {"mounts": set(), "namespaces": set(), "links": set()}
    assert not lab_paths(project.lab).directory.exists()
    assert _processes_in(project.lab) == []


def _processes_in(lab: str) -> list[str]:
    """Processes of the lab that live; the machine's first process may take its time to reap."""
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cgroup")
        if f"/{lab_paths(lab).cgroup}/" in _text(path)
        and ") Z " not in _text(path.with_name("stat"))
    ]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _booted(project: Project) -> int:
    names = ["head", *(f"gpu-{i}" for i in range(1, NODES + 1))]
    return sum(node.node_state(project.lab, name) == "running" for name in names)


def _converging(project: Project) -> bool:
    base = project.directory / ".muster" / STACK / "converge"
    logs = sorted(base.glob("*/artifacts/run/stdout"))
    return bool(logs) and _text(logs[-1]).count("TASK [") >= 8


def _wait(condition: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _APPEAR_S
    while not condition():
        assert process.poll() is None, f"`up` ended before the moment came: {_text(log)[-3000:]}"
        assert time.monotonic() < deadline, "the moment did not come"
        time.sleep(0.1)


def _becomes_idle(project: Project, node: str) -> bool:
    """Slurm frees a node a moment after the last test step on it has ended."""
    deadline = time.monotonic() + _FREED_S
    while "idle" not in project.head(f"sinfo -h -n {node} -o %T"):
        if time.monotonic() > deadline:
            return False
        time.sleep(1)
    return True


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """End `muster up` and the engine below it with SIGKILL, as a lost terminal session would."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
