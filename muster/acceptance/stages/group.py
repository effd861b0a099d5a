"""Group stage: do all nodes that are still good compute the right sum together?"""

from __future__ import annotations

from muster.acceptance.checks import group_allreduce
from muster.acceptance.checks.group_allreduce import parse_allreduce
from muster.acceptance.facts import Problem
from muster.acceptance.scene import Scene
from muster.acceptance.transport import group_environment, network_of
from muster.acceptance.workbench import PARTITION, RESERVATION
from muster.findings import Finding, Outcome
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
    finding = _measure(scene, names, settings, 0)
    for attempt in range(1, policy.attempts):
        if finding.outcome is not Outcome.UNKNOWN:
            break
        finding = _measure(scene, names, settings, attempt)
    scene.record(finding, None, stage=_STAGE)


def _measure(scene: Scene, names: list[str], settings: dict[str, str], attempt: int) -> Finding:
    """Run the all-reduce once; a launch that broke is unknown, with what it said."""
    policy = scene.policy.group
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
    kept = scene.run.save_evidence("", f"allreduce-{attempt}.txt", said)
    result = parse_allreduce(step.stdout)
    if isinstance(result, Problem):
        what = f"not done within {policy.seconds:g} s" if step.timed_out else _cause(step.stderr)
        result = Problem(f"{result.text} {what}".strip())
    return group_allreduce.judge(result, nodes=names).model_copy(
        update={
            "evidence": (kept,),
            "cmd": step.command,
            "rc": step.rc,
            "duration_s": step.duration_s,
            "params": {"bytes": policy.bytes, "iterations": policy.iterations, "nodes": names},
        }
    )


def _cause(stderr: str) -> str:
    """Return the first line that is no notice of the launcher's own."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("srun: job ")]
    return told[0][:160] if told else ""
