"""Group stage: do all nodes that are still good compute the right sum together?"""

from __future__ import annotations

from muster.acceptance.checks import group_allreduce
from muster.acceptance.checks.group_allreduce import parse_allreduce
from muster.acceptance.facts import Problem
from muster.acceptance.scene import Scene
from muster.acceptance.transport import group_environment, network_of
from muster.acceptance.workbench import PARTITION, RESERVATION
from muster.schedulers.model import Step

_STAGE = "groups"
_PROGRAM = "muster-allreduce"


def run_group(scene: Scene) -> None:
    """Run one all-reduce; its finding is about the fleet."""
    nodes = scene.remaining()
    names = scene.usable(node.name for node in nodes)
    if not names:
        return
    scene.progress(f"accept 4/4: all-reduce over {len(names)} nodes")
    policy = scene.policy.group
    networks = sorted({network_of(scene.request.kind(node)) for node in nodes})
    interfaces = [rail.interface for node in nodes for rail in node.rails]
    settings = group_environment("+".join(networks), interfaces)
    if isinstance(settings, Problem):
        finding = group_allreduce.judge(settings, nodes=names)
        scene.record(finding, None, stage=_STAGE)
        return
    step = scene.scheduler.run_step(
        Step(
            name=scene.workbench.job_name,
            nodes=tuple(names),
            command=f"exec {_PROGRAM} {policy.bytes} {policy.iterations}",
            deadline_s=policy.seconds,
            reservation=RESERVATION,
            partition=PARTITION,
            mpi=policy.mpi,
            environment=settings,
        )
    )
    scene.run.event("step", stage=_STAGE, rc=step.rc, timed_out=step.timed_out, nodes=names)
    said = f"{step.command}\n{step.stdout}{step.stderr}"
    kept = scene.run.save_evidence("", "allreduce.txt", said)
    result = parse_allreduce(step.stdout)
    if isinstance(result, Problem) and not step.timed_out:
        result = Problem(f"{result.text} {' '.join(step.stderr.split())[-160:]}".strip())
    elif isinstance(result, Problem):
        result = Problem(f"not done within {policy.seconds:g} s")
    finding = group_allreduce.judge(result, nodes=names).model_copy(
        update={
            "evidence": (kept,),
            "cmd": step.command,
            "rc": step.rc,
            "duration_s": step.duration_s,
            "params": {"bytes": policy.bytes, "iterations": policy.iterations, "nodes": names},
        }
    )
    scene.record(finding, None, stage=_STAGE)
