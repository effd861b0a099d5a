"""What runs before and after a job, run here with a false nvidia-smi and real processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster import shell
from muster.converge.options import lab_options
from muster.converge.slurm_config import render, texts
from muster.shell import Completed
from tests.unit.converge.sample import TYPES, lab_fleet

JOB = "12"


@dataclass
class Node:
    """A directory that stands for a node; its hooks and the programs that they call."""

    root: Path

    def program(self, name: str, body: str) -> None:
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, hook: str, **env: str) -> Completed:
        given = {
            "MUSTER_GPU_JOBS": str(self.root / "jobs"),
            "MUSTER_PROC": str(self.root / "proc"),
            "SLURM_JOB_ID": JOB,
            "PATH": "/usr/bin:/bin",
        }
        return shell.run([str(self.root / "bin" / hook)], timeout_s=30, env=given | env)

    def jobs(self, gpu: int) -> str:
        path = self.root / "jobs" / str(gpu)
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def process(self, pid: int, *, cgroup: str = "0::/user.slice", environ: str = "") -> None:
        """A process on a GPU, as /proc shows it; a false kill takes it away."""
        folder = self.root / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "cgroup").write_text(f"{cgroup}\n", encoding="utf-8")
        (folder / "environ").write_text(environ.replace(" ", "\0"), encoding="utf-8")

    @property
    def processes(self) -> set[str]:
        return {path.name for path in (self.root / "proc").iterdir()}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    for folder in ("bin", "jobs", "proc"):
        (tmp_path / folder).mkdir()
    found = Node(tmp_path)
    rendered = texts(render(lab_fleet(), TYPES, lab_options()))
    for name in ("prolog.sh", "epilog.sh"):
        body = rendered[f"head/etc/slurm/{name}"]
        body = body.replace("export PATH=", f"export PATH={tmp_path / 'bin'}:")
        body = body.replace("/run/muster/prolog.log", str(tmp_path / "prolog.log"))
        body = body.replace("mkdir -p /run/muster\n", "")
        body = body.replace("kill -9", "false-kill")
        found.program(name, body)
    found.program("muster-node-check", "exit 0")
    found.program("nvidia-smi", f"ls {tmp_path}/proc")
    found.program("logger", f'echo "$*" >>{tmp_path}/log')
    found.program("false-kill", f'for pid; do rm -r "{tmp_path}/proc/$pid"; done')
    assert os.access(tmp_path / "bin" / "epilog.sh", os.X_OK)
    return found


def test_gpus_of_a_job_carry_its_number_while_it_runs(node: Node) -> None:
    assert node.run("prolog.sh", SLURM_JOB_GPUS="0,3").rc == 0
    assert [node.jobs(gpu) for gpu in (0, 1, 3)] == ["12\n", "", "12\n"]
    assert node.run("epilog.sh").rc == 0
    assert node.jobs(0) == ""


def test_a_job_never_takes_the_line_of_one_whose_number_begins_alike(node: Node) -> None:
    (node.root / "jobs" / "0").write_text("123\n12\n112\n", encoding="utf-8")
    node.run("epilog.sh")
    assert node.jobs(0) == "123\n112\n"


def test_a_process_of_the_job_that_holds_a_gpu_is_ended(node: Node) -> None:
    node.process(100, cgroup="0::/system.slice/slurmstepd.scope/job_12/step_0")
    node.process(101, environ="HOME=/root SLURM_JOB_ID=12 PATH=/bin")
    assert node.run("epilog.sh").rc == 0
    assert node.processes == set()


def test_processes_of_others_are_left_alone(node: Node) -> None:
    node.process(100, cgroup="0::/system.slice/slurmstepd.scope/job_123/step_0")
    node.process(101, environ="SLURM_JOB_ID=112")
    node.process(102, cgroup="0::/system.slice/nvidia-dcgm.service")
    assert node.run("epilog.sh").rc == 0
    assert node.processes == {"100", "101", "102"}


def test_a_process_that_will_not_go_drains_the_node(node: Node) -> None:
    node.process(100, environ="SLURM_JOB_ID=12")
    node.program("false-kill", "exit 0")
    node.program("sleep", "exit 0")
    assert node.run("epilog.sh").rc == 1
    log = (node.root / "log").read_text(encoding="utf-8")
    assert "gpu-left: processes of job 12 hold a GPU; expected none: 100" in log


def test_a_node_that_fails_its_check_is_drained_after_the_job(node: Node) -> None:
    node.program("muster-node-check", "echo gpu-count: 7; exit 1")
    assert node.run("epilog.sh").rc == 1
    assert node.run("prolog.sh").rc == 1
